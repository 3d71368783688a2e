// Stochastic variance-reduced gradient (Johnson and Zhang 2013) on P(w) = 1/2 |w|^2 + sum_i C_i L_i(w).
//
// A pass starts from a reference r whose gradient G = grad P(r) is known. It has a length T: every example is visited
// once, and the weights move against
//
//   T C_i A_i'(mu_i(w) - mu_i(r))    at the visit of example i, which changes only the weights of the example
//   T (G + w - r)                    over the whole pass, the same for every example.
//
// Their sum is T grad P in expectation, and its noise vanishes as w and r approach the optimum. The second term is
// dense. A weight takes its share of it about as often as examples touch it. So a pass costs what its examples cost,
// and the visits between two shares can correct each share.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "passes/batch.h"
#include "protocol/lock_step.h"
#include "protocol/problem.h"
#include "protocol/random.h"
#include "protocol/scratch.h"

namespace margrave {

inline constexpr int8_t kMostLevel = 40;

// The number of shares into which a pass divides the dense term of each weight, as powers of two: about sum_i (A_i'
// 1)_j^2. Sums with random signs estimate it where features of both signs cancel.
inline std::vector<int8_t> drift_levels(const Problem& problem, const LossFamily& family, const Poll& poll) {
  std::vector<double> plain(static_cast<size_t>(problem.dim()), 0.0);
  std::vector<double> probe(static_cast<size_t>(problem.dim()), 0.0);
  const auto together = family.beyond_parts(problem) ? nullptr : problem.lock_step(plain.data(), 1.0, 0);
  const auto shared = together ? static_cast<int64_t>(together->shared_scores().size()) : 0;
  std::vector<double> ones(static_cast<size_t>(shared), 1.0);
  Random random(0);
  for (int64_t i = 0; i < problem.size(); ++i) {
    const auto own = static_cast<size_t>(problem.parts(i) - shared);
    if (ones.size() < own) ones.resize(own, 1.0);
    const double sign = random.uniform() < 0.5 ? -1.0 : 1.0;
    if (together) {
      together->scatter(i, ones.data(), 1.0, plain.data());
      together->scatter(i, ones.data(), sign, probe.data());
    } else {
      problem.scatter(i, ones.data(), 1.0, plain.data());
      problem.scatter(i, ones.data(), sign, probe.data());
    }
    if (poll_is_due(problem, i, i + 1)) poll();
  }
  if (together) {
    std::fill(ones.begin(), ones.end(), static_cast<double>(problem.size()));
    together->scatter_shared(ones.data(), plain.data());
  }
  std::vector<int8_t> levels(plain.size());
  for (size_t k = 0; k < levels.size(); ++k) {
    const double touched = std::max(std::fabs(plain[k]), probe[k] * probe[k]);
    levels[k] = static_cast<int8_t>(std::clamp(std::ceil(std::log2(touched + 1)), 0.0, double{kMostLevel}));
  }
  return levels;
}

// The weights by level, and the dense term.
class Drift {
 public:
  Drift(const std::vector<int8_t>& levels, const double* reference, const double* slope, double time, int64_t steps)
      : reference_(reference), slope_(slope), time_(time), steps_(steps) {
    for (size_t k = 0; k < levels.size(); ++k) {
      const auto level = static_cast<size_t>(levels[k]);
      if (level >= weights_.size()) weights_.resize(level + 1);
      weights_[level].push_back(static_cast<int64_t>(k));
    }
  }

  // Applies the shares that are due after this many steps.
  void after(int64_t step, double* w) const {
    for (size_t level = 0; level < weights_.size(); ++level) {
      const int64_t shares = std::min(kFewestShares << level, steps_);
      const auto due = [&](int64_t s) { return s * shares / steps_; };
      if (due(step) == due(step - 1)) continue;
      const double part = time_ / static_cast<double>(shares);
      for (const int64_t k : weights_[level]) w[k] -= part * (slope_[k] + w[k] - reference_[k]);
    }
  }

 private:
  static constexpr int64_t kFewestShares = 2;

  const double* reference_;
  const double* slope_;
  double time_;
  int64_t steps_;
  std::vector<std::vector<int64_t>> weights_;
};

// Visits some examples in lock-step: w -= T C_i A_i'(mu_i(w) - mu_i(r)).
class LockStepVisits {
 public:
  LockStepVisits(const Problem& problem, const LossFamily& family, const LockStep& reference, double time)
      : problem_(problem), family_(family), reference_(reference), time_(time) {}

