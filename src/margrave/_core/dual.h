// What the dual learners share: blocks of dual variables, one an example, and the weights that they imply.
//
// alpha_i is a distribution over the outputs of example i with expected parts mu_i, expected cost c_i and entropy H_i
// (docs/design.md, section 1). All learners keep w = w(alpha) = sum_i C_i A_i'(y_i - mu_i), and
//
//   D(alpha) = sum_i C_i (gamma c_i + H_i / beta) - 1/2 |w|^2,
//
// where C_i = C * sample_weight_i. A step changes one block, and w by C_i A_i'(mu_i - mu_i').
#pragma once

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "batch.h"

namespace margrave {

inline constexpr int64_t kChunk = 16;  // visits that a thread takes at a time

// Serialises the steps of several threads. Scores are read without it: they may be a step of another thread old, but
// every change of w, and the gain of D that decides whether it stays, is exact.
class StepLock {
 public:
  explicit StepLock(bool shared) : shared_(shared) {}

  void lock() {
    if (!shared_) return;
    for (int spins = 0; taken_.test_and_set(std::memory_order_acquire); ++spins)
      if (spins > 200) std::this_thread::yield();
  }
  void unlock() {
    if (shared_) taken_.clear(std::memory_order_release);
  }

 private:
  bool shared_;
  std::atomic_flag taken_{};
};

// The dual ascent that a pass works on.
struct Ascent {
  const Problem& problem;
  LossFamily family;
  double C;
  const double* sample_weight;  // or null
  double* w;
  StepLock& lock;

  double weight(int64_t i) const { return sample_weight ? C * sample_weight[i] : C; }
};

// Calls visit(i, worker) for the examples of `order`, one after another, or by several threads at once. Examples
// without weight are left alone.
template <typename Visit>
void for_visits(const Problem& problem, const double* sample_weight, const std::vector<int64_t>& order, int threads,
                const Poll& poll, const Visit& visit) {
  for (const int64_t i : order) problem.check_example(i);
  std::vector<Worker> workers(static_cast<size_t>(threads));
  // An order may name an example twice: while one thread is at it, others pass it by.
  std::vector<std::atomic<bool>> busy(threads > 1 ? static_cast<size_t>(problem.size()) : 0);
  const auto visits = static_cast<int64_t>(order.size());
  const auto work = [&](int64_t chunk, int thread) {
    Worker& worker = workers[static_cast<size_t>(thread)];
    for (int64_t k = chunk * kChunk; k < std::min(visits, (chunk + 1) * kChunk); ++k) {
      const int64_t i = order[static_cast<size_t>(k)];
      if (sample_weight && sample_weight[i] == 0) continue;
      if (!busy.empty() && busy[static_cast<size_t>(i)].exchange(true)) continue;
      worker.make_room(problem.parts(i));
      visit(i, worker);
      if (!busy.empty()) busy[static_cast<size_t>(i)] = false;
    }
    if (thread == 0 && chunk % (kPollEvery / kChunk) == 0) poll();
  };
  for_blocks((visits + kChunk - 1) / kChunk, threads, work, [] {});
}

// v = theta + gamma delta, and c0. `delta` is filled only where gamma > 0; EG and SMO need costs that are sums over
// parts.
inline double augment(const Problem& problem, int64_t i, const LossFamily& family, const double* theta, double* delta,
                      double* v) {
  const int64_t n = problem.parts(i);
  std::copy(theta, theta + n, v);
  if (family.gamma == 0) return 0;
  const double c0 = family.cost(problem, i, delta);
  kernels().add_scaled(delta, family.gamma, v, n);
  return c0;
}

// Where the parts of each example lie when those of all examples are stored one after another.
inline std::vector<int64_t> part_offsets(const Problem& problem) {
  std::vector<int64_t> begin{0};
  for (int64_t i = 0; i < problem.size(); ++i) begin.push_back(begin.back() + problem.parts(i));
  return begin;
}

// One step along a line: w += C_i s A_i'd raises D by s * slope - s^2 * bend / 2, with bend = C_i^2 |A_i'd|^2. A trial
// step of the whole length measures the bend, which spares a sparse vector; `theta_d` = <A_i w, d>.
class LineStep {
 public:
  LineStep(const Ascent& ascent, int64_t i, const double* d, double theta_d)
      : ascent_(ascent), i_(i), d_(d), C_(ascent.weight(i)), change_(ascent.problem.move(i, d, C_, ascent.w)) {
    bend_ = std::max(0.0, 2 * (change_ - C_ * theta_d));
  }

  double bend() const { return bend_; }
  double change() const { return change_; }  // of 1/2 |w|^2 since the beginning
  double best(double slope, double most) const {
    const double s = slope < bend_ * most ? slope / bend_ : most;
    return std::fabs(s - at_) < kNear ? at_ : s;
  }

  // Goes to s of the whole length.
  void go(double s) {
    if (s == at_) return;
    change_ += ascent_.problem.move(i_, d_, C_ * (s - at_), ascent_.w);
    at_ = s;
  }

  // Goes to the best s up to `most`; gain(s) is what D gains beside the change of 1/2 |w|^2. Where D would fall
  // (another thread has moved w since theta was scored, or the gain drowns in rounding) the step is taken back: 0.
  template <typename Gain>
  double ascend(double slope, double most, const Gain& gain) {
    double s = slope > 0 ? best(slope, most) : 0;
    go(s);
    for (int trial = 0; s > 0 && !(gain(s) >= change_); ++trial) {
      s = trial < kHalvings ? s / 2 : 0;
      go(s);
    }
    return s;
  }

 private:
  static constexpr int kHalvings = 3;
  static constexpr double kNear = 1e-6;  // of the best step: D cannot tell, and a move is spared

  const Ascent& ascent_;
  int64_t i_;
  const double* d_;
  double C_;
  double change_;
  double bend_;
  double at_ = 1;
};

// The best step along d up to `most`, taken by one thread at a time.
template <typename Gain>
double ascend(const Ascent& ascent, int64_t i, const double* d, double theta_d, double slope, double most,
              const Gain& gain) {
  const std::lock_guard guard(ascent.lock);
  return LineStep(ascent, i, d, theta_d).ascend(slope, most, gain);
}

// w(alpha) = sum_i C_i A_i'(y_i - mu_i): what an interrupted step, or rounding, may have left behind.
inline void weights_of(const Problem& problem, const double* mu, double C, const double* sample_weight, int threads,
                       const Poll& poll, double* w) {
  const std::vector<int64_t> begin = part_offsets(problem);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    const double* own = mu + begin[static_cast<size_t>(i)];
    for (int64_t k = 0; k < problem.parts(i); ++k) worker.direction[static_cast<size_t>(k)] = -own[k];
    problem.gold(i, 0, worker.gold);
    for (const int32_t part : worker.gold) worker.direction[static_cast<size_t>(part)] += 1;
    problem.scatter(i, worker.direction.data(), sample_weight ? C * sample_weight[i] : C, sum);
  };
  sum_over_examples(problem, threads, poll, visit, w);
}

}  // namespace margrave
