// Whole-data passes: blocks of examples on threads, one worker per thread, reduced in order (docs/design.md, section
// 3).
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "losses/family.h"
#include "threads/parallel.h"

namespace margrave {

using Poll = std::function<void()>;  // called from time to time on the calling thread; throws to interrupt

inline constexpr int64_t kPollEvery = 512;  // examples between two checks for Ctrl-C

// Where the parts of each example lie when those of all examples are stored one after another.
inline std::vector<int64_t> part_offsets(const Problem& problem) {
  std::vector<int64_t> begin{0};
  for (int64_t i = 0; i < problem.size(); ++i) begin.push_back(begin.back() + problem.parts(i));
  return begin;
}

// Bounds of the blocks: a function of the problem alone, so that the sums do not depend on the threads. More blocks
// balance better, but each costs one addition of a whole gradient.
inline std::vector<int64_t> partition(const Problem& problem) {
  std::vector<int64_t> work(static_cast<size_t>(problem.size()) + 1, 0);
  for (int64_t i = 0; i < problem.size(); ++i)
    work[static_cast<size_t>(i) + 1] = work[static_cast<size_t>(i)] + problem.parts(i) + 1;
  const int64_t wanted = std::clamp<int64_t>(work.back() / (2 * problem.dim() + 1), 8, 64);
  const int64_t blocks = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(problem.size(), 1));
  std::vector<int64_t> bounds{0};
  for (int64_t b = 1; b < blocks; ++b) {
    const auto found = std::lower_bound(work.begin(), work.end(), work.back() / blocks * b) - work.begin();
    bounds.push_back(std::max<int64_t>(found, bounds.back()));
  }
  bounds.push_back(problem.size());
  return bounds;
}

// Calls visit(example, thread, worker) for all examples, finish(block, thread) when a block is done, and fail() after
// an exception.
template <typename Visit, typename Finish, typename Fail>
void for_examples(const Problem& problem, int threads, const Poll& poll, const Visit& visit, const Finish& finish,
                  const Fail& fail) {
  const std::vector<int64_t> bounds = partition(problem);
  const auto blocks = static_cast<int64_t>(bounds.size()) - 1;
  std::vector<Worker> workers(static_cast<size_t>(std::max(threads, 1)));
  const auto work = [&](int64_t block, int thread) {
    Worker& worker = workers[static_cast<size_t>(thread)];
    for (int64_t i = bounds[static_cast<size_t>(block)]; i < bounds[static_cast<size_t>(block) + 1]; ++i) {
      worker.make_room(problem.parts(i));
      visit(i, thread, worker);
    }
    finish(block, thread);
    if (thread == 0) poll();
  };
  for_blocks(blocks, threads, work, fail);
}

// The same where the end of a block is nothing to wait for.
template <typename Visit>
void for_examples(const Problem& problem, int threads, const Poll& poll, const Visit& visit) {
  for_examples(problem, threads, poll, visit, [](int64_t, int) {}, [] {});
}

// Calls visit(example, worker, sum) for all examples and adds what the visits put into `sum` to total, block by block
// in order. total may be null: then so is sum.
template <typename Visit>
void sum_over_examples(const Problem& problem, int threads, const Poll& poll, const Visit& visit, double* total) {
  const auto dim = static_cast<size_t>(problem.dim());
  std::vector<std::vector<double>> sums(static_cast<size_t>(std::max(threads, 1)));
  Turnstile turnstile;
  const auto visit_one = [&](int64_t i, int thread, Worker& worker) {
    std::vector<double>& sum = sums[static_cast<size_t>(thread)];
    if (total && sum.empty()) sum.resize(dim);
    visit(i, worker, total ? sum.data() : nullptr);
  };
  const auto add = [&](int64_t block, int thread) {
    if (!total) return;
    turnstile.pass(block, [&] {
      std::vector<double>& sum = sums[static_cast<size_t>(thread)];
      if (sum.empty()) return;
      for (size_t k = 0; k < dim; ++k) total[k] += sum[k];
      std::fill(sum.begin(), sum.end(), 0.0);
    });
  };
  for_examples(problem, threads, poll, visit_one, add, [&] { turnstile.open(); });
}