  void operator()(std::vector<int64_t>& batch, double* w) {
    const auto now = problem_.lock_step(w, family_.beta, 0);
    const size_t shared = now->shared_scores().size();
    std::stable_sort(batch.begin(), batch.end(),
                     [&](int64_t a, int64_t b) { return problem_.parts(a) < problem_.parts(b); });
    sum_.assign(shared, 0.0);
    sum_at_reference_.assign(shared, 0.0);
    const auto most = static_cast<size_t>(now->max_lanes());
    for (size_t begin = 0; begin < batch.size(); begin += most) {
      const Scratch::Frame frame(scratch_);
      const size_t count = std::min(most, batch.size() - begin);
      infer(*now, &batch[begin], count, sum_.data(), lanes_);
      infer(reference_, &batch[begin], count, sum_at_reference_.data(), lanes_at_reference_);
      for (size_t b = 0; b < count; ++b) {
        const int64_t own = problem_.parts(lanes_[b].example) - static_cast<int64_t>(shared);
        for (int64_t k = 0; k < own; ++k) lanes_[b].mu[k] -= lanes_at_reference_[b].mu[k];
        now->scatter(lanes_[b].example, lanes_[b].mu, -time_ * lanes_[b].weight, w);
      }
    }
    for (size_t k = 0; k < shared; ++k) sum_[k] = -time_ * (sum_[k] - sum_at_reference_[k]);
    now->scatter_shared(sum_.data(), w);
  }

 private:
  void infer(const LockStep& together, const int64_t* examples, size_t count, double* sum, std::vector<Lane>& lanes) {
    lanes.resize(count);
    for (size_t b = 0; b < count; ++b) {
      const int64_t own = problem_.parts(examples[b]) - static_cast<int64_t>(together.shared_scores().size());
      lanes[b].example = examples[b];
      lanes[b].theta = scratch_.take(own);
      lanes[b].mu = scratch_.take(own);
      lanes[b].weight = family_.weight(examples[b]);
      together.score(examples[b], lanes[b].theta);
      rank_own_parts(problem_, family_, own, scratch_, lanes[b]);
    }
    together.logsum(lanes, sum, scratch_);
  }

  const Problem& problem_;
  const LossFamily& family_;
  const LockStep& reference_;
  double time_;
  Scratch scratch_;
  std::vector<Lane> lanes_, lanes_at_reference_;
  std::vector<double> sum_, sum_at_reference_;  // of the weighted marginals of the shared parts
};

// This many examples share the tables that lock-step inference builds from the weights of shared parts.
inline constexpr int64_t kSharing = 16;

// One pass over `order`, at a finite beta. The slope is grad P at the reference.
inline void svrg_pass(const Problem& problem, const LossFamily& family, const std::vector<int64_t>& order,
                      const std::vector<int8_t>& levels, const double* reference, const double* slope, double time,
                      const Poll& poll, double* w) {
  family.check(problem);
  for (const int64_t i : order) problem.check_example(i);
  const auto together = family.beyond_parts(problem) ? nullptr : problem.lock_step(reference, family.beta, 0);
  const int64_t size = together ? kSharing : 1;
  const auto n = static_cast<int64_t>(order.size());
  const Drift drift(levels, reference, slope, time, (n + size - 1) / size);
  Worker worker, worker_at_reference;
  const auto visit_alone = [&](int64_t i) {
    worker.make_room(problem.parts(i));
    worker_at_reference.make_room(problem.parts(i));
    evaluate(problem, i, family, w, worker.theta.data(), worker.direction.data(), worker);
    evaluate(problem, i, family, reference, worker_at_reference.theta.data(), worker_at_reference.direction.data(),
             worker_at_reference);
    scatter_gradient(problem, i, worker, -time * family.weight(i), w);
    scatter_gradient(problem, i, worker_at_reference, time * family.weight(i), w);
  };
  std::unique_ptr<LockStepVisits> visit_together;
  if (together) visit_together = std::make_unique<LockStepVisits>(problem, family, *together, time);
  std::vector<int64_t> batch;
  for (int64_t first = 0, step = 1; first < n; first += size, ++step) {
    batch.assign(order.begin() + first, order.begin() + std::min(first + size, n));
    if (together)
      (*visit_together)(batch, w);
    else
      visit_alone(batch.front());
    drift.after(step, w);
    if (poll_is_due(problem, batch.back(), step * size)) poll();
  }
}

}  // namespace margrave
