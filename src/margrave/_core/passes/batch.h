// Passes over all examples: blocks on threads, one worker per thread, reduced in order (docs/background/speed.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "losses/family.h"
#include "protocol/checks.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "threads/parallel.h"

namespace margrave {

// Whether to look for Ctrl-C and the time limit after a visit, which is quick but not free: every few examples, and
// after each one whose inference may take long, such as a grid.
inline bool poll_is_due(const Problem& problem, int64_t i, int64_t visits) {
  constexpr int64_t kEvery = 8, kManyParts = 2000;
  return visits % kEvery == 0 || problem.parts(i) >= kManyParts;
}

// Where the parts of each example begin when those of all examples are stored consecutively.
inline std::vector<int64_t> part_offsets(const Problem& problem) {
  std::vector<int64_t> begin{0};
  for (int64_t i = 0; i < problem.size(); ++i) begin.push_back(begin.back() + problem.parts(i));
  return begin;
}

// Blocks of examples, and their total work, in parts.
struct Partition {
  std::vector<int64_t> bounds;
  int64_t work = 0;
};

// Starting a thread costs as much as inference over several thousand parts. Each thread needs at least this much work.
inline constexpr int64_t kWorkOfThread = 20'000;

// The bounds of the blocks depend only on the problem, so sums do not depend on the number of threads. More blocks
// balance better, but each costs one addition of a whole gradient. Shared parts do not count as work.
inline Partition partition(const Problem& problem, int64_t shared = 0) {
  std::vector<int64_t> work(static_cast<size_t>(problem.size()) + 1, 0);
  for (int64_t i = 0; i < problem.size(); ++i) work[i + 1] = work[i] + problem.parts(i) - shared + 1;
  const int64_t wanted = std::clamp<int64_t>(work.back() / (2 * problem.dim() + 1), 8, 64);
  const int64_t blocks = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(problem.size(), 1));
  std::vector<int64_t> bounds{0};
  for (int64_t b = 1; b < blocks; ++b) {
    const auto found = std::lower_bound(work.begin(), work.end(), work.back() / blocks * b) - work.begin();
    bounds.push_back(std::max<int64_t>(found, bounds.back()));
  }
  bounds.push_back(problem.size());
  return {std::move(bounds), work.back()};
}

// Calls visit(first, last, thread, worker) for all blocks, finish(block, thread) when a block is done, and fail() after
// an exception.
template <typename Visit, typename Finish, typename Fail>
void for_blocks_of_examples(const Partition& blocks, int threads, const Poll& poll, const Visit& visit,
                            const Finish& finish, const Fail& fail) {
  threads = static_cast<int>(std::clamp<int64_t>(blocks.work / kWorkOfThread, 1, std::max(threads, 1)));
  std::vector<Worker> workers(static_cast<size_t>(threads));
  const auto work = [&](int64_t block, int thread) {
    const auto b = static_cast<size_t>(block);
    visit(blocks.bounds[b], blocks.bounds[b + 1], thread, workers[thread]);
    finish(block, thread);
    if (thread == 0) poll();
  };
  for_blocks(static_cast<int64_t>(blocks.bounds.size()) - 1, threads, work, fail);
}

// Calls visit(lanes) for the examples of a block, several of similar size at a time, with room for their own scores and
// marginals.
template <typename Visit>
void for_lanes_of(const Problem& problem, const LockStep& together, int64_t first, int64_t last, Worker& worker,
                  const Visit& visit) {
  const auto shared = static_cast<int64_t>(together.shared_scores().size());
  std::vector<int64_t> order(static_cast<size_t>(last - first));
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return problem.parts(a) < problem.parts(b); });
  std::vector<Lane> lanes;
  const auto most = static_cast<size_t>(together.max_lanes());
  for (size_t begin = 0; begin < order.size(); begin += most) {
    const Scratch::Frame frame(worker.scratch);
    lanes.resize(std::min(most, order.size() - begin));
    int64_t all = 0;
    for (size_t b = 0; b < lanes.size(); ++b) all += problem.parts(order[begin + b]) - shared;
    double* theta = worker.scratch.take(all);
    double* mu = worker.scratch.take(all);
    for (size_t b = 0; b < lanes.size(); ++b) {
      const int64_t own = problem.parts(order[begin + b]) - shared;
      lanes[b].example = order[begin + b];
      lanes[b].theta = theta;
      lanes[b].mu = mu;
      together.score(lanes[b].example, theta);
      theta += own;
      mu += own;
    }
    visit(lanes);
  }
}

// Larger scores could overflow when inference sums them up, in an output of a hundred million parts.
inline constexpr double kLargestScore = 1e300;
// Larger log-probabilities carry no information: the last digit of 1e12 is worth 1e-4.
inline constexpr double kLargestLogit = 1e12;

