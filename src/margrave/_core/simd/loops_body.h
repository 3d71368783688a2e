// Bodies of the hot loops; included once per instruction set, each time in a file of its own (see loops.h).
// Everything has internal linkage. Only loops.h and intrinsics are used, so that nothing that the linker shares with
// other files is compiled for a newer processor.

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace margrave {
namespace {

constexpr double kInf = __builtin_inf();

// ---- vectors ----

// Several doubles at a time; GCC and Clang lower this to whatever the instruction set has.
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

// Across the lanes, always in the same order.
inline double sum(V x) {
  double total[kLanes / 2];
  for (int k = 0; k < kLanes / 2; ++k) total[k] = x[k] + x[k + kLanes / 2];
  double result = total[0] + total[1];
  for (int k = 2; k < kLanes / 2; k += 2) result += total[k] + total[k + 1];
  return result;
}
inline double max(V x) {
  double top[kLanes / 2];
  for (int k = 0; k < kLanes / 2; ++k) top[k] = x[k] > x[k + kLanes / 2] ? x[k] : x[k + kLanes / 2];
  double result = top[0];
  for (int k = 1; k < kLanes / 2; ++k) result = top[k] > result ? top[k] : result;
  return result;
}
inline double min(V x) { return -max(-x); }

// The last, incomplete vector of a row: n < kLanes values, the rest filled up; nothing beyond them is touched.
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

void settle(double* all, double* own, double* known, int64_t n) {
  for (int64_t k = 0; kLanes * k < n; ++k) {
    const V sum = load_row(all, k, n, 0.0) + (load_row(own, k, n, 0.0) - load_row(known, k, n, 0.0));
    store_row(all, k, n, sum);
    store_row(own, k, n, sum);
    store_row(known, k, n, sum);
  }
}

// ---- Gibbs distributions: natural parameters and marginals of one example, stored in double or single precision ----

typedef float F __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline V load_real(const double* p) { return load(p); }
inline V load_real(const float* p) { return __builtin_convertvector(*reinterpret_cast<const F*>(p), V); }
inline void store_real(double* p, V x) { store(p, x); }
inline void store_real(float* p, V x) { *reinterpret_cast<F*>(p) = __builtin_convertvector(x, F); }
inline V rounded(const double*, V x) { return x; }
inline V rounded(const float*, V x) { return __builtin_convertvector(__builtin_convertvector(x, F), V); }

template <typename Real>
double propose(const Real* t, const double* v, double keep, double add, int64_t n, double* next) {
  V most = all(0.0);
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const V before = load_real(t + k);
    const V after = rounded(t, keep * before + add * load(v + k));
    store(next + k, after);
    most = max(most, max(after - before, before - after));
  }
  double rest = max(most);
  for (; k < n; ++k) {
    const auto before = static_cast<double>(t[k]);
    next[k] = static_cast<double>(static_cast<Real>(keep * before + add * v[k]));
    const double change = next[k] > before ? next[k] - before : before - next[k];
    rest = change > rest ? change : rest;
  }
  return rest;
}

template <typename Real>
Comparison compare(const double* t, const double* v, const double* mu, const Real* before, int64_t n, double* change) {
  V t_mu = all(0.0);
  V v_moved = all(0.0);
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const V now = load(mu + k);
    const V moved = load_real(before + k) - rounded(before, now);
    store(change + k, moved);
    t_mu += load(t + k) * now;
    v_moved -= load(v + k) * moved;
  }
  Comparison sums{sum(t_mu), sum(v_moved)};
  for (; k < n; ++k) {
    change[k] = static_cast<double>(before[k]) - static_cast<double>(static_cast<Real>(mu[k]));
    sums.t_mu += t[k] * mu[k];
    sums.v_moved -= v[k] * change[k];
  }
  return sums;
}

template <typename Real>
void keep(const double* from, int64_t n, Real* to) {
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) store_real(to + k, load(from + k));
  for (; k < n; ++k) to[k] = static_cast<Real>(from[k]);
}

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

// ---- softmax ----

