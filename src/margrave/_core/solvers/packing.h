// Constraints that occupy consecutive sites of their examples (protocol/problem.h: Change), and the largest total slack
// required by constraints without a common site.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace margrave {

class Packing {
 public:
  // The sites that each row occupies, from the first to the last one. They must be valid.
  Packing(int64_t rows, const int32_t* first, const int32_t* last, int64_t sites)
      : first_(first), begin_(static_cast<size_t>(sites) + 1), row_(static_cast<size_t>(rows)) {
    for (int64_t r = 0; r < rows; ++r) ++begin_[static_cast<size_t>(last[r]) + 1];
    for (size_t s = 0; s < static_cast<size_t>(sites); ++s) begin_[s + 1] += begin_[s];
    std::vector<int64_t> next(begin_.begin(), begin_.end() - 1);
    for (int64_t r = 0; r < rows; ++r) row_[next[last[r]]++] = static_cast<int32_t>(r);
  }

  // The largest sum of values of disjoint rows within the sites from `from` to `to`; best[k] is that of the rows within
  // the first k of these sites. The differences of consecutive `best` are slacks of the sites. Those of every row sum
  // to at least its value, and all sum to the result, so no smaller slacks exist.
  double most(const double* value, int64_t from, int64_t to, std::vector<double>& best) const {
    best.assign(1, 0.0);
    for (int64_t s = from; s <= to; ++s) {
      double most = best.back();
      for (int64_t k = begin_[s]; k < begin_[s + 1]; ++k) {
        const int32_t r = row_[k];
        if (first_[r] >= from) most = std::max(most, best[first_[r] - from] + value[r]);
      }
      best.push_back(most);
    }
    return best.back();
  }

 private:
  const int32_t* first_;
  std::vector<int64_t> begin_;  // the rows by their last sites
  std::vector<int32_t> row_;
};

}  // namespace margrave