inline void check_scores(int64_t i, const double* theta, int64_t n, double largest = kLargestScore) {
  bool good = true;
  for (int64_t k = 0; k < n; ++k) good &= std::abs(theta[k]) <= largest;  // false for NaN
  if (good) return;
  const std::string what = largest < kLargestScore ? "too large for probabilities" : "infinite or close to it";
  throw InputError("example " + std::to_string(i) + ": a score is " + what + "; scale the features, or lower C.");
}

// Calls visit(lanes, scratch) for all examples. Their scores must not exceed `largest`.
template <typename Visit>
void for_lanes(const Problem& problem, const LockStep& together, int threads, const Poll& poll, double largest,
               const Visit& visit) {
  const auto shared = static_cast<int64_t>(together.shared_scores().size());
  check_scores(0, together.shared_scores().data(), shared, largest);
  const auto visit_block = [&](int64_t first, int64_t last, int, Worker& worker) {
    for_lanes_of(problem, together, first, last, worker, [&](std::vector<Lane>& lanes) {
      for (const Lane& lane : lanes)
        check_scores(lane.example, lane.theta, problem.parts(lane.example) - shared, largest);
      visit(lanes, worker.scratch);
    });
  };
  for_blocks_of_examples(partition(problem, shared), threads, poll, visit_block, [](int64_t, int) {}, [] {});
}

// Calls visit(example, thread, worker) for all examples.
template <typename Visit>
void for_examples(const Problem& problem, int threads, const Poll& poll, const Visit& visit) {
  const auto visit_block = [&](int64_t first, int64_t last, int thread, Worker& worker) {
    for (int64_t i = first; i < last; ++i) {
      worker.make_room(problem.parts(i));
      visit(i, thread, worker);
      if (thread == 0 && poll_is_due(problem, i, i - first + 1)) poll();
    }
  };
  for_blocks_of_examples(partition(problem), threads, poll, visit_block, [](int64_t, int) {}, [] {});
}

// Calls visit(first, last, thread, worker, sum) for all blocks and adds each `sum` to total, in the order of the
// blocks. If total is null, so is sum.
template <typename Visit>
void sum_over_blocks(const Partition& blocks, int64_t dim, int threads, const Poll& poll, const Visit& visit,
                     double* total) {
  std::vector<std::vector<double>> sums(static_cast<size_t>(std::max(threads, 1)));
  Turnstile turnstile;
  const auto visit_block = [&](int64_t first, int64_t last, int thread, Worker& worker) {
    std::vector<double>& sum = sums[thread];
    if (total && sum.empty()) sum.resize(static_cast<size_t>(dim));
    visit(first, last, thread, worker, total ? sum.data() : nullptr);
  };
  const auto add = [&](int64_t block, int thread) {
    if (!total) return;
    turnstile.pass(block, [&] {
      std::vector<double>& sum = sums[thread];
      for (size_t k = 0; k < sum.size(); ++k) total[k] += sum[k];
      std::fill(sum.begin(), sum.end(), 0.0);
    });
  };
  for_blocks_of_examples(blocks, threads, poll, visit_block, add, [&] { turnstile.open(); });
}

// The same with visit(example, worker, sum) for all examples.
template <typename Visit>
void sum_over_examples(const Problem& problem, int threads, const Poll& poll, const Visit& visit, double* total) {
  const auto visit_block = [&](int64_t first, int64_t last, int thread, Worker& worker, double* sum) {
    for (int64_t i = first; i < last; ++i) {
      worker.make_room(problem.parts(i));
      visit(i, worker, sum);
      if (thread == 0 && poll_is_due(problem, i, i - first + 1)) poll();
    }
  };
  sum_over_blocks(partition(problem), problem.dim(), threads, poll, visit_block, total);
}

// Turns the scores of a lane's own parts into those that inference ranks by: beta (theta + gamma delta), without beta
// if it is infinite. Returns gamma c0.
inline double rank_own_parts(const Problem& problem, const LossFamily& family, int64_t own, Scratch& scratch,
                             Lane& lane) {
  double constant = 0;
  if (family.gamma > 0) {
    const Scratch::Frame frame(scratch);
    double* delta = scratch.take(problem.parts(lane.example));
    constant = family.gamma * family.cost(problem, lane.example, delta);
    for (int64_t k = 0; k < own; ++k) lane.theta[k] += family.gamma * delta[k];
  }
  if (family.beta < kInfinity && family.beta != 1)
    for (int64_t k = 0; k < own; ++k) lane.theta[k] *= family.beta;
  return constant;
}