double softmax(const double* theta, int64_t n, double* mu) {
  const int64_t vectors = (n + kLanes - 1) / kLanes;
  V tops = all(-kInf);
  for (int64_t k = 0; k < vectors; ++k) tops = max(tops, load_row(theta, k, n, -kInf));
  const double top = max(tops);
  if (top == -kInf) {
    for (int64_t k = 0; k < n; ++k) mu[k] = 0;
    return -kInf;
  }
  V sums = all(0.0);
  for (int64_t k = 0; k < vectors; ++k) {
    const V e = fast_exp(load_row(theta, k, n, -kInf) - top);
    sums += e;
    store_row(mu, k, n, e);
  }
  const double total = sum(sums);
  for (int64_t k = 0; k < n; ++k) mu[k] /= total;
  return top + __builtin_log(total);
}

// ---- chains ----

struct Range {
  V low = all(kInf);
  V high = all(-kInf);

  void add(V x) {
    high = max(high, x);
    low = min(low, x == -kInf ? all(kInf) : x);
  }
  double top() const { return max(high); }
  double width() const { return max(high) - min(low); }
};

inline V smallest_live(V smallest, V x) { return min(smallest, x > 0.0 ? x : all(kInf)); }

template <int N>
int64_t vectors_of(int64_t labels) {
  return N > 0 ? N : (labels + kLanes - 1) / kLanes;
}

template <int N>
void chain_table(int64_t labels, const double* transitions, ChainTable* out) {
  const int64_t vectors = vectors_of<N>(labels);
  const int64_t width = kLanes * vectors;
  Range range;
  V lowest = all(kInf);
  for (int64_t i = 0; i < labels; ++i)
    for (int64_t k = 0; k < vectors; ++k) {
      const V x = load_row(transitions + i * labels, k, labels, transitions[i * labels]);
      range.add(x);
      lowest = min(lowest, x);
    }
  out->top = range.top();
  out->range = range.width();
  out->forbidden = min(lowest) == -kInf;
  if (out->top == -kInf) return;
  for (int64_t i = 0; i < labels; ++i)
    for (int64_t k = 0; k < vectors; ++k)
      store(out->forward + i * width + kLanes * k,
            fast_exp(load_row(transitions + i * labels, k, labels, -kInf) - out->top));
  for (int64_t j = 0; j < labels; ++j) {
    for (int64_t i = 0; i < labels; ++i) out->backward[j * width + i] = out->forward[i * width + j];
    for (int64_t i = labels; i < width; ++i) out->backward[j * width + i] = 0;
  }
}

