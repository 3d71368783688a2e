// Rows of the trellis of alignments (engines/alignment.h; see loops_body.h).
//
// M and X of a row depend only on the row above. Y runs along the row, Y(j) = max(open(j), extend(j) + Y(j-1)), and is
// computed by scans: within a vector in steps of 1, 2 and 4 lanes, then from the last lane of the vector before. Sums
// have the same form, with sums for maxima and products for sums.
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

// The lanes of v, shifted up by `By`, with the last lanes of `before` in front.
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

// The lanes of v, shifted down by `By`, with the first lanes of `after` at the end.
template <int By>
inline V advanced(V v, V after) {
#ifdef __AVX512F__
  if constexpr (By == 1) return __builtin_shufflevector(v, after, 1, 2, 3, 4, 5, 6, 7, 8);
  if constexpr (By == 2) return __builtin_shufflevector(v, after, 2, 3, 4, 5, 6, 7, 8, 9);
  if constexpr (By == 4) return __builtin_shufflevector(v, after, 4, 5, 6, 7, 8, 9, 10, 11);
#else
  if constexpr (By == 1) return __builtin_shufflevector(v, after, 1, 2, 3, 4);
  if constexpr (By == 2) return __builtin_shufflevector(v, after, 2, 3, 4, 5);
  if constexpr (By == 4) return after;
#endif
}

inline V first_lane(V v) {
#ifdef __AVX512F__
  return __builtin_shufflevector(v, v, 0, 0, 0, 0, 0, 0, 0, 0);
#else
  return __builtin_shufflevector(v, v, 0, 0, 0, 0);
#endif
}

double alignment_sum_row(const AlignmentSums& row, double* ends) {
  const V x_open = all(row.x_open), x_extend = all(row.x_extend), begin_x = all(row.begin_x), above = all(row.carry);
  const V zero = all(0.0), one = all(1.0);
  V h_before = zero, y_before = zero, total = zero, ended = zero;
  for (int64_t j = 0; j < row.m; j += kLanes) {
    const V diagonal = load(row.m_next + j - 1) + load(row.x_next + j - 1) + load(row.y_next + j - 1);
    const V match = load(row.pair + j) * (begin_x * load(row.begin_y + j) + above * diagonal);
    const V x = x_open * load(row.m_next + j) + x_extend * load(row.x_next + j);
    const V h = match + x;
    const V e1 = load(row.y_extend + j);
    const V e2 = e1 * shifted<1>(one, e1);
    V y = shifted<1>(h_before, h) * load(row.y_open + j);
    y += shifted<1>(zero, y) * e1;
    y += shifted<2>(zero, y) * e2;
    V product = e2 * shifted<2>(one, e2);
    if constexpr (kLanes == 8) {
      y += shifted<4>(zero, y) * product;
      product *= shifted<4>(one, product);
    }
    y += last_lane(y_before) * product;
    store(row.m_here + j, match);
    store(row.x_here + j, x);
    store(row.y_here + j, y);
    total += h + y;
    ended += match * load(row.end_y + j);
    h_before = h;
    y_before = y;
  }
  *ends = sum(ended);
  return sum(total);
}

double alignment_share_row(const AlignmentSums& row, AlignmentShares& shares) {
  const V x_open = all(row.x_open), x_extend = all(row.x_extend), below = all(row.carry);
  const V begin_x = all(row.begin_x), end_x = all(row.end_x), share = all(shares.share);
  const V zero = all(0.0), one = all(1.0);
  V y_after = zero, total = zero, opened = zero, extended = zero, begun = zero, ended = zero;
  for (int64_t j = (row.m - 1) / kLanes * kLanes; j >= 0; j -= kLanes) {
    const V next = below * load(row.pair_next + j + 1) * load(row.m_next + j + 1);
    const V x_below = load(row.x_next + j);
    const V open_x = x_open * x_below, extend_x = x_extend * x_below;
    // Y of the letters that follow, from right to left.
    const V e1 = load(row.y_extend + j + 1);
    const V e2 = e1 * advanced<1>(e1, one);
    V y = next;
    y += advanced<1>(y, zero) * e1;
    y += advanced<2>(y, zero) * e2;
    V product = e2 * advanced<2>(e2, one);
    if constexpr (kLanes == 8) {
      y += advanced<4>(y, zero) * product;
      product *= advanced<4>(product, one);
    }
    y += first_lane(y_after) * product;
    const V y_right = advanced<1>(y, y_after);
    const V open_y = load(row.y_open + j + 1) * y_right, extend_y = e1 * y_right;
    const V finish = end_x * load(row.end_y + j);
    const V x = next + extend_x + open_y;
    const V m = next + open_x + open_y + finish;
    store(row.m_here + j, m);
    store(row.x_here + j, x);
    total += (m + x) + y;
    // Posteriors of this cell.
    const V m_before = load(shares.m + j), x_before = load(shares.x + j), y_before = load(shares.y + j);
    const V begins = begin_x * load(row.begin_y + j) * load(row.pair + j) * m * share;
    const V finishes = m_before * finish * share;
    const V matches = m_before * m * share;
    opened += m_before * open_x;
    extended += x_before * extend_x;
    begun += begins;
    ended += finishes;
    store(shares.y_open + j, load(shares.y_open + j) + (m_before + x_before) * open_y * share);
    store(shares.y_extend + j, load(shares.y_extend + j) + y_before * extend_y * share);
    store(shares.begin_y + j, load(shares.begin_y + j) + begins);
    store(shares.end_y + j, load(shares.end_y + j) + finishes);
    if (j + kLanes <= row.m)
      store(shares.pair + j, load(shares.pair + j) + matches);
    else
      store_tail(shares.pair + j, row.m - j, load_tail(shares.pair + j, row.m - j, 0.0) + matches);
    y_after = y;
  }
  shares.x_open = sum(opened) * shares.share;
  shares.x_extend = sum(extended) * shares.share;
  shares.begin_x = sum(begun);
  shares.end_x = sum(ended);
  return sum(total);
}

}  // namespace
}  // namespace margrave
