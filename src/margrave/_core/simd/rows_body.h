// Scores of tokens from sparse rows of attributes, and the adjoint (see loops_body.h).
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

// ---- packed rows: an attribute has weights for some labels only ----

// Attributes ahead whose rows are prefetched; to write, if they will be: another thread's copy is then dropped early.
// Always inlined: as functions without effect, GCC would drop the calls.
constexpr int64_t kAhead = 16;

inline int64_t weights_at(uint64_t span) { return static_cast<int64_t>(span >> kSpanBits); }

template <bool ToWrite = false>
[[gnu::always_inline]] inline void prefetch_packed(const TokenRows& x, int64_t k, int64_t end, const double* w) {
  if (k + kAhead < end) __builtin_prefetch(w + weights_at(x.span[k + kAhead]), ToWrite);
}

// Scatters return the change of 1/2 |g|^2 if it is to be measured: the sum of change * (before + after) / 2, entry by
// entry as g is updated, which is exact also where an attribute occurs twice.
template <bool Measured>
inline void scatter_one(double* g, double change, double& sum) {
  const double before = *g;
  *g = before + change;
  if (Measured) sum += change * (before + *g);
}

// A row of at most 32 labels is a set of bits; its weights lie side by side.
#ifdef __AVX512F__

template <bool Valued, int N>
void score_bits_of(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                   double* theta) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, theta += rows.labels) {
    __m512d sums[N];
    for (int64_t v = 0; v < N; ++v) sums[v] = _mm512_setzero_pd();
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, k, end, w);
      const double* row = w + weights_at(x.span[k]);
      auto bits = static_cast<uint32_t>(x.span[k]);
      const __m512d value = _mm512_set1_pd(Valued ? x.value[k] : 1.0);
      for (int64_t v = 0; v < N; ++v, bits >>= 8) {
        const auto mask = static_cast<__mmask8>(bits);
        const __m512d weights = _mm512_maskz_expandloadu_pd(mask, row);
        sums[v] = Valued ? _mm512_fmadd_pd(value, weights, sums[v]) : _mm512_add_pd(weights, sums[v]);
        row += __builtin_popcount(mask);
      }
    }
    for (int64_t v = 0; v < N; ++v) store_row(theta, v, rows.labels, static_cast<V>(sums[v]));
  }
}

template <bool Measured, bool Valued, int N>
double scatter_bits_of(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu,
                       double c, double* g) {
  const int64_t end = x.begin[last];
  __m512d sums[N];
  for (int64_t v = 0; v < N; ++v) sums[v] = _mm512_setzero_pd();
  for (int64_t t = first; t < last; ++t, mu += rows.labels) {
    __m512d from[N];
    for (int64_t v = 0; v < N; ++v) from[v] = static_cast<__m512d>(c * load_row(mu, v, rows.labels, 0.0));
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed<true>(x, k, end, g);
      // all loads come before the stores: a load from where a masked store has just been must wait for it
      double* row = g + weights_at(x.span[k]);
      auto bits = static_cast<uint32_t>(x.span[k]);
      const __m512d value = _mm512_set1_pd(Valued ? x.value[k] : 1.0);
      __m512d after[N];
      __mmask8 low[N];
      double* at[N];
      for (int64_t v = 0; v < N; ++v, bits >>= 8) {
        const auto mask = static_cast<__mmask8>(bits);
        const int count = __builtin_popcount(mask);
        low[v] = static_cast<__mmask8>((1u << count) - 1);
        at[v] = row;
        const __m512d compressed = _mm512_maskz_compress_pd(mask, from[v]);
        const __m512d change = Valued ? _mm512_mul_pd(value, compressed) : compressed;
        const __m512d before = _mm512_maskz_loadu_pd(low[v], row);
        after[v] = _mm512_add_pd(change, before);
        if (Measured) sums[v] = _mm512_fmadd_pd(change, _mm512_add_pd(before, after[v]), sums[v]);
        row += count;
      }
      for (int64_t v = 0; v < N; ++v) _mm512_mask_storeu_pd(at[v], low[v], after[v]);
    }
  }
  double total = 0;
  if (Measured)
    for (int64_t v = 0; v < N; ++v) total += sum(static_cast<V>(sums[v]));
  return 0.5 * total;
}

