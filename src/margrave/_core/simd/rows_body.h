// Scores of tokens from sparse rows of attributes, and the adjoint (see loops_body.h).
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

// ---- packed rows: an attribute has weights for some labels only ----

// Attributes ahead whose rows are prefetched. With ToWrite, for writing: other threads' copies are then invalidated
// early. Always inlined: GCC would drop calls of functions without effect.
constexpr int64_t kAhead = 16;

inline int64_t weights_at(uint64_t span) { return static_cast<int64_t>(span >> kSpanBits); }

template <bool ToWrite = false>
[[gnu::always_inline]] inline void prefetch_packed(const TokenRows& x, int64_t k, int64_t end, const double* w) {
  if (k + kAhead < end) __builtin_prefetch(w + weights_at(x.span[k + kAhead]), ToWrite);
}

// Scatters return the change of 1/2 |g|^2 if Measured: the sum of change * (before + after) / 2, entry by entry as g is
// updated. This is exact even if an attribute occurs twice.
template <bool Measured>
inline void scatter_one(double* g, double change, double& sum) {
  const double before = *g;
  *g = before + change;
  if (Measured) sum += change * (before + *g);
}

// ---- at most 32 labels: a row is a bit set, and its weights are contiguous ----
//
// Scoring expands contiguous weights to the lanes of their labels. Scattering compresses changes from the lanes of
// their labels to contiguous weights. The labels take N vectors.

// The bits of a row below those of vector v, and those of vector v.
constexpr uint32_t bits_below(uint32_t bits, int v) { return bits & ((uint32_t{1} << (kLanes * v)) - 1); }
constexpr uint32_t bits_of_vector(uint32_t bits, int v) {
  return (bits >> (kLanes * v)) & ((uint32_t{1} << kLanes) - 1);
}

// The change of |g|^2, in two parts: additions to a single one would wait for one another.
struct Squares {
  V even = all(0.0);
  V odd = all(0.0);

  double half() const { return 0.5 * sum(even + odd); }
};

#if defined(__AVX512F__) || defined(__AVX2__)

#ifdef __AVX512F__

constexpr bool kMaskedStoresAreCheap = true;

inline V expand(const double* row, uint32_t mask) {
  return static_cast<V>(_mm512_maskz_expandloadu_pd(static_cast<__mmask8>(mask), row));
}
inline V compress(V x, uint32_t mask) {
  return static_cast<V>(_mm512_maskz_compress_pd(static_cast<__mmask8>(mask), static_cast<__m512d>(x)));
}

#else

constexpr bool kMaskedStoresAreCheap = false;  // they take dozens of cycles on AMD

// For each set of four lanes: permutations of doubles, as pairs of 32 bits, and a mask of the lanes in front.
struct Permutations {
  alignas(32) int32_t expand[16][8];
  alignas(32) int32_t compress[16][8];
  alignas(32) int64_t front[16][4];
};
constexpr Permutations permutations() {
  Permutations result{};
  for (int mask = 0; mask < 16; ++mask) {
    int count = 0;
    for (int lane = 0; lane < 4; ++lane) {
      // A lane without a weight takes the last one, which is zero unless all four have a weight.
      const int from = mask >> lane & 1 ? count : 3;
      for (int half = 0; half < 2; ++half) result.expand[mask][2 * lane + half] = 2 * from + half;
      if (!(mask >> lane & 1)) continue;
      for (int half = 0; half < 2; ++half) result.compress[mask][2 * count + half] = 2 * lane + half;
      result.front[mask][count++] = -1;
    }
  }
  return result;
}
constexpr Permutations kPermutations = permutations();

inline __m256i entry(const void* row) { return _mm256_load_si256(static_cast<const __m256i*>(row)); }
inline V permute(V x, __m256i by) {
  return reinterpret_cast<V>(_mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(x), by));
}
inline V expand(const double* row, uint32_t mask) {
  const auto weights = static_cast<V>(_mm256_maskload_pd(row, entry(kPermutations.front[mask])));
  return permute(weights, entry(kPermutations.expand[mask]));
}
inline V compress(V x, uint32_t mask) {
  const V lanes = permute(x, entry(kPermutations.compress[mask]));
  return reinterpret_cast<V>(reinterpret_cast<I>(lanes) & reinterpret_cast<I>(entry(kPermutations.front[mask])));
}

