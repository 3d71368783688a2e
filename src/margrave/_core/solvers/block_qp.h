// A quadratic program over one block of dual variables, warm-started: the master problem of cutting planes
// (003, Propositions 4 to 9).
//
//   maximize  h'a - 1/2 a'Ga - q/2 (sum a)^2    over a >= 0, sum a <= cap
//
// cap = C_i and q = 0 for linear slack, cap = inf and q = 1/C_i for quadratic slack, neither for a hard margin.
// Hand-written, because general solvers cannot start from the last solution and do not fit into the loop of a pass. An
// active-set method: a Newton step over the variables with mass and the one with the steepest slope, as far as it stays
// feasible. If that makes no progress, mass moves between the best and the worst variable (as in SMO).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

class BlockQP {
 public:
  // `gram` is n x n, row by row. With a finite cap, its unused rest is an additional last variable without slope and
  // curvature, so all variables sum to the cap. `poll` is called now and then, and may throw.
  BlockQP(
      const double* h, const double* gram, int64_t n, double q, double cap, std::function<void()> poll = [] {})
      : h_(h), gram_(gram), n_(n), q_(q), cap_(cap), bounded_(cap < kInfinity), poll_(std::move(poll)) {}

  // Improves a until the slopes allow a gain below `tol` per unit of mass. Returns the remaining one.
  double solve(double tol, std::vector<double>& a) {
    const auto variables = static_cast<size_t>(n_ + bounded_);
    a_.assign(variables, 0.0);
    double sum = 0;
    for (int64_t k = 0; k < n_; ++k) sum += a_[k] = std::max(a[k], 0.0);
    if (bounded_ && sum > cap_) {
      for (double& x : a_) x *= cap_ / sum;
      sum = cap_;
    }
    if (bounded_) a_.back() = std::max(cap_ - sum, 0.0);
    double left = kInfinity;
    int64_t same = 0;
    for (int64_t step = 0; step < kSteps * (n_ + 4); ++step) {
      if (step % kPoll == kPoll - 1) poll_();
      slopes();
      const Ends ends = find_ends();
      const double before = left;
      left = ends.left;
      if (!(left > tol)) break;
      same = left < before ? 0 : same + 1;
      if (same > 2 * n_ + 20 && left <= kRounding * scale()) break;  // limit of precision
      if (!newton(ends)) exchange(ends);
    }
    for (int64_t k = 0; k < n_; ++k) a[k] = a_[k];
    return left;
  }

 private:
  struct Ends {
    size_t best;   // the steepest slope
    size_t worst;  // the least steep one with mass; size() if none has mass
    double left;
  };

  static constexpr int64_t kSteps = 60;  // per variable
  static constexpr int64_t kPoll = 16;   // steps
  static constexpr double kRounding = 1e-11;
  static constexpr double kRidge = 1e-14;   // of the largest curvature: keeps the Newton system regular
  static constexpr double kLargest = 1e22;  // of a variable without a cap: the problem is unbounded

  double entry(size_t a, size_t b) const {
    if (static_cast<int64_t>(a) == n_ || static_cast<int64_t>(b) == n_) return 0;
    return gram_[a * static_cast<size_t>(n_) + b] + q_;
  }
  double scale() const {
    double largest = 1e-300;
    for (int64_t k = 0; k < n_; ++k) largest = std::max(largest, std::fabs(h_[k]));
    for (size_t k = 0; k < slope_.size(); ++k) largest = std::max(largest, std::fabs(entry(k, k)) * a_[k]);
    return largest;
  }

  void slopes() {
    slope_.assign(a_.size(), 0.0);
    for (int64_t k = 0; k < n_; ++k) slope_[k] = h_[k];
    double sum = 0;
    for (int64_t b = 0; b < n_; ++b) {
      const double mass = a_[b];
      if (mass == 0) continue;
      sum += mass;
      const double* row = gram_ + b * n_;
      for (int64_t k = 0; k < n_; ++k) slope_[k] -= row[k] * mass;
    }
    if (q_ != 0)
      for (int64_t k = 0; k < n_; ++k) slope_[k] -= q_ * sum;
  }

  Ends find_ends() const {
    Ends ends{0, a_.size(), 0};
    for (size_t k = 0; k < a_.size(); ++k) {
      if (slope_[k] > slope_[ends.best]) ends.best = k;
      if (a_[k] > 0 && (ends.worst == a_.size() || slope_[k] < slope_[ends.worst])) ends.worst = k;
    }
    const double top = a_.empty() ? 0 : slope_[ends.best];
    const double bottom = ends.worst < a_.size() ? slope_[ends.worst] : 0;
    ends.left = bounded_ ? top - bottom : std::max(top, -bottom);
    return ends;
  }

