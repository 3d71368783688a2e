// Common parts of the dual learners: blocks of dual variables, one per example, and the weights that they imply.
//
// alpha_i is a distribution over the outputs of example i with expected parts mu_i, expected cost c_i and entropy H_i
// (docs/background/learning.md). All learners maintain w = w(alpha) = sum_i C_i A_i'(y_i - mu_i), and
//
//   D(alpha) = sum_i C_i (gamma c_i + H_i / beta) - 1/2 |w|^2,
//
// where C_i = C * sample_weight_i. A step changes one block, and w by C_i A_i'(mu_i - mu_i').
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "passes/batch.h"
#include "passes/exchange.h"
#include "passes/stored_parts.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/problem.h"
#include "simd/loops.h"

namespace margrave {

// The dual ascent of a pass.
struct Ascent {
  const Problem& problem;
  const LossFamily& family;
  double* w;
  double* sum = nullptr;       // of weighted updates, for learners that average
  Sharing* sharing = nullptr;  // for several threads
  double caution = 1;          // the factor on curvatures (see Sharing); w holds this multiple of own changes

  double weight(int64_t i) const { return family.weight(i); }
  // Moves w by c A_i'd. Returns the change of 1/2 |w|^2 with the curvature of a cautious step.
  template <typename Example>
  double move(const Example& move_example, double c) const {
    return move_example(caution * c) / caution;
  }
};

// Gains of D by steps.
struct Gains {
  double value = 0;  // without the change of 1/2 |w|^2
  double seen = 0;   // in total, as seen by the steps, which ignore other threads

  void add(const Gains& other) {
    value += other.value;
    seen += other.seen;
  }
};

// The state of a thread in a pass.
struct AscentWorker : Worker {
  double longest = 0;  // the longest step of the pass so far (may_try)
  Gains gains;
};

// Prevents threads from visiting the same example at once: an order may contain it more than once.
class Turns {
 public:
  Turns(const std::vector<int64_t>& order, int64_t examples) {
    std::vector<char> named(static_cast<size_t>(examples), 0);
    const bool repeats = std::any_of(order.begin(), order.end(),
                                     [&](int64_t i) { return std::exchange(named[i], static_cast<char>(1)) != 0; });
    if (repeats) taken_ = std::vector<std::atomic<bool>>(static_cast<size_t>(examples));
  }