// N is the number of vectors of a row of labels if the compiler shall know it, or 0. Padding has probability 0.
template <int N>
bool chain_logsum(int64_t length, int64_t labels, const double* theta, const ChainTable* tables, int64_t stride,
                  double* mu, double* mu_transitions, double* scratch, double* log_z) {
  const int64_t vectors = vectors_of<N>(labels);
  const int64_t width = kLanes * vectors;
  double* emission = scratch;                 // (length, width): exp(theta - max) over the normaliser
  double* alpha = emission + length * width;  // (length, width): forward messages, each summing to 1
  double* pairs = alpha + length * width;     // (labels, width): expected transitions, tied
  double* room = pairs + labels * width;      // (width)

  double shift = 0;  // what was taken out of the exponents
  double scale = 1;  // product of the latest normalisers, whose logs sum to log Z
  bool forbidden = false;
  for (int64_t t = 0; t < length; ++t) {
    const ChainTable* table = t == 0 ? nullptr : tables + (stride == 0 ? 0 : t - 1);
    if (table && table->top == -kInf) return false;
    const double* score = theta + t * labels;
    Range range;
    for (int64_t k = 0; k < vectors; ++k) range.add(load_row(score, k, labels, -kInf));
    const double top = range.top();
    if (!(range.width() + (table ? table->range : 0.0) <= kScaledRange)) return false;
    shift += top + (table ? table->top : 0.0);
    double* e = emission + t * width;
    V lowest = all(kInf);
    for (int64_t k = 0; k < vectors; ++k) {
      const V x = load_row(score, k, labels, -kInf);
      lowest = min(lowest, load_row(score, k, labels, top));
      store(e + kLanes * k, fast_exp(x - top));
    }
    forbidden |= min(lowest) == -kInf || (table && table->forbidden);

    double* a = alpha + t * width;
    V sums = all(0.0);
    V smallest = all(kInf);
    if (t == 0) {
      for (int64_t k = 0; k < vectors; ++k) {
        const V x = load(e + kLanes * k);
        store(a + kLanes * k, x);
        sums += x;
        smallest = smallest_live(smallest, x);
      }
    } else {
      const double* before = a - width;
      V local[N > 0 ? N : 1];
      V* in = N > 0 ? local : reinterpret_cast<V*>(room);
      for (int64_t k = 0; k < vectors; ++k) in[k] = all(0.0);
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k) in[k] += before[i] * load(table->forward + i * width + kLanes * k);
      for (int64_t k = 0; k < vectors; ++k) {
        const V x = in[k] * load(e + kLanes * k);
        store(a + kLanes * k, x);
        sums += x;
        smallest = smallest_live(smallest, x);
      }
    }
    const double total = sum(sums);
    if (!(total > kScaledSmallest)) return false;
    if (forbidden && min(smallest) < kScaledSmallest * total) return false;
    const double inverse = 1 / total;
    for (int64_t k = 0; k < vectors; ++k) {
      store(a + kLanes * k, load(a + kLanes * k) * inverse);
      store(e + kLanes * k, load(e + kLanes * k) * inverse);
    }
    scale *= total;
    if (scale < 1e-90 || scale > 1e90) {
      shift += __builtin_log(scale);
      scale = 1;
    }
  }
  *log_z = shift + __builtin_log(scale);

  // Backward. beta of the last position is 1; v[j] = e[t][j] beta[t][j] / normaliser[t]; the marginal is alpha beta,
  // and a transition's is alpha[t-1][i] M[i][j] v[j].
  if (stride == 0)
    for (int64_t k = 0; k < labels * width; ++k) pairs[k] = 0;
  V local[N > 0 ? N : 1];
  V* beta = N > 0 ? local : reinterpret_cast<V*>(room);
  for (int64_t k = 0; k < vectors; ++k) beta[k] = all(1.0);
  for (int64_t t = length - 1;; --t) {
    const double* a = alpha + t * width;
    for (int64_t k = 0; k < vectors; ++k) store_row(mu + t * labels, k, labels, load(a + kLanes * k) * beta[k]);
    if (t == 0) break;
    const ChainTable& table = tables[stride == 0 ? 0 : t - 1];
    double* v = emission + t * width;
    V smallest = all(kInf);
    V sums = all(0.0);
    for (int64_t k = 0; k < vectors; ++k) {
      const V x = load(v + kLanes * k) * beta[k];
      store(v + kLanes * k, x);
      smallest = smallest_live(smallest, x);
      sums += x;
    }
    if (forbidden && min(smallest) < kScaledSmallest * sum(sums)) return false;
    const double* before = a - width;
    if (stride == 0) {
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k) {
          double* pair = pairs + i * width + kLanes * k;
          store(pair, load(pair) + before[i] * load(v + kLanes * k));
        }
    } else {
      double* pair = mu_transitions + (t - 1) * stride;
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k)
          store_row(pair + i * labels, k, labels,
                    before[i] * load(table.forward + i * width + kLanes * k) * load(v + kLanes * k));
    }
    for (int64_t k = 0; k < vectors; ++k) beta[k] = all(0.0);
    for (int64_t j = 0; j < labels; ++j)
      for (int64_t k = 0; k < vectors; ++k) beta[k] += v[j] * load(table.backward + j * width + kLanes * k);
  }
  if (stride == 0) {
    for (int64_t i = 0; i < labels; ++i)
      for (int64_t k = 0; k < vectors; ++k) {
        const int64_t at = i * width + kLanes * k;
        store_row(mu_transitions + i * labels, k, labels,
                  length < 2 ? all(0.0) : load(pairs + at) * load(tables->forward + at));
      }
  }
  return true;
}

void exp_range(int64_t n, const double* x, ChainTable* table) {
  const int64_t vectors = (n + kLanes - 1) / kLanes;
  Range range;
  V lowest = all(kInf);
  for (int64_t k = 0; k < vectors; ++k) {
    range.add(load_row(x, k, n, -kInf));
    lowest = min(lowest, load_row(x, k, n, kInf));
  }
  table->top = range.top();
  table->range = range.width();
  table->forbidden = min(lowest) == -kInf;
  if (table->top == -kInf) return;
  for (int64_t k = 0; k < vectors; ++k)
    store_row(table->forward, k, n, fast_exp(load_row(x, k, n, -kInf) - table->top));
}