// The losses of a block of examples in lock-step, for costs that are sums over parts, and their gradient unless null.
// The marginals of the shared parts are summed over the block and added to the gradient at its end.
inline void losses_in_lock_step(const Problem& problem, const LockStep& together, const LossFamily& family,
                                int64_t first, int64_t last, Worker& worker, double* losses, double* gradient) {
  const std::vector<double>& shared_scores = together.shared_scores();
  const bool finite = family.beta < kInfinity;
  std::vector<double> shared(gradient ? shared_scores.size() : 0, 0.0);  // sum of C_i (mu_i - y_i)
  const auto visit = [&](std::vector<Lane>& lanes) {
    // Calls visit_own(part) or visit_shared(part) for the parts of an output.
    const auto split = [&](const Lane& lane, const Output& y, const auto& visit_own, const auto& visit_shared) {
      const int64_t own = problem.parts(lane.example) - static_cast<int64_t>(shared_scores.size());
      for (const int32_t part : y)
        if (part < own)
          visit_own(static_cast<size_t>(part));
        else
          visit_shared(static_cast<size_t>(part - own));
    };
    for (Lane& lane : lanes) {
      const int64_t own = problem.parts(lane.example) - static_cast<int64_t>(shared_scores.size());
      double& loss = losses[lane.example] = 0;
      problem.gold(lane.example, 0, worker.gold);
      split(lane, worker.gold, [&](size_t k) { loss -= lane.theta[k]; }, [&](size_t k) { loss -= shared_scores[k]; });
      lane.weight = family.weight(lane.example);
      loss += rank_own_parts(problem, family, own, worker.scratch, lane);
    }
    if (finite)
      together.logsum(lanes, gradient ? shared.data() : nullptr, worker.scratch);
    else
      together.argmax(lanes, worker.scratch);
    for (Lane& lane : lanes) {
      losses[lane.example] += finite ? lane.value / family.beta : lane.value;
      if (!gradient) continue;
      const auto add = [&](const Output& y, double count) {
        split(lane, y, [&](size_t k) { lane.mu[k] += count; }, [&](size_t k) { shared[k] += count * lane.weight; });
      };
      if (!finite) {
        std::fill(lane.mu, lane.mu + problem.parts(lane.example) - static_cast<int64_t>(shared.size()), 0.0);
        add(lane.y, 1);
      }
      problem.gold(lane.example, 0, worker.gold);
      add(worker.gold, -1);
      together.scatter(lane.example, lane.mu, lane.weight, gradient);
    }
  };
  for_lanes_of(problem, together, first, last, worker, visit);
  if (gradient) together.scatter_shared(shared.data(), gradient);
}

// losses[i] = L_i(w), and gradient += sum_i C_i A_i'(mu_i - y_i) unless null.
inline void losses_and_gradient(const Problem& problem, const double* w, const LossFamily& family, int threads,
                                const Poll& poll, double* losses, double* gradient) {
  family.check(problem);
  const bool finite = family.beta < kInfinity;
  if (!family.beyond_parts(problem)) {
    const auto together = problem.lock_step(w, finite ? family.beta : 1.0, 0);
    if (together && (finite || together->argmax_is_faster())) {
      const auto visit = [&](int64_t first, int64_t last, int, Worker& worker, double* sum) {
        losses_in_lock_step(problem, *together, family, first, last, worker, losses, sum);
      };
      const auto shared = static_cast<int64_t>(together->shared_scores().size());
      return sum_over_blocks(partition(problem, shared), problem.dim(), threads, poll, visit, gradient);
    }
  }
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    losses[i] = evaluate(problem, i, family, w, worker.theta.data(), worker.direction.data(), worker).loss;
    if (sum) scatter_gradient(problem, i, worker, family.weight(i), sum);
  };
  sum_over_examples(problem, threads, poll, visit, gradient);
}

// The scores of the parts in a pass: A_i w, or given scores of all examples, stored consecutively.
class Scores {
 public:
  Scores(const Problem& problem, const double* w) : problem_(problem), w_(w) {}
  Scores(const Problem& problem, const double* theta, std::vector<int64_t> begin)
      : problem_(problem), theta_(theta), begin_(std::move(begin)) {}

  // beta times the scores of example i.
  void of(int64_t i, double beta, double* scores) const {
    if (w_)
      problem_.score(i, w_, scores);
    else
      std::copy(given(i), given(i + 1), scores);
    for (int64_t k = 0; k < problem_.parts(i); ++k) scores[k] *= beta;
    if (w_) check_scores(i, scores, problem_.parts(i), kLargestLogit);  // for samples
  }
  // Runs inference on example i; the answer is left in the worker.
  void infer(int64_t i, const Question& question, double* mu, Worker& worker) const {
    const Scratch::Frame frame(worker.scratch);
    if (w_) {
      problem_.infer(i, w_, question, worker.theta.data(), mu, worker.answer, worker.scratch);
      if (!any_scores_) return;  // its parts have no scores
      const bool of_logits = question.kind == Question::Kind::kLogsum;
      check_scores(i, worker.theta.data(), problem_.parts(i),
                   of_logits ? kLargestLogit / question.beta : kLargestScore);
    } else {
      problem_.infer_under(i, given(i), question, mu, worker.answer, worker.scratch);
    }
  }
  // The same for several examples at once. Null for given scores, which may differ between examples.
  std::unique_ptr<const LockStep> lock_step(double beta) const {
    return w_ ? problem_.lock_step(w_, beta, 0) : nullptr;
  }

