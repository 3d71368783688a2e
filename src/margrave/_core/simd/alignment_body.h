// Rows of the trellis of alignments (engines/alignment.h; see loops_body.h).
//
// M and X of a row depend on the row above alone. Y runs along the row, Y(j) = max(open(j), extend(j) + Y(j-1)), and is
// computed by scans: within a vector in steps of 1, 2 and 4 lanes, and then from the last lane of the vector before.
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

// The lanes of v, `By` places further, with the last lanes of `before` in front.
template <int By>
inline V shifted(V before, V v) {
#ifdef __AVX512F__
  if constexpr (By == 1) return __builtin_shufflevector(before, v, 7, 8, 9, 10, 11, 12, 13, 14);
  if constexpr (By == 2) return __builtin_shufflevector(before, v, 6, 7, 8, 9, 10, 11, 12, 13);
  if constexpr (By == 4) return __builtin_shufflevector(before, v, 4, 5, 6, 7, 8, 9, 10, 11);
#else
  if constexpr (By == 1) return __builtin_shufflevector(before, v, 3, 4, 5, 6);
  if constexpr (By == 2) return __builtin_shufflevector(before, v, 2, 3, 4, 5);
  if constexpr (By == 4) return before;
#endif
}

inline V last_lane(V v) {
#ifdef __AVX512F__
  return __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
#else
  return __builtin_shufflevector(v, v, 3, 3, 3, 3);
#endif
}

double alignment_best_row(const AlignmentRow& row) {
  const V x_open = all(row.x_open), x_extend = all(row.x_extend), begin_x = all(row.begin_x), end_x = all(row.end_x);
  const V none = all(-kInf), zero = all(0.0);
  V h_before = none, y_before = none, top = none;
  for (int64_t j = 0; j < row.m; j += kLanes) {
    const int64_t left = row.m - j;
    const auto read = [&](const double* p, double fill) {
      return left >= kLanes ? load(p + j) : load_tail(p + j, left, fill);
    };
    const V diagonal = max(max(load(row.m_above + j - 1), load(row.x_above + j - 1)), load(row.y_above + j - 1));
    const V match = read(row.pair, -kInf) + max(begin_x + read(row.begin_y, -kInf), diagonal);
    const V x = max(load(row.m_above + j) + x_open, load(row.x_above + j) + x_extend);
    const V h = max(match, x);
    const V e1 = read(row.y_extend, -kInf);
    const V e2 = e1 + shifted<1>(zero, e1);
    V y = shifted<1>(h_before, h) + read(row.y_open, -kInf);
    y = max(y, shifted<1>(none, y) + e1);
    y = max(y, shifted<2>(none, y) + e2);
    V all_of_them = e2 + shifted<2>(zero, e2);
    if constexpr (kLanes == 8) {
      y = max(y, shifted<4>(none, y) + all_of_them);
      all_of_them += shifted<4>(zero, all_of_them);
    }
    y = max(y, last_lane(y_before) + all_of_them);
    store(row.m_here + j, match);
    store(row.x_here + j, x);
    store(row.y_here + j, y);
    top = max(top, match + (end_x + read(row.end_y, -kInf)));
    h_before = h;
    y_before = y;
  }
  return max(top);
}

}  // namespace
}  // namespace margrave