  // Maximizes over the free variables, with a fixed sum if there is a cap, until one would turn negative.
  bool newton(const Ends& ends) {
    free_.clear();
    for (size_t k = 0; k < a_.size(); ++k)
      if (a_[k] > 0 || (k == ends.best && slope_[k] > 0) || (k == ends.best && bounded_)) free_.push_back(k);
    size_t pivot = a_.size();  // with a cap, the variable with the most mass pays for the gains of the others
    if (bounded_) {
      pivot = *std::max_element(free_.begin(), free_.end(), [&](size_t x, size_t y) { return a_[x] < a_[y]; });
      free_.erase(std::find(free_.begin(), free_.end(), pivot));
    }
    const size_t m = free_.size();
    if (m == 0) return false;
    matrix_.resize(m * m);
    step_.resize(m);
    double largest = 0;
    for (size_t x = 0; x < m; ++x) {
      for (size_t y = 0; y <= x; ++y) {
        double value = entry(free_[x], free_[y]);
        if (bounded_) value += entry(pivot, pivot) - entry(free_[x], pivot) - entry(pivot, free_[y]);
        matrix_[x * m + y] = value;
      }
      largest = std::max(largest, matrix_[x * m + x]);
      step_[x] = slope_[free_[x]] - (bounded_ ? slope_[pivot] : 0.0);
    }
    if (!(largest > 0)) return false;
    for (size_t x = 0; x < m; ++x) matrix_[x * m + x] += kRidge * largest;
    if (!cholesky(m)) return false;
    const std::vector<double> right = step_;
    back_substitute(m);
    double gain = 0, of_pivot = 0;
    for (size_t x = 0; x < m; ++x) {
      gain += right[x] * step_[x];
      of_pivot -= step_[x];
    }
    if (!(gain > 0) || !std::isfinite(gain)) return false;
    double share = 1;
    size_t stopped = a_.size();
    const auto limit = [&](size_t k, double d) {
      if (d < 0 && a_[k] + share * d < 0) {
        share = a_[k] / -d;
        stopped = k;
      }
      if (!bounded_ && a_[k] + share * d > kLargest) {
        share = std::max((kLargest - a_[k]) / d, 0.0);
        stopped = a_.size();
      }
    };
    for (size_t x = 0; x < m; ++x) limit(free_[x], step_[x]);
    if (bounded_) limit(pivot, of_pivot);
    if (!(share > 0)) return false;
    for (size_t x = 0; x < m; ++x) a_[free_[x]] = std::max(a_[free_[x]] + share * step_[x], 0.0);
    if (bounded_) a_[pivot] = std::max(a_[pivot] + share * of_pivot, 0.0);
    if (stopped < a_.size()) a_[stopped] = 0;
    return true;
  }

  // Moves mass from the worst variable to the best. Without a cap, changes only one of the two.
  void exchange(const Ends& ends) {
    const size_t best = ends.best, worst = ends.worst;
    if (bounded_) {
      const double bend = entry(best, best) + entry(worst, worst) - 2 * entry(best, worst);
      const double mass = bend > 0 ? std::min(a_[worst], ends.left / bend) : a_[worst];
      a_[best] += mass;
      a_[worst] = mass == a_[worst] ? 0.0 : a_[worst] - mass;
      return;
    }
    const size_t k = slope_[best] >= ends.left ? best : worst;
    const double bend = entry(k, k);
    a_[k] = bend > 0 ? std::max(0.0, a_[k] + slope_[k] / bend) : (slope_[k] > 0 ? kLargest : 0.0);
    a_[k] = std::min(a_[k], kLargest);
  }

  bool cholesky(size_t m) {
    for (size_t x = 0; x < m; ++x)
      for (size_t y = 0; y <= x; ++y) {
        double sum = matrix_[x * m + y];
        for (size_t k = 0; k < y; ++k) sum -= matrix_[x * m + k] * matrix_[y * m + k];
        if (x > y) {
          matrix_[x * m + y] = sum / matrix_[y * m + y];
        } else {
          if (!(sum > 0)) return false;
          matrix_[x * m + x] = std::sqrt(sum);
        }
      }
    return true;
  }
  void back_substitute(size_t m) {
    for (size_t x = 0; x < m; ++x) {
      for (size_t k = 0; k < x; ++k) step_[x] -= matrix_[x * m + k] * step_[k];
      step_[x] /= matrix_[x * m + x];
    }
    for (size_t x = m; x-- > 0;) {
      for (size_t k = x + 1; k < m; ++k) step_[x] -= matrix_[k * m + x] * step_[k];
      step_[x] /= matrix_[x * m + x];
    }
  }

  const double* h_;
  const double* gram_;
  int64_t n_;
  double q_;
  double cap_;
  bool bounded_;
  std::vector<double> a_;
  std::vector<double> slope_;
  std::vector<size_t> free_;
  std::vector<double> matrix_;
  std::vector<double> step_;
  std::function<void()> poll_;
};

}  // namespace margrave