 private:
  const double* given(int64_t i) const { return theta_ + begin_[i]; }

  const Problem& problem_;
  bool any_scores_ = problem_.traits().any_scores;
  const double* w_ = nullptr;
  const double* theta_ = nullptr;
  std::vector<int64_t> begin_;
};

inline std::vector<Output> argmax_all(const Problem& problem, const Scores& scores, int threads, const Poll& poll) {
  std::vector<Output> outputs(static_cast<size_t>(problem.size()));
  const auto together = scores.lock_step(1.0);
  if (together && together->argmax_is_faster() && problem.size() >= together->max_lanes()) {
    for_lanes(problem, *together, threads, poll, kLargestScore, [&](std::vector<Lane>& lanes, Scratch& scratch) {
      together->argmax(lanes, scratch);
      for (Lane& lane : lanes) outputs[lane.example] = lane.y;
    });
    return outputs;
  }
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    scores.infer(i, {}, nullptr, worker);
    outputs[i] = worker.answer.y;
  });
  return outputs;
}

// Log partition function and marginals of every example under beta times the scores. Marginals are stored
// consecutively.
inline void marginals_all(const Problem& problem, const Scores& scores, double beta, int threads, const Poll& poll,
                          const std::vector<int64_t>& begin, double* log_z, double* mu) {
  Question question;
  question.kind = Question::Kind::kLogsum;
  question.beta = beta;
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    scores.infer(i, question, mu + begin[i], worker);
    if (worker.answer.has_mixture)
      throw InputError("this problem returns expected features, but no marginals of parts.");
    log_z[i] = worker.answer.value;
  });
}

inline std::vector<std::vector<ScoredOutput>> kbest_all(const Problem& problem, const Scores& scores, int64_t k,
                                                        int threads, const Poll& poll) {
  std::vector<std::vector<ScoredOutput>> outputs(static_cast<size_t>(problem.size()));
  const auto together = scores.lock_step(1.0);
  if (together && together->kbest_is_faster()) {
    for_lanes(problem, *together, threads, poll, kLargestScore, [&](std::vector<Lane>& lanes, Scratch& scratch) {
      together->kbest(lanes, k, scratch);
      for (Lane& lane : lanes) outputs[lane.example] = std::move(lane.best);
    });
    return outputs;
  }
  Question question;
  question.kind = Question::Kind::kKbest;
  question.k = k;
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    scores.infer(i, question, nullptr, worker);
    outputs[i] = std::move(worker.answer.ys);
    worker.answer.ys.clear();
  });
  return outputs;
}

// Draws n outputs of every example in proportion to exp(beta score). The draws of an example depend only on the seed
// and its index.
inline std::vector<std::vector<Output>> sample_all(const Problem& problem, const Scores& scores, double beta, int64_t n,
                                                   uint64_t seed, int threads, const Poll& poll) {
  std::vector<std::vector<Output>> outputs(static_cast<size_t>(problem.size()));
  const auto together = scores.lock_step(beta);
  if (together && together->sample_is_faster()) {
    const double largest = kLargestLogit / std::max(beta, 1.0);  // limit of the scores before multiplication by beta
    for_lanes(problem, *together, threads, poll, largest, [&](std::vector<Lane>& lanes, Scratch& scratch) {
      std::vector<Random> randoms;
      for (Lane& lane : lanes) {
        const int64_t own = problem.parts(lane.example) - static_cast<int64_t>(together->shared_scores().size());
        for (int64_t k = 0; k < own; ++k) lane.theta[k] *= beta;
        lane.samples.resize(static_cast<size_t>(n));
        randoms.push_back(Random::of_example(seed, lane.example));
      }
      together->sample(lanes, randoms, scratch);
      for (Lane& lane : lanes) outputs[lane.example] = std::move(lane.samples);
    });
    return outputs;
  }
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    Random random = Random::of_example(seed, i);
    scores.of(i, beta, worker.theta.data());
    std::vector<Output>& drawn = outputs[i];
    drawn.resize(static_cast<size_t>(n));
    const Scratch::Frame frame(worker.scratch);
    problem.sample(i, worker.theta.data(), random, drawn, worker.scratch);
  });
  return outputs;
}

}  // namespace margrave