template <bool Valued>
void score_bits(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  constexpr decltype(Loops::score_rows) run[] = {score_bits_of<Valued, 1>, score_bits_of<Valued, 2>,
                                                 score_bits_of<Valued, 3>, score_bits_of<Valued, 4>};
  run[(rows.labels - 1) / 8](x, rows, first, last, w, theta);
}

template <bool Measured, bool Valued>
double scatter_bits(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                    double* g) {
  constexpr decltype(Loops::move_rows) run[] = {
      scatter_bits_of<Measured, Valued, 1>, scatter_bits_of<Measured, Valued, 2>, scatter_bits_of<Measured, Valued, 3>,
      scatter_bits_of<Measured, Valued, 4>};
  return run[(rows.labels - 1) / 8](x, rows, first, last, mu, c, g);
}

#else

template <bool Valued>
void score_bits(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, theta += rows.labels) {
    for (int64_t l = 0; l < rows.labels; ++l) theta[l] = 0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, k, end, w);
      const double* row = w + weights_at(x.span[k]);
      const double value = Valued ? x.value[k] : 1.0;
      for (auto bits = static_cast<uint32_t>(x.span[k]); bits; bits &= bits - 1)
        theta[__builtin_ctz(bits)] += Valued ? value * *row++ : *row++;
    }
  }
}

template <bool Measured, bool Valued>
double scatter_bits(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                    double* g) {
  const int64_t end = x.begin[last];
  double sum = 0;
  for (int64_t t = first; t < last; ++t, mu += rows.labels) {
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed<true>(x, k, end, g);
      double* row = g + weights_at(x.span[k]);
      const double value = Valued ? c * x.value[k] : c;
      for (auto bits = static_cast<uint32_t>(x.span[k]); bits; bits &= bits - 1)
        scatter_one<Measured>(row++, value * mu[__builtin_ctz(bits)], sum);
    }
  }
  return 0.5 * sum;
}

#endif

// More labels: a list of columns, of which a span tells the number.
void score_columns(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                   double* theta) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, theta += rows.labels) {
    for (int64_t l = 0; l < rows.labels; ++l) theta[l] = 0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, k, end, w);
      const double value = x.value ? x.value[k] : 1.0;
      const int64_t from = weights_at(x.span[k]);
      const int64_t to = from + static_cast<int64_t>(x.span[k] & kSpanMask);
      for (int64_t j = from; j < to; ++j) theta[rows.column[j]] += value * w[j];
    }
  }
}

template <bool Measured>
double scatter_columns(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu,
                       double c, double* g) {
  const int64_t end = x.begin[last];
  double sum = 0;
  for (int64_t t = first; t < last; ++t, mu += rows.labels) {
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed<true>(x, k, end, g);
      const double value = x.value ? c * x.value[k] : c;
      const int64_t from = weights_at(x.span[k]);
      const int64_t to = from + static_cast<int64_t>(x.span[k] & kSpanMask);
      for (int64_t j = from; j < to; ++j) scatter_one<Measured>(g + j, value * mu[rows.column[j]], sum);
    }
  }
  return 0.5 * sum;
}

// ---- full rows: an attribute has a weight for every label ----

constexpr int64_t kCacheDoubles = 64 * 1024;  // a table that the second-level cache holds needs no prefetch

template <bool ToWrite = false>
[[gnu::always_inline]] inline void prefetch_full(const TokenRows& x, int64_t labels, int64_t k, int64_t end,
                                                 const double* w) {
  if (k + kAhead >= end) return;
  const double* row = w + x.index[k + kAhead] * labels;
  for (int64_t at = 0; at < labels; at += 8) __builtin_prefetch(row + at, ToWrite);
}

