// The quadratic step of AD3 for a factor with an argmax oracle (Martins et al. 2015):
//
//   maximize  scale extra(q) - 1/2 |q - c|^2    over the convex hull of the outputs
//
// An output is a list of distinct places, of equal length for all outputs. q is the mass of each place, and every
// output may have an extra score. An active-set method: a quadratic program finds the best mixture of a few outputs,
// and the best output under the current slopes is added until it gains nothing. Outputs without mass are dropped. The
// next step starts from the remaining ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "solvers/block_qp.h"

namespace margrave {

class HullProjection {
 public:
  void clear() { outputs_.clear(), alpha_.clear(), extra_.clear(); }

  // solve(weights, output, extra) finds the output with the highest sum of weights plus scale times its extra score;
  // false if there is none. Ends when the best output gains less than the tolerance.
  template <class Solve>
  bool run(const std::vector<double>& c, double scale, double tolerance, const Solve& solve, std::vector<double>& q) {
    solved_ = true;
    for (int round = 0; round < kRounds; ++round) {
      const double of_mixture = mix(c, scale, q);
      weights_.resize(c.size());
      for (size_t k = 0; k < c.size(); ++k) weights_[k] = c[k] - q[k];
      double extra = 0;
      if (!solve(weights_, found_, extra)) return false;
      double gain = scale * extra - of_mixture;
      for (const int32_t k : found_) gain += weights_[k];
      for (size_t k = 0; k < c.size(); ++k) gain -= weights_[k] * q[k];
      if (!outputs_.empty() &&
          (gain <= tolerance || std::find(outputs_.begin(), outputs_.end(), found_) != outputs_.end()))
        return true;
      outputs_.push_back(found_);
      alpha_.push_back(outputs_.size() == 1 ? 1.0 : 0.0);
      extra_.push_back(extra);
    }
    mix(c, scale, q);
    solved_ = false;
    return true;
  }

  // Whether the last step ended because no output gains anything.
  bool solved() const { return solved_; }
  // The mixture of the last step.
  const std::vector<std::vector<int32_t>>& outputs() const { return outputs_; }
  const std::vector<double>& masses() const { return alpha_; }

 private:
  static constexpr int kRounds = 4;        // maximum number of outputs added
  static constexpr double kSolved = 1e-9;  // tolerance of the quadratic program

  // The best mixture of the known outputs. Returns its scaled extra score.
  double mix(const std::vector<double>& c, double scale, std::vector<double>& q) {
    q.assign(c.size(), 0.0);
    if (outputs_.empty()) return 0;
    const size_t m = outputs_.size();
    h_.resize(m);
    for (size_t k = 0; k < m; ++k) h_[k] = scale * extra_[k];
    gram_.assign(m * m, 0.0);
    double lowest = 0;
    for (size_t k = 0; k < m; ++k) {
      for (const int32_t place : outputs_[k]) h_[k] += c[place];
      lowest = std::min(lowest, h_[k]);
      for (size_t j = 0; j <= k; ++j) gram_[k * m + j] = gram_[j * m + k] = common(outputs_[k], outputs_[j]);
    }
    const auto size = static_cast<double>(outputs_[0].size());
    for (double& each : h_) each += 1 + size - lowest;  // makes unassigned mass never pay off
    BlockQP(h_.data(), gram_.data(), static_cast<int64_t>(m), 0.0, 1.0).solve(kSolved, alpha_);
    double of_mixture = 0;
    for (size_t k = m; k-- > 0;) {
      if (alpha_[k] > 0) {
        for (const int32_t place : outputs_[k]) q[place] += alpha_[k];
        of_mixture += alpha_[k] * scale * extra_[k];
      } else {
        outputs_.erase(outputs_.begin() + static_cast<ptrdiff_t>(k));
        alpha_.erase(alpha_.begin() + static_cast<ptrdiff_t>(k));
        extra_.erase(extra_.begin() + static_cast<ptrdiff_t>(k));
      }
    }
    return of_mixture;
  }

  // Compares only equal positions: lists have a fixed order, such as word by word.
  static double common(const std::vector<int32_t>& x, const std::vector<int32_t>& y) {
    int count = 0;
    for (size_t k = 0; k < x.size(); ++k) count += x[k] == y[k];
    return count;
  }

  std::vector<std::vector<int32_t>> outputs_;
  std::vector<double> alpha_, extra_, h_, gram_, weights_;
  std::vector<int32_t> found_;
  bool solved_ = false;
};

}  // namespace margrave