void tuples_forward(int64_t sources, const int64_t* begin, const int32_t* target, const double* x, const double* alpha,
                    double* out) {
  for (int64_t s = 0; s < sources; ++s) {
    const int64_t n = begin[s + 1] - begin[s];
    const double* from = x + begin[s];
    double* to = out + target[s];
    if (alpha[s] == 0) continue;
    for (int64_t k = 0; kLanes * k < n; ++k)
      store_row(to, k, n, load_row(to, k, n, 0.0) + alpha[s] * load_row(from, k, n, 0.0));
  }
}

void tuples_backward(int64_t sources, const int64_t* begin, const int32_t* target, const double* x, const double* v,
                     const double* alpha, double* beta, double* pairs) {
  for (int64_t s = 0; s < sources; ++s) {
    const int64_t n = begin[s + 1] - begin[s];
    const double* weight = x + begin[s];
    const double* after = v + target[s];
    double* pair = pairs + begin[s];
    V sums = all(0.0);
    for (int64_t k = 0; kLanes * k < n; ++k) {
      const V to = load_row(after, k, n, 0.0);
      sums += load_row(weight, k, n, 0.0) * to;
      store_row(pair, k, n, load_row(pair, k, n, 0.0) + alpha[s] * to);
    }
    beta[s] = sum(sums);
  }
}

// Viterbi: top[t][j] = max_i top[t-1][i] + transition[i][j] + theta[t][j]; the first i wins a tie. The second best
// labels leave the best ones for the last time at some t, with some other j: top[t][j] and the rest of the best.
template <int N>
double chain_viterbi(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                     int32_t* best, int32_t* second, double* value_of_second, double* scratch) {
  const int64_t vectors = vectors_of<N>(labels);
  const int64_t width = kLanes * vectors;
  double* back = scratch;                 // (length, width): the best previous label
  double* tops = back + length * width;   // (length, width)
  double* table = tops + length * width;  // (labels, width): transitions, padded with -inf
  double* room = table + labels * width;  // (2, width)
  for (int64_t k = 0; k < vectors; ++k) store(tops + kLanes * k, load_row(theta, k, labels, -kInf));
  for (int64_t t = 1; t < length; ++t) {
    const double* before = tops + (t - 1) * width;
    if (t == 1 || stride != 0) {
      const double* from = transitions + (t - 1) * stride;
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k)
          store(table + i * width + kLanes * k, load_row(from + i * labels, k, labels, -kInf));
    }
    V local[N > 0 ? 2 * N : 1];
    V* top = N > 0 ? local : reinterpret_cast<V*>(room);
    V* from = top + vectors;
    for (int64_t k = 0; k < vectors; ++k) {
      top[k] = all(-kInf);
      from[k] = all(0.0);
    }
    for (int64_t i = 0; i < labels; ++i) {
      const V index = all(static_cast<double>(i));
      for (int64_t k = 0; k < vectors; ++k) {
        const V candidate = before[i] + load(table + i * width + kLanes * k);
        from[k] = candidate > top[k] ? index : from[k];
        top[k] = max(candidate, top[k]);
      }
    }
    for (int64_t k = 0; k < vectors; ++k) {
      store(tops + t * width + kLanes * k, top[k] + load_row(theta + t * labels, k, labels, -kInf));
      store(back + t * width + kLanes * k, from[k]);
    }
  }
  const auto follow = [&](int64_t t, int64_t label, int32_t* path) {
    for (; t >= 0; --t) {
      path[t] = static_cast<int32_t>(label);
      if (t > 0) label = static_cast<int64_t>(back[t * width + label]);
    }
  };
  const double* last = tops + (length - 1) * width;
  int64_t label = 0;
  for (int64_t j = 1; j < labels; ++j)
    if (last[j] > last[label]) label = j;
  follow(length - 1, label, best);
  if (!second) return last[label];
  double rest = 0;  // of the best labels' score, after t and the transition into t + 1
  int64_t leaves_at = -1, leaves_to = 0;
  *value_of_second = -kInf;
  for (int64_t t = length - 1; t >= 0; --t) {
    const double* onwards = t + 1 < length ? transitions + t * stride + best[t + 1] : nullptr;
    for (int64_t j = 0; j < labels; ++j) {
      if (j == best[t]) continue;
      const double value = tops[t * width + j] + (onwards ? onwards[j * labels] : 0.0) + rest;
      if (value > *value_of_second) {
        *value_of_second = value;
        leaves_at = t;
        leaves_to = j;
      }
    }
    rest += theta[t * labels + best[t]] + (onwards ? onwards[best[t] * labels] : 0.0);
  }
  if (leaves_at >= 0) {
    for (int64_t t = leaves_at + 1; t < length; ++t) second[t] = best[t];
    follow(leaves_at, leaves_to, second);
  }
  return last[label];
}

