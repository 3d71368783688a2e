// Costs of parts as whole numbers, for searches among the best outputs at each cost (Problem::argmax_by_cost).
//
// Outputs with the same number must have the same cost. If all costs are multiples of one unit, a part's number is its
// cost in units. If there are up to three different costs, an output's number has one digit for each of them: how often
// the output has a part of this cost (Joachims 2005 does so with right and wrong items).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "losses/family.h"
#include "protocol/problem.h"

namespace margrave {

namespace cost_counts {

inline constexpr int64_t kMostNumbers = 4096;  // different numbers of an output: time and memory grow with them
inline constexpr size_t kMostDigits = 3;
inline constexpr double kSame = 1e-9;  // relative difference of costs that are the same but for rounding

// The different costs of parts other than 0.
inline std::vector<double> different(const double* delta, int64_t n) {
  std::vector<double> values;
  for (int64_t k = 0; k < n; ++k)
    if (delta[k] != 0 && (values.empty() || delta[k] != values.back())) values.push_back(delta[k]);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// The largest number of which all values are multiples, by Euclid's algorithm; 0 if it would be tiny.
inline double unit_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  double unit = 0;
  for (const double value : values) {
    double a = std::fabs(value), b = unit;
    while (b > kSame * largest) {
      a = std::fabs(std::remainder(a, b));
      std::swap(a, b);
    }
    unit = a;
  }
  if (!(unit * static_cast<double>(kMostNumbers) >= largest)) return 0;
  for (const double value : values)
    if (std::fabs(value - unit * std::round(value / unit)) > kSame * std::fabs(value)) return 0;
  return unit;
}

// The largest sum over the parts of an output.
inline double largest_sum(const Problem& problem, int64_t i, const std::vector<double>& of_parts, Worker& worker) {
  return problem.argmax(i, of_parts.data(), worker.answer.y, worker.scratch);
}

}  // namespace cost_counts

// Writes the number of every part to `code`; false if there would be too many numbers, or neither form applies.
inline bool count_costs(const Problem& problem, int64_t i, const double* delta, double* code, Worker& worker) {
  using namespace cost_counts;
  const int64_t n = problem.parts(i);
  const auto parts = static_cast<size_t>(n);
  const std::vector<double> values = different(delta, n);
  std::vector<double> of_parts(parts);
  if (const double unit = unit_of(values); unit > 0) {
    double range = 0;
    for (const double sign : {1.0, -1.0}) {
      for (size_t k = 0; k < parts; ++k) of_parts[k] = sign * std::round(delta[k] / unit);
      range += largest_sum(problem, i, of_parts, worker);
    }
    if (range < kMostNumbers) {
      for (int64_t k = 0; k < n; ++k) code[k] = std::round(delta[k] / unit);
      return true;
    }
  }
  if (values.size() > kMostDigits) return false;
  double place = 1;  // of the digit
  std::fill(code, code + n, 0.0);
  for (const double value : values) {
    for (size_t k = 0; k < parts; ++k) of_parts[k] = delta[k] == value ? 1.0 : 0.0;
    for (size_t k = 0; k < parts; ++k) code[k] += place * of_parts[k];
    place *= largest_sum(problem, i, of_parts, worker) + 1;
    if (place > kMostNumbers) return false;
  }
  return true;
}

}  // namespace margrave