  class Turn {
   public:
    Turn(Turns& turns, int64_t i) : taken_(turns.taken_.empty() ? nullptr : &turns.taken_[i]) {
      while (taken_ && taken_->exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Turn() {
      if (taken_) taken_->store(false, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>* taken_;
  };

 private:
  std::vector<std::atomic<bool>> taken_;
};

// Calls visit(ascent, i, k, worker) for example i = order[k], for k = 0, 1 and so on. Skips examples without weight.
// Returns the gains of the steps.
//
// Threads have copies of the weights, and each takes the next few visits of the order when it is done. Threads have no
// fixed examples. Otherwise, at different paces, passes would visit the same sets of examples in the same order, and
// mass would hardly move between the sets, as in passes without shuffling. So the slowest schedule is that of one
// thread.
inline constexpr int64_t kTaken = 8;  // visits at a time

template <typename Visit>
Gains for_visits(const Ascent& ascent, const std::vector<int64_t>& order, int threads, const Poll& poll,
                 const Visit& visit) {
  for (const int64_t i : order) ascent.problem.check_example(i);
  const auto visits = static_cast<int64_t>(order.size());
  const auto visit_one = [&](const Ascent& own, int64_t k, AscentWorker& worker) {
    const int64_t i = order[k];
    if (own.weight(i) == 0) return;
    worker.make_room(own.problem.parts(i));
    visit(own, i, k, worker);
  };
  if (threads == 1) {
    AscentWorker worker;
    for (int64_t k = 0; k < visits; ++k) {
      visit_one(ascent, k, worker);
      if (poll_is_due(ascent.problem, order[k], k + 1)) poll();
    }
    return worker.gains;
  }

  const auto dim = static_cast<size_t>(ascent.problem.dim());
  std::vector<std::vector<double>> sums(ascent.sum ? static_cast<size_t>(threads) : 0, std::vector<double>(dim));
  std::vector<Gains> gains(static_cast<size_t>(threads));
  Exchange exchange(ascent.w, *ascent.sharing, ascent.caution, threads);
  Turns turns(order, ascent.problem.size());
  std::atomic<bool> stopped{false};
  std::atomic<int64_t> taken{0};  // number of visits taken
  const auto work = [&](int64_t share, int thread) {
    int64_t k = taken.fetch_add(kTaken);
    if (k >= visits) return;
    AscentWorker worker;
    Exchange::Copy& copy = exchange.copy(share);
    copy.begin(exchange);
    Ascent own = ascent;
    own.w = copy.w();
    if (own.sum) own.sum = sums[share].data();
    int64_t done = 0;
    for (; k < visits && !stopped; k = taken.fetch_add(kTaken)) {
      for (int64_t end = std::min(k + kTaken, visits); k < end && !stopped; ++k) {
        const Turns::Turn turn(turns, order[k]);
        visit_one(own, k, worker);
        copy.visited();
        if (thread == 0 && poll_is_due(ascent.problem, order[k], ++done)) poll();
      }
    }
    gains[share] = worker.gains;
  };
  const auto together = [&] {
    exchange.finish();
    for (const std::vector<double>& sum : sums)
      for (size_t k = 0; k < dim; ++k) ascent.sum[k] += sum[k];
  };
  try {
    for_blocks(threads, threads, work, [&] { stopped = true; });
  } catch (...) {
    together();
    throw;
  }
  together();
  Gains all;
  for (const Gains& one : gains) all.add(one);
  return all;
}

// The same for visits that raise D and report by how much (AscentWorker::gains). Several threads are as cautious as the
// last passes suggest.
template <typename Visit>
void ascend(Ascent ascent, const std::vector<int64_t>& order, int threads, const Poll& poll, const Visit& visit) {
  if (threads == 1) {
    for_visits(ascent, order, threads, poll, visit);
    return;
  }
  const auto half_square = [&] { return 0.5 * ascent.problem.dot(ascent.w, ascent.w); };
  ascent.caution = ascent.sharing->caution();
  const double before = half_square();
  const Gains gains = for_visits(ascent, order, threads, poll, visit);
  const double gained = gains.value - (half_square() - before);
  ascent.sharing->adapt_caution(gains.seen, gained);
}

// For learners that maintain distributions over parts, so the cost must decompose over parts.
inline void check_cost_of_parts(const Problem& problem, const LossFamily& family) {
  family.check(problem);
  if (family.beyond_parts(problem))
    throw InputError("the zero-one cost of a structured output is not a sum over parts, which this learner needs.");
}

// v = theta + gamma delta, and c0. `delta` is filled only if gamma > 0. EG and SMO need costs that are sums over parts.
inline double augment(const Problem& problem, int64_t i, const LossFamily& family, const double* theta, double* delta,
                      double* v) {
  const int64_t n = problem.parts(i);
  std::copy(theta, theta + n, v);
  if (family.gamma == 0) return 0;
  const double c0 = family.cost(problem, i, delta);
  loops().add_scaled(delta, family.gamma, v, n);
  return c0;
}

// Whether a trial step of length `whole` is harmless. It measures the curvature along a direction, which saves a sparse
// vector, but undoing it leaves a rounding error in the weights. A trial of up to kLonger times the longest step of the
// pass is harmless, since the weights have the rounding error of that step. C may be longer by any factor.
inline bool may_try(double whole, double longest) {
  constexpr double kLonger = 1000;
  return whole <= kLonger * longest;
}

// Rounding error of a loss: a smaller gap counts as zero.
inline double rounding_of(double loss, double gap) { return 1e-15 * (std::fabs(loss) + std::fabs(loss - gap) + 1); }

// |A_i'd|^2 without a trial.
inline double square_of(const Problem& problem, int64_t i, const double* d) {
  if (!problem.traits().euclidean) {
    std::vector<double> zeros(static_cast<size_t>(problem.dim()));
    return 2 * problem.move(i, d, 1.0, zeros.data());
  }
  Row row;
  problem.row(i, d, row);
  double sum = 0;
  for (const double value : row.value) sum += value * value;
  return sum;
}

// One step along a line: w += C_i s A_i'd raises D by s * slope - s^2 * bend / 2, with bend = C_i^2 |A_i'd|^2 (times
// the caution of several threads). A trial step of the whole length measures the bend; `theta_d` = <A_i w, d>.
class LineStep {
 public:
  // For directions that end near the best step.
  LineStep(const Ascent& ascent, int64_t i, const double* d, double theta_d, AscentWorker& worker)
      : ascent_(ascent), i_(i), d_(d), C_(ascent.weight(i)), gains_(worker.gains) {
    measure(theta_d);
  }

  // Without a trial if it would be much longer than all steps of the pass; records the length of this one.
  LineStep(const Ascent& ascent, int64_t i, const double* d, double theta_d, double slope, double most,
           AscentWorker& worker)
      : ascent_(ascent), i_(i), d_(d), C_(ascent.weight(i)), gains_(worker.gains) {
    if (may_try(C_, worker.longest))
      measure(theta_d);
    else
      bend_ = ascent.caution * C_ * C_ * square_of(ascent.problem, i, d);
    if (bend_ > 0) worker.longest = std::max(worker.longest, C_ * best(slope, most));
  }

  double bend() const { return bend_; }
  double change() const { return change_; }  // of 1/2 |w|^2 since the beginning
  double best(double slope, double most) const {
    const double s = slope < bend_ * most ? slope / bend_ : most;
    return std::fabs(s - at_) < kNear * at_ ? at_ : s;
  }

  // Moves to the share s of the whole length.
  void move_to(double s) {
    if (s == at_) return;
    change_ += move(C_ * (s - at_));
    at_ = s;
  }

  // Moves to the best s up to `most`. gain(s) is the gain of D without the change of 1/2 |w|^2. If D would fall,
  // because the gain is below rounding error, the step is undone, and the result is 0.
  template <typename Gain>
  double ascend(double slope, double most, const Gain& gain) {
    double s = slope > 0 ? best(slope, most) : 0;
    move_to(s);
    for (int trial = 0; s > 0 && !(gain(s) >= change_); ++trial) {
      s = trial < kHalvings ? s / 2 : 0;
      move_to(s);
    }
    accept(gain(s));
    return s;
  }

  // Records the gain of the step; `value` excludes the change of 1/2 |w|^2.
  void accept(double value) { gains_.add({value, value - change_}); }

 private:
  static constexpr int kHalvings = 3;
  static constexpr double kNear = 1e-6;  // relative to the best step: D does not differ, and a move is saved

  double move(double c) {
    return ascent_.move([&](double scaled) { return ascent_.problem.move(i_, d_, scaled, ascent_.w); }, c);
  }
  void measure(double theta_d) {
    at_ = 1;
    change_ = move(C_);
    bend_ = std::max(0.0, 2 * (change_ - C_ * theta_d));
  }

  const Ascent& ascent_;
  int64_t i_;
  const double* d_;
  double C_;
  Gains& gains_;
  double at_ = 0;  // position of w, as a share of the whole length
  double change_ = 0;
  double bend_ = 0;
};

// Recomputes w(alpha) = sum_i C_i A_i'(y_i - mu_i), without errors of an interrupted step or of rounding.
inline void weights_of(const Problem& problem, const LossFamily& family, const StoredParts& stored, const double* mu,
                       int threads, const Poll& poll, double* w) {
  family.check(problem);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    const double* own = mu + stored.begin(i);
    stored.of(problem, i).each([&](int64_t k, int64_t part) { worker.direction[part] = -own[k]; });
    problem.gold(i, 0, worker.gold);
    for (const int32_t part : worker.gold) worker.direction[part] += 1;
    problem.scatter(i, worker.direction.data(), family.weight(i), sum);
  };
  sum_over_examples(problem, threads, poll, visit, w);
}

}  // namespace margrave