// Rows begin anywhere, so that longer vectors would straddle cache lines: four doubles, then two, then one.
typedef double V4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double V2 __attribute__((vector_size(16), aligned(8), may_alias));
inline V4& four(double* p) { return *reinterpret_cast<V4*>(p); }
inline V2& two(double* p) { return *reinterpret_cast<V2*>(p); }
inline const V4& four(const double* p) { return *reinterpret_cast<const V4*>(p); }
inline const V2& two(const double* p) { return *reinterpret_cast<const V2*>(p); }

// L labels known to the compiler, so that a token's scores stay in registers; or 0: any number.
template <int L>
void score_full(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  const int64_t labels = L > 0 ? L : rows.labels;
  const int64_t end = rows.attributes * labels > kCacheDoubles ? x.begin[last] : 0;
  const int64_t fours = labels / 4;
  const int64_t pair = labels % 4 >= 2 ? 4 * fours : -1;     // where the last two stand, if they are left over
  const int64_t single = labels % 2 == 1 ? labels - 1 : -1;  // the last of an odd number
  for (int64_t t = first; t < last; ++t, theta += labels) {
    V4 local[L >= 4 ? L / 4 : 1];
    V4* sums = L > 0 ? local : &four(theta);
    for (int64_t v = 0; v < fours; ++v) sums[v] = V4{};
    V2 pair_sum{};
    double single_sum = 0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_full(x, labels, k, end, w);
      const double value = x.value ? x.value[k] : 1.0;
      const double* row = w + x.index[k] * labels;
      for (int64_t v = 0; v < fours; ++v) sums[v] += value * four(row + 4 * v);
      if (pair >= 0) pair_sum += value * two(row + pair);
      if (single >= 0) single_sum += value * row[single];
    }
    if (L > 0)
      for (int64_t v = 0; v < fours; ++v) four(theta + 4 * v) = sums[v];
    if (pair >= 0) two(theta + pair) = pair_sum;
    if (single >= 0) theta[single] = single_sum;
  }
}

template <bool Measured, int L>
double scatter_full(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                    double* g) {
  const int64_t labels = L > 0 ? L : rows.labels;
  const int64_t end = rows.attributes * labels > kCacheDoubles ? x.begin[last] : 0;
  const int64_t fours = labels / 4;
  const int64_t pair = labels % 4 >= 2 ? 4 * fours : -1;
  const int64_t single = labels % 2 == 1 ? labels - 1 : -1;
  V4 sums{};
  V2 pair_sum{};
  double single_sum = 0;
  for (int64_t t = first; t < last; ++t, mu += labels) {
    V4 local[L >= 4 ? L / 4 : 1];
    if (L > 0)
      for (int64_t v = 0; v < fours; ++v) local[v] = four(mu + 4 * v);
    const V2 last_pair = pair >= 0 ? two(mu + pair) : V2{};
    const double last_single = single >= 0 ? mu[single] : 0.0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_full<true>(x, labels, k, end, g);
      const double value = x.value ? c * x.value[k] : c;
      double* row = g + x.index[k] * labels;
      for (int64_t v = 0; v < fours; ++v) {
        const V4 change = value * (L > 0 ? local[v] : four(mu + 4 * v));
        const V4 before = four(row + 4 * v);
        four(row + 4 * v) = before + change;
        if (Measured) sums += change * (before + before + change);
      }
      if (pair >= 0) {
        const V2 change = value * last_pair;
        const V2 before = two(row + pair);
        two(row + pair) = before + change;
        if (Measured) pair_sum += change * (before + before + change);
      }
      if (single >= 0) scatter_one<Measured>(row + single, value * last_single, single_sum);
    }
  }
  return 0.5 * ((sums[0] + sums[1]) + (sums[2] + sums[3]) + (pair_sum[0] + pair_sum[1]) + single_sum);
}

}  // namespace
}  // namespace margrave
