// Helpers of feature maps that build sparse vectors entry by entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/features.h"

namespace margrave {

// Turns the entries of one sparse vector, in any order and with repeats, into a Row.
inline void merge_entries(std::vector<std::pair<int64_t, double>>& entries, Row& row) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  row.index.clear();
  row.value.clear();
  for (const auto& [index, value] : entries) {
    if (row.index.empty() || row.index.back() != index) {
      row.index.push_back(index);
      row.value.push_back(0);
    }
    row.value.back() += value;
  }
}

// g += change. If Measured, returns the change of 1/2 g^2.
template <bool Measured>
double add_measured(double change, double& g) {
  const double before = g;
  g += change;
  return Measured ? 0.5 * change * (before + g) : 0.0;
}

}  // namespace margrave
