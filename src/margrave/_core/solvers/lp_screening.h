// Finds features of a master problem of LP-Struct that have weight 0 at every optimum, and solves without them.
//
// The multipliers of the rows that begin at a site sum to at most C of this site, since M'lambda <= C. Therefore
//
//   (H'lambda)_j <= sum over sites of C of the site times the largest H_rj > 0 of the rows r that begin there.
//
// If this is below 1, the price of a feature, then w_j = 0 at every optimum. For C below 1, this holds for features
// that occur in only a few examples, as most sparse features do.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "solvers/extragradient.h"

namespace margrave {

class ScreenedMaster {
 public:
  // The program must outlive this object.
  explicit ScreenedMaster(const LPMaster& whole) : lp_(whole) {
    const std::vector<double> most = largest_worth(whole);
    std::vector<int32_t> place(most.size(), -1);
    for (size_t j = 0; j < most.size(); ++j) {
      if (most[j] < 1 - kRounding) continue;
      place[j] = static_cast<int32_t>(kept_.size());
      kept_.push_back(j);
    }
    begin_.push_back(0);
    for (int64_t r = 0; r < whole.rows; ++r) {
      for (int64_t k = whole.begin[r]; k < whole.begin[r + 1]; ++k) {
        const int32_t column = place[whole.column[k]];
        if (column < 0) continue;
        column_.push_back(column);
        value_.push_back(whole.value[k]);
      }
      begin_.push_back(static_cast<int64_t>(column_.size()));
    }
    lp_.columns = static_cast<int64_t>(kept_.size());
    lp_.begin = begin_.data();
    lp_.column = column_.data();
    lp_.value = value_.data();
  }
  ScreenedMaster(const ScreenedMaster&) = delete;
  ScreenedMaster& operator=(const ScreenedMaster&) = delete;

  const LPMaster& program() const { return lp_; }

  // The weights of the remaining features.
  std::vector<double> restricted(const double* w) const {
    std::vector<double> left;
    left.reserve(kept_.size());
    for (const size_t j : kept_) left.push_back(w[j]);
    return left;
  }
  // All weights, with zeros for the removed features.
  void extend(const std::vector<double>& left, double* w, size_t columns) const {
    std::fill_n(w, columns, 0.0);
    for (size_t k = 0; k < kept_.size(); ++k) w[kept_[k]] = left[k];
  }

 private:
  static constexpr double kRounding = 1e-12;  // relative

  // An upper bound on (H'lambda)_j of each feature, or on its absolute value if signs are free.
  static std::vector<double> largest_worth(const LPMaster& lp) {
    std::vector<int64_t> by_site(static_cast<size_t>(lp.rows));
    std::iota(by_site.begin(), by_site.end(), int64_t{0});
    std::stable_sort(by_site.begin(), by_site.end(), [&](int64_t a, int64_t b) { return lp.first[a] < lp.first[b]; });
    const auto columns = static_cast<size_t>(lp.columns);
    std::vector<double> worth(columns), largest(columns);  // largest: over the rows of one site
    std::vector<int32_t> site(columns, -1);                // the site of `largest`
    for (const int64_t r : by_site) {
      for (int64_t k = lp.begin[r]; k < lp.begin[r + 1]; ++k) {
        const auto j = static_cast<size_t>(lp.column[k]);
        if (site[j] != lp.first[r]) {
          site[j] = lp.first[r];
          largest[j] = 0;
        }
        const double value = lp.free_sign ? std::fabs(lp.value[k]) : lp.value[k];
        if (value <= largest[j]) continue;
        worth[j] += lp.C[lp.first[r]] * (value - largest[j]);
        largest[j] = value;
      }
    }
    return worth;
  }

  LPMaster lp_;
  std::vector<size_t> kept_;  // remaining columns
  std::vector<int64_t> begin_;
  std::vector<int32_t> column_;
  std::vector<double> value_;
};

}  // namespace margrave
