// Vectors of doubles, and functions on arrays of them, for the hot loops (see loops_body.h).
#pragma once

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "simd/loops.h"

namespace margrave {
namespace {

constexpr double kInf = __builtin_inf();

// Several doubles at a time; GCC and Clang lower this to the instruction set.
#ifdef __AVX512F__
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
typedef double V __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));
typedef int64_t I __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));

inline V all(double x) { return x - V{}; }
inline V load(const double* p) { return *reinterpret_cast<const V*>(p); }
inline void store(double* p, V x) { *reinterpret_cast<V*>(p) = x; }
inline V max(V a, V b) { return a > b ? a : b; }
inline V min(V a, V b) { return a < b ? a : b; }

// Sums across the lanes, always in the same order.
inline double sum(V x) {
  double total[kLanes / 2];
  for (int k = 0; k < kLanes / 2; ++k) total[k] = x[k] + x[k + kLanes / 2];
  double result = total[0] + total[1];
  for (int k = 2; k < kLanes / 2; k += 2) result += total[k] + total[k + 1];
  return result;
}
// out[r] += the sum of x[r] across the lanes, for four vectors at once.
inline void add_sums(const V (&x)[4], double* out) {
#ifdef __AVX512F__
  const V pairs = __builtin_shufflevector(x[0], x[1], 0, 8, 2, 10, 4, 12, 6, 14) +
                  __builtin_shufflevector(x[0], x[1], 1, 9, 3, 11, 5, 13, 7, 15);
  const V others = __builtin_shufflevector(x[2], x[3], 0, 8, 2, 10, 4, 12, 6, 14) +
                   __builtin_shufflevector(x[2], x[3], 1, 9, 3, 11, 5, 13, 7, 15);
  const V halves = __builtin_shufflevector(pairs, others, 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(pairs, others, 2, 3, 10, 11, 6, 7, 14, 15);
  for (int r = 0; r < 4; ++r) out[r] += halves[r] + halves[r + 4];
#else
  const V pairs = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6) + __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
  const V others = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6) + __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
  const V sums =
      __builtin_shufflevector(pairs, others, 0, 1, 4, 5) + __builtin_shufflevector(pairs, others, 2, 3, 6, 7);
  for (int r = 0; r < 4; ++r) out[r] += sums[r];
#endif
}
inline double max(V x) {
  double top[kLanes / 2];
  for (int k = 0; k < kLanes / 2; ++k) top[k] = x[k] > x[k + kLanes / 2] ? x[k] : x[k + kLanes / 2];
  double result = top[0];
  for (int k = 1; k < kLanes / 2; ++k) result = top[k] > result ? top[k] : result;
  return result;
}
inline double min(V x) { return -max(-x); }

// The last, incomplete vector of a row: n < kLanes values, filled up. Nothing beyond them is accessed.
#if defined(__AVX512F__)
inline V load_tail(const double* p, int64_t n, double fill) {
  const auto mask = static_cast<__mmask8>((1u << n) - 1);
  return static_cast<V>(_mm512_mask_loadu_pd(_mm512_set1_pd(fill), mask, p));
}
inline void store_tail(double* p, int64_t n, V x) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), static_cast<__m512d>(x));
}
#elif defined(__AVX2__)
inline I first_lanes(int64_t n) { return I{0, 1, 2, 3} < n; }
inline V load_tail(const double* p, int64_t n, double fill) {
  const I mask = first_lanes(n);
  const V x = static_cast<V>(_mm256_maskload_pd(p, reinterpret_cast<__m256i>(mask)));
  return mask ? x : all(fill);
}
inline void store_tail(double* p, int64_t n, V x) {
  _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(first_lanes(n)), static_cast<__m256d>(x));
}
#else
inline V load_tail(const double* p, int64_t n, double fill) {
  V x = all(fill);
  for (int64_t k = 0; k < n; ++k) x[k] = p[k];
  return x;
}
inline void store_tail(double* p, int64_t n, V x) {
  for (int64_t k = 0; k < n; ++k) p[k] = x[k];
}
#endif

// Vector k of a row of n values.
inline V load_row(const double* row, int64_t k, int64_t n, double fill) {
  const int64_t at = kLanes * k;
  return at + kLanes <= n ? load(row + at) : load_tail(row + at, n - at, fill);
}
inline void store_row(double* row, int64_t k, int64_t n, V x) {
  const int64_t at = kLanes * k;
  if (at + kLanes <= n)
    store(row + at, x);
  else
    store_tail(row + at, n - at, x);
}

// exp with an error below 2 ulp for x <= 0 or moderately positive; 0 below -708 (and at -inf).
inline V fast_exp(V x) {
  const V bounded = max(x, all(-708.0));
  const V magic = all(0x1.8p52);  // adding it rounds to an integer, which the low bits then hold
  const V shifted = bounded * 1.4426950408889634 + magic;
  const V k = shifted - magic;
  const V r = (bounded - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  V p = all(1.0 / 6227020800.0);  // Taylor to degree 13: the rest is below 4e-18 for |r| <= ln(2)/2
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const I exponent = (reinterpret_cast<I>(shifted) + 1023) << 52;
  const V result = p * reinterpret_cast<V>(exponent);
  return x < -708.0 ? all(0.0) : result;
}

double dot(const double* u, const double* v, int64_t n) {
  V sums[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
  int64_t k = 0;
  for (; k + 4 * kLanes <= n; k += 4 * kLanes)
    for (int64_t j = 0; j < 4; ++j) sums[j] += load(u + k + kLanes * j) * load(v + k + kLanes * j);
  double rest = 0;
  for (; k < n; ++k) rest += u[k] * v[k];
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

void add_scaled(const double* u, double c, double* v, int64_t n) {
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) store(v + k, load(v + k) + c * load(u + k));
  for (; k < n; ++k) v[k] += c * u[k];
}

void exchange(double* all, double* own, double* known, double share, int64_t n) {
  for (int64_t k = 0; kLanes * k < n; ++k) {
    const V sum = load_row(all, k, n, 0.0) + share * (load_row(own, k, n, 0.0) - load_row(known, k, n, 0.0));
    store_row(all, k, n, sum);
    store_row(own, k, n, sum);
    store_row(known, k, n, sum);
  }
}

}  // namespace
}  // namespace margrave