// ---- dispatch on the number of labels ----

using ScoreRows = decltype(Loops::score_rows);
using MoveRows = decltype(Loops::move_rows);
using MakeTable = decltype(Loops::chain_table);
using Logsum = decltype(Loops::chain_logsum);
using Viterbi = decltype(Loops::chain_viterbi);

#define MARGRAVE_1_TO_32(F)                                                     \
  {F<0>,  F<1>,  F<2>,  F<3>,  F<4>,  F<5>,  F<6>,  F<7>,  F<8>,  F<9>,  F<10>, \
   F<11>, F<12>, F<13>, F<14>, F<15>, F<16>, F<17>, F<18>, F<19>, F<20>, F<21>, \
   F<22>, F<23>, F<24>, F<25>, F<26>, F<27>, F<28>, F<29>, F<30>, F<31>, F<32>}
#define MARGRAVE_1_TO_8(F) {F<0>, F<1>, F<2>, F<3>, F<4>, F<5>, F<6>, F<7>, F<8>}

constexpr ScoreRows kScoreFull[] = MARGRAVE_1_TO_32(score_full);
template <int L>
constexpr MoveRows kScatter = scatter_full<false, L>;
template <int L>
constexpr MoveRows kMove = scatter_full<true, L>;
constexpr MoveRows kScatterFull[] = MARGRAVE_1_TO_32(kScatter);
constexpr MoveRows kMoveFull[] = MARGRAVE_1_TO_32(kMove);
constexpr MakeTable kTable[] = MARGRAVE_1_TO_8(chain_table);
constexpr Logsum kLogsum[] = MARGRAVE_1_TO_8(chain_logsum);
constexpr Viterbi kViterbi[] = MARGRAVE_1_TO_8(chain_viterbi);

#undef MARGRAVE_1_TO_32
#undef MARGRAVE_1_TO_8

inline int64_t of_32(int64_t labels) { return labels <= 32 ? labels : 0; }
inline int64_t of_8(int64_t labels) { return labels <= 32 ? (labels + kLanes - 1) / kLanes : 0; }

void score_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  ScoreRows run = kScoreFull[of_32(rows.labels)];
  if (rows.column) run = rows.labels > kBits ? score_columns : x.value ? score_bits<true> : score_bits<false>;
  run(x, rows, first, last, w, theta);
}

template <bool Measured>
double any_scatter(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                   double* g) {
  MoveRows run = (Measured ? kMoveFull : kScatterFull)[of_32(rows.labels)];
  if (rows.column)
    run = rows.labels > kBits ? scatter_columns<Measured>
          : x.value           ? scatter_bits<Measured, true>
                              : scatter_bits<Measured, false>;
  return run(x, rows, first, last, mu, c, g);
}

void scatter_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                  double* g) {
  any_scatter<false>(x, rows, first, last, mu, c, g);
}

double move_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                 double* g) {
  return any_scatter<true>(x, rows, first, last, mu, c, g);
}

void any_chain_table(int64_t labels, const double* transitions, ChainTable* out) {
  kTable[of_8(labels)](labels, transitions, out);
}

bool any_chain_logsum(int64_t length, int64_t labels, const double* theta, const ChainTable* tables, int64_t stride,
                      double* mu, double* mu_transitions, double* scratch, double* log_z) {
  return kLogsum[of_8(labels)](length, labels, theta, tables, stride, mu, mu_transitions, scratch, log_z);
}

double any_chain_viterbi(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                         int32_t* best, int32_t* second, double* value_of_second, double* scratch) {
  return kViterbi[of_8(labels)](length, labels, theta, transitions, stride, best, second, value_of_second, scratch);
}

constexpr Loops loops_named(const char* name) {
  return {name,
          score_rows,
          scatter_rows,
          move_rows,
          dot,
          add_scaled,
          settle,
          propose<double>,
          propose<float>,
          compare<double>,
          compare<float>,
          keep<double>,
          keep<float>,
          softmax,
          any_chain_table,
          any_chain_logsum,
          exp_range,
          tuples_forward,
          tuples_backward,
          any_chain_viterbi};
}

}  // namespace
}  // namespace margrave