// losses[i] = L_i(w), and gradient += sum_i C_i A_i'(mu_i - y_i) unless null.
inline void losses_and_gradient(const Problem& problem, const double* w, const LossFamily& family, int threads,
                                const Poll& poll, double* losses, double* gradient) {
  family.check(problem);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    losses[i] = evaluate(problem, i, family, w, worker.theta.data(), worker.direction.data(), worker).loss;
    if (sum) scatter_gradient(problem, i, worker, family.weight(i), sum);
  };
  sum_over_examples(problem, threads, poll, visit, gradient);
}

// Where a pass takes the scores of the parts from: A_i w, or the scores of all examples one after another.
class Scores {
 public:
  Scores(const Problem& problem, const double* w) : problem_(problem), w_(w) {}
  Scores(const Problem& problem, const double* theta, std::vector<int64_t> begin)
      : problem_(problem), theta_(theta), begin_(std::move(begin)) {}

  // beta times the scores of example i
  void of(int64_t i, double beta, double* scores) const {
    if (w_)
      problem_.score(i, w_, scores);
    else
      std::copy(given(i), given(i + 1), scores);
    for (int64_t k = 0; k < problem_.parts(i); ++k) scores[k] *= beta;
  }
  // What inference says of example i; the answer is left in the worker.
  void infer(int64_t i, const Question& question, double* mu, Worker& worker) const {
    const Scratch::Frame frame(worker.scratch);
    if (w_)
      problem_.infer(i, w_, question, worker.theta.data(), mu, worker.answer, worker.scratch);
    else
      problem_.infer_under(i, given(i), question, mu, worker.answer, worker.scratch);
  }

 private:
  const double* given(int64_t i) const { return theta_ + begin_[static_cast<size_t>(i)]; }

  const Problem& problem_;
  const double* w_ = nullptr;
  const double* theta_ = nullptr;
  std::vector<int64_t> begin_;
};

// The best output of every example.
inline std::vector<Output> argmax_all(const Problem& problem, const Scores& scores, int threads, const Poll& poll) {
  std::vector<Output> outputs(static_cast<size_t>(problem.size()));
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    scores.infer(i, {}, nullptr, worker);
    outputs[static_cast<size_t>(i)] = worker.answer.y;
  });
  return outputs;
}

// Log partition and marginals of every example under beta times the scores; marginals one after another.
inline void marginals_all(const Problem& problem, const Scores& scores, double beta, int threads, const Poll& poll,
                          const std::vector<int64_t>& begin, double* log_z, double* mu) {
  Question question;
  question.kind = Question::Kind::kLogsum;
  question.beta = beta;
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    scores.infer(i, question, mu + begin[static_cast<size_t>(i)], worker);
    if (worker.answer.has_mixture)
      throw InputError("this problem knows the expected features of its outputs, and no marginals of parts.");
    log_z[i] = worker.answer.value;
  });
}

// The k best outputs of every example, best first.
inline std::vector<std::vector<ScoredOutput>> kbest_all(const Problem& problem, const Scores& scores, int64_t k,
                                                        int threads, const Poll& poll) {
  std::vector<std::vector<ScoredOutput>> outputs(static_cast<size_t>(problem.size()));
  Question question;
  question.kind = Question::Kind::kKbest;
  question.k = k;
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    scores.infer(i, question, nullptr, worker);
    outputs[static_cast<size_t>(i)] = std::move(worker.answer.ys);
    worker.answer.ys.clear();
  });
  return outputs;
}

// n outputs of every example, drawn in proportion to exp(beta score). The draws of an example depend on the seed and on
// its number alone.
inline std::vector<std::vector<Output>> sample_all(const Problem& problem, const Scores& scores, double beta, int64_t n,
                                                   uint64_t seed, int threads, const Poll& poll) {
  std::vector<std::vector<Output>> outputs(static_cast<size_t>(problem.size()));
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    Random random = Random::of_example(seed, i);
    scores.of(i, beta, worker.theta.data());
    std::vector<Output>& drawn = outputs[static_cast<size_t>(i)];
    drawn.resize(static_cast<size_t>(n));
    for (Output& y : drawn) {
      const Scratch::Frame frame(worker.scratch);
      problem.sample(i, worker.theta.data(), random, y, worker.scratch);
    }
  });
  return outputs;
}

}  // namespace margrave