#endif

// sums += value * weights
template <bool Valued, int N>
[[gnu::always_inline]] inline void add_row(const double* row, uint32_t bits, double value, V* sums) {
  for (int v = 0; v < N; ++v) {
    const V weights = expand(row + __builtin_popcount(bits_below(bits, v)), bits_of_vector(bits, v));
    sums[v] += Valued ? value * weights : weights;
  }
}

// weights += value * from. All loads come before the stores: a load that partly overlaps a recent store must wait for
// it. Unless masked, whole vectors are stored in order, so each overwrites the excess of the one before. Beyond the
// row, the last one stores what it has loaded.
template <bool Measured, bool Valued, int N, bool Masked>
[[gnu::always_inline]] inline void scatter_vectors(double* row, uint32_t bits, double value, const V* from,
                                                   Squares& squares) {
  V after[N];
  double* at[N];
  for (int v = 0; v < N; ++v) {
    const uint32_t mask = bits_of_vector(bits, v);
    at[v] = row;
    const V compressed = compress(from[v], mask);
    const V change = Valued ? value * compressed : compressed;
    const V before = Masked ? load_tail(row, __builtin_popcount(mask), 0.0) : load(row);
    after[v] = before + change;
    if (Measured) (v % 2 ? squares.odd : squares.even) += change * (before + after[v]);
    row += __builtin_popcount(mask);
  }
  for (int v = 0; v < N; ++v) {
    if (Masked)
      store_tail(at[v], __builtin_popcount(bits_of_vector(bits, v)), after[v]);
    else
      store(at[v], after[v]);
  }
}

// Not inlined: it would take registers from the other case.
template <bool Measured, bool Valued, int N>
[[gnu::noinline]] void scatter_masked(double* row, uint32_t bits, double value, const V* from, Squares& squares) {
  scatter_vectors<Measured, Valued, N, true>(row, bits, value, from, squares);
}

template <bool Measured, bool Valued, int N>
[[gnu::always_inline]] inline void scatter_row(double* g, int64_t row, const WeightRows& rows, uint32_t bits,
                                               double value, const V* from, Squares& squares) {
  if (kMaskedStoresAreCheap)
    scatter_vectors<Measured, Valued, N, true>(g + row, bits, value, from, squares);
  else if (row + kBits + kLanes > rows.weights) [[unlikely]]  // a whole vector might reach beyond the last weight
    scatter_masked<Measured, Valued, N>(g + row, bits, value, from, squares);
  else
    scatter_vectors<Measured, Valued, N, false>(g + row, bits, value, from, squares);
}

#else

template <bool Valued, int N>
[[gnu::always_inline]] inline void add_row(const double* row, uint32_t bits, double value, V* sums) {
  auto* lanes = reinterpret_cast<double*>(sums);
  for (; bits; bits &= bits - 1) lanes[__builtin_ctz(bits)] += Valued ? value * *row++ : *row++;
}

template <bool Measured, bool Valued, int N>
[[gnu::always_inline]] inline void scatter_row(double* g, int64_t row, const WeightRows&, uint32_t bits, double value,
                                               const V* from, Squares& squares) {
  const auto* lanes = reinterpret_cast<const double*>(from);
  double* weight = g + row;
  double sum = 0;
  for (; bits; bits &= bits - 1) {
    const double change = lanes[__builtin_ctz(bits)];
    scatter_one<Measured>(weight++, Valued ? value * change : change, sum);
  }
  if (Measured) squares.even[0] += sum;
}

#endif

template <bool Valued, int N>
void score_bits(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, theta += rows.labels) {
    V sums[N] = {};
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, k, end, w);
      add_row<Valued, N>(w + weights_at(x.span[k]), static_cast<uint32_t>(x.span[k]), Valued ? x.value[k] : 1.0, sums);
    }
    for (int v = 0; v < N; ++v) store_row(theta, v, rows.labels, sums[v]);
  }
}

template <bool Measured, bool Valued, int N>
double scatter_bits(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                    double* g) {
  const int64_t end = x.begin[last];
  Squares squares;
  for (int64_t t = first; t < last; ++t, mu += rows.labels) {
    V from[N];
    for (int v = 0; v < N; ++v) from[v] = c * load_row(mu, v, rows.labels, 0.0);
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed<true>(x, k, end, g);
      scatter_row<Measured, Valued, N>(g, weights_at(x.span[k]), rows, static_cast<uint32_t>(x.span[k]),
                                       Valued ? x.value[k] : 1.0, from, squares);
    }
  }
  return squares.half();
}

// ---- more labels: a list of columns, whose length is in the span ----

template <bool Valued>
void score_columns(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                   double* theta) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, theta += rows.labels) {
    for (int64_t l = 0; l < rows.labels; ++l) theta[l] = 0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, k, end, w);
      const double value = Valued ? x.value[k] : 1.0;
      const int64_t from = weights_at(x.span[k]);
      const int64_t to = from + static_cast<int64_t>(x.span[k] & kSpanMask);
      for (int64_t j = from; j < to; ++j) theta[rows.column[j]] += Valued ? value * w[j] : w[j];
    }
  }
}

template <bool Measured, bool Valued>
double scatter_columns(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu,
                       double c, double* g) {
  const int64_t end = x.begin[last];
  double sums[2] = {0, 0};  // additions to a single sum would wait for one another
  for (int64_t t = first; t < last; ++t, mu += rows.labels) {
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed<true>(x, k, end, g);
      const double value = Valued ? c * x.value[k] : c;
      const int64_t from = weights_at(x.span[k]);
      const int64_t to = from + static_cast<int64_t>(x.span[k] & kSpanMask);
      int64_t j = from;
      for (; j + 2 <= to; j += 2)
        for (int64_t n = 0; n < 2; ++n) scatter_one<Measured>(g + j + n, value * mu[rows.column[j + n]], sums[n]);
      if (j < to) scatter_one<Measured>(g + j, value * mu[rows.column[j]], sums[0]);
    }
  }
  return 0.5 * (sums[0] + sums[1]);
}

// ---- full rows: an attribute has a weight for every label ----

constexpr int64_t kCacheDoubles = 64 * 1024;  // a table that fits into the L2 cache needs no prefetch

template <bool ToWrite = false>
[[gnu::always_inline]] inline void prefetch_full(const TokenRows& x, int64_t labels, int64_t k, int64_t end,
                                                 const double* w) {
  if (k + kAhead >= end) return;
  const double* row = w + x.index[k + kAhead] * labels;
  for (int64_t at = 0; at < labels; at += 8) __builtin_prefetch(row + at, ToWrite);
}

// Rows are unaligned, so longer vectors would cross cache lines: four doubles, then two, then one.
typedef double V4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double V2 __attribute__((vector_size(16), aligned(8), may_alias));
inline V4& four(double* p) { return *reinterpret_cast<V4*>(p); }
inline V2& two(double* p) { return *reinterpret_cast<V2*>(p); }
inline const V4& four(const double* p) { return *reinterpret_cast<const V4*>(p); }
inline const V2& two(const double* p) { return *reinterpret_cast<const V2*>(p); }

// L labels, known at compile time so a token's scores stay in registers; 0: any number.
template <int L>
void score_full(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  const int64_t labels = L > 0 ? L : rows.labels;
  const int64_t end = rows.attributes * labels > kCacheDoubles ? x.begin[last] : 0;
  const int64_t fours = labels / 4;
  const int64_t pair = labels % 4 >= 2 ? 4 * fours : -1;     // position of two remaining labels
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
