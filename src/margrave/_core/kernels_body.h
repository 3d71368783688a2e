// Bodies of the hot loops; included once per instruction set, each time in another namespace (see kernels.h).
// Everything has internal linkage. No header but kernels.h is used, so that nothing shared is compiled for AVX2.

namespace margrave {
namespace {

constexpr double kInf = __builtin_inf();

// Four doubles at a time; GCC and Clang lower this to whatever the instruction set has.
typedef double V4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t I4 __attribute__((vector_size(32), aligned(8), may_alias));

typedef double V2 __attribute__((vector_size(16), aligned(8), may_alias));

inline V4 all(double x) { return V4{x, x, x, x}; }
inline V4 load(const double* p) { return *reinterpret_cast<const V4*>(p); }
inline void store(double* p, V4 x) { *reinterpret_cast<V4*>(p) = x; }
inline V2 load_pair(const double* p) { return *reinterpret_cast<const V2*>(p); }
inline void store_pair(double* p, V2 x) { *reinterpret_cast<V2*>(p) = x; }
inline V4 max(V4 a, V4 b) { return a > b ? a : b; }
inline V4 min(V4 a, V4 b) { return a < b ? a : b; }
inline double sum(V4 x) { return (x[0] + x[2]) + (x[1] + x[3]); }
inline double max(V4 x) {
  const double a = x[0] > x[1] ? x[0] : x[1];
  const double b = x[2] > x[3] ? x[2] : x[3];
  return a > b ? a : b;
}
inline double min(V4 x) { return -max(-x); }

// The last vector of a row whose n values are no multiple of 4, filled up.
inline V4 load_tail(const double* p, int64_t n, double fill) {
  V4 x = all(fill);
  for (int64_t k = 0; k < n; ++k) x[k] = p[k];
  return x;
}
inline void store_tail(double* p, int64_t n, V4 x) {
  for (int64_t k = 0; k < n; ++k) p[k] = x[k];
}
inline V4 load_row(const double* row, int64_t k, int64_t labels, double fill) {
  return 4 * k + 4 <= labels ? load(row + 4 * k) : load_tail(row + 4 * k, labels - 4 * k, fill);
}
inline void store_row(double* row, int64_t k, int64_t labels, V4 x) {
  if (4 * k + 4 <= labels)
    store(row + 4 * k, x);
  else
    store_tail(row + 4 * k, labels - 4 * k, x);
}

// exp with an error below 2 ulp for x <= 0 or moderately positive; 0 below -708 (and at -inf).
inline V4 fast_exp(V4 x) {
  const V4 bounded = max(x, all(-708.0));
  const V4 magic = all(0x1.8p52);  // adding it rounds to an integer, which the low bits then hold
  const V4 shifted = bounded * 1.4426950408889634 + magic;
  const V4 k = shifted - magic;
  const V4 r = (bounded - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  V4 p = all(1.0 / 6227020800.0);  // Taylor to degree 13: the rest is below 4e-18 for |r| <= ln(2)/2
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
  const I4 exponent = (reinterpret_cast<I4>(shifted) + 1023) << 52;
  const V4 result = p * reinterpret_cast<V4>(exponent);
  return x < -708.0 ? all(0.0) : result;
}

// ---- rows ------------------------------------------------------------------------------------------------------------

// Rows of a table that does not fit the second-level cache are prefetched so many attributes ahead; others never.
constexpr int64_t kAhead = 16;
constexpr int64_t kCacheDoubles = 64 * 1024;

inline void prefetch_packed(const TokenRows& x, const WeightRows& rows, int64_t k, int64_t end, const double* w) {
  if (k + kAhead >= end) return;
  const int64_t at = x.span[k + kAhead] >> kSpanBits;
  __builtin_prefetch(w + at);
  __builtin_prefetch(rows.column + at);
}

template <bool Valued>
void score_packed(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                  double* theta) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, theta += rows.labels) {
    for (int64_t l = 0; l < rows.labels; ++l) theta[l] = 0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, rows, k, end, w);
      const int64_t from = x.span[k] >> kSpanBits;
      const int64_t to = from + (x.span[k] & kSpanMask);
      for (int64_t j = from; j < to; ++j) theta[rows.column[j]] += Valued ? x.value[k] * w[j] : w[j];
    }
  }
}

template <bool Valued>
void scatter_packed(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                    double* g) {
  const int64_t end = x.begin[last];
  for (int64_t t = first; t < last; ++t, mu += rows.labels) {
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_packed(x, rows, k, end, g);
      const double value = Valued ? c * x.value[k] : c;
      const int64_t from = x.span[k] >> kSpanBits;
      const int64_t to = from + (x.span[k] & kSpanMask);
      for (int64_t j = from; j < to; ++j) g[j] += value * mu[rows.column[j]];
    }
  }
}

inline void prefetch_full(const TokenRows& x, int64_t labels, int64_t k, int64_t end, const double* w) {
  if (k + kAhead >= end) return;
  const double* row = w + x.index[k + kAhead] * labels;
  for (int64_t at = 0; at < labels; at += 8) __builtin_prefetch(row + at);
}

// L labels known to the compiler, so that a token's scores stay in registers; or 0: any number.
template <int L>
void score_full(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  const int64_t labels = L > 0 ? L : rows.labels;
  const int64_t end = rows.attributes * labels > kCacheDoubles ? x.begin[last] : 0;
  const int64_t vectors = labels / 4;
  const int64_t pair = labels % 4 >= 2 ? 4 * vectors : -1;      // where the last two of an even number stand
  const int64_t single = labels % 2 == 1 ? labels - 1 : -1;     // the last of an odd one
  for (int64_t t = first; t < last; ++t, theta += labels) {
    V4 local[L >= 4 ? L / 4 : 1];
    V4* sums = L > 0 ? local : reinterpret_cast<V4*>(theta);
    for (int64_t v = 0; v < vectors; ++v) sums[v] = all(0.0);
    V2 pair_sum = {0, 0};
    double single_sum = 0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_full(x, labels, k, end, w);
      const double value = x.value ? x.value[k] : 1.0;
      const double* row = w + x.index[k] * labels;
      for (int64_t v = 0; v < vectors; ++v) sums[v] += value * load(row + 4 * v);
      if (pair >= 0) pair_sum += value * load_pair(row + pair);
      if (single >= 0) single_sum += value * row[single];
    }
    if (L > 0)
      for (int64_t v = 0; v < vectors; ++v) store(theta + 4 * v, sums[v]);
    if (pair >= 0) store_pair(theta + pair, pair_sum);
    if (single >= 0) theta[single] = single_sum;
  }
}

template <int L>
void scatter_full(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                  double* g) {
  const int64_t labels = L > 0 ? L : rows.labels;
  const int64_t end = rows.attributes * labels > kCacheDoubles ? x.begin[last] : 0;
  const int64_t vectors = labels / 4;
  const int64_t pair = labels % 4 >= 2 ? 4 * vectors : -1;
  const int64_t single = labels % 2 == 1 ? labels - 1 : -1;
  for (int64_t t = first; t < last; ++t, mu += labels) {
    V4 local[L >= 4 ? L / 4 : 1];
    if (L > 0)
      for (int64_t v = 0; v < vectors; ++v) local[v] = load(mu + 4 * v);
    const V2 last_pair = pair >= 0 ? load_pair(mu + pair) : V2{0, 0};
    const double last_single = single >= 0 ? mu[single] : 0.0;
    for (int64_t k = x.begin[t]; k < x.begin[t + 1]; ++k) {
      prefetch_full(x, labels, k, end, g);
      const double value = x.value ? c * x.value[k] : c;
      double* row = g + x.index[k] * labels;
      for (int64_t v = 0; v < vectors; ++v)
        store(row + 4 * v, load(row + 4 * v) + value * (L > 0 ? local[v] : load(mu + 4 * v)));
      if (pair >= 0) store_pair(row + pair, load_pair(row + pair) + value * last_pair);
      if (single >= 0) row[single] += value * last_single;
    }
  }
}

double dot(const double* u, const double* v, int64_t n) {
  V4 sums[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
  int64_t k = 0;
  for (; k + 16 <= n; k += 16)
    for (int64_t j = 0; j < 4; ++j) sums[j] += load(u + k + 4 * j) * load(v + k + 4 * j);
  double rest = 0;
  for (; k < n; ++k) rest += u[k] * v[k];
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

// ---- softmax ---------------------------------------------------------------------------------------------------------

double softmax(const double* theta, int64_t n, double* mu) {
  const int64_t vectors = (n + 3) / 4;
  V4 tops = all(-kInf);
  for (int64_t k = 0; k < vectors; ++k) tops = max(tops, load_row(theta, k, n, -kInf));
  const double top = max(tops);
  if (top == -kInf) {
    for (int64_t k = 0; k < n; ++k) mu[k] = 0;
    return -kInf;
  }
  V4 sums = all(0.0);
  for (int64_t k = 0; k < vectors; ++k) {
    const V4 e = fast_exp(load_row(theta, k, n, -kInf) - top);
    sums += e;
    store_row(mu, k, n, e);
  }
  const double total = sum(sums);
  for (int64_t k = 0; k < n; ++k) mu[k] /= total;
  return top + __builtin_log(total);
}

// ---- chains ----------------------------------------------------------------------------------------------------------

// Scaled space is exact while no product can underflow. Scores of one position and its transitions may differ by this
// much in all (1e-100 as a factor) ...
constexpr double kRange = 230.0;
// ... and where -inf may starve a state, no live one may fall below this share of its position.
constexpr double kSmallest = 1e-200;

struct Range {
  V4 low = all(kInf);
  V4 high = all(-kInf);

  void add(V4 x) {
    high = max(high, x);
    low = min(low, x == -kInf ? all(kInf) : x);
  }
  double top() const { return max(high); }
  double width() const { return max(high) - min(low); }
};

inline V4 smallest_live(V4 smallest, V4 x) { return min(smallest, x > 0.0 ? x : all(kInf)); }

// N is the number of vectors of four labels if the compiler shall know it, or 0. Padding has probability 0.
template <int N>
bool chain_logsum(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                  double* mu, double* mu_transitions, double* scratch, double* log_z) {
  const int64_t vectors = N > 0 ? N : padded(labels) / 4;
  const int64_t width = 4 * vectors;
  const int64_t square = width * width;
  const int64_t tables = length < 2 ? 0 : stride == 0 ? 1 : length - 1;
  double* emission = scratch;                    // (length, width): exp(theta - max) over the normaliser
  double* alpha = emission + length * width;     // (length, width): forward messages, each summing to 1
  double* forward = alpha + length * width;      // (tables, width, width): exp(transition - max), [from][to]
  double* backward = forward + tables * square;  // the same, [to][from]
  double* pairs = backward + tables * square;    // (width, width): expected transitions, tied
  double* room = pairs + square;                 // (width)

  double shift = 0;  // what was taken out of the exponents
  double widest = 0;
  bool forbidden = false;
  for (int64_t m = 0; m < tables; ++m) {
    const double* table = transitions + m * stride;
    Range range;
    for (int64_t i = 0; i < labels; ++i)
      for (int64_t k = 0; k < vectors; ++k) {
        const V4 x = load_row(table + i * labels, k, labels, table[i * labels]);
        range.add(x);
        forbidden |= min(x) == -kInf;
      }
    const double top = range.top();
    if (top == -kInf) return false;
    widest = range.width() > widest ? range.width() : widest;
    shift += top * static_cast<double>(stride == 0 ? length - 1 : 1);
    double* to = forward + m * square;
    double* from = backward + m * square;
    for (int64_t k = labels * width; k < square; ++k) to[k] = from[k] = 0;
    for (int64_t i = 0; i < labels; ++i)
      for (int64_t k = 0; k < vectors; ++k)
        store(to + i * width + 4 * k, fast_exp(load_row(table + i * labels, k, labels, -kInf) - top));
    for (int64_t i = 0; i < width; ++i)
      for (int64_t j = 0; j < labels; ++j) from[j * width + i] = to[i * width + j];
  }
  const int64_t table_step = stride == 0 ? 0 : square;

  double scale = 1;  // product of the latest normalisers, whose logs sum to log Z
  for (int64_t t = 0; t < length; ++t) {
    const double* score = theta + t * labels;
    Range range;
    for (int64_t k = 0; k < vectors; ++k) range.add(load_row(score, k, labels, -kInf));
    const double top = range.top();
    if (!(range.width() + widest <= kRange)) return false;
    shift += top;
    double* e = emission + t * width;
    for (int64_t k = 0; k < vectors; ++k) store(e + 4 * k, fast_exp(load_row(score, k, labels, -kInf) - top));
    for (int64_t j = 0; j < labels; ++j) forbidden |= e[j] == 0;

    double* a = alpha + t * width;
    if (t == 0) {
      for (int64_t k = 0; k < vectors; ++k) store(a + 4 * k, load(e + 4 * k));
    } else {
      const double* before = a - width;
      const double* table = forward + (t - 1) * table_step;
      V4 local[N > 0 ? N : 1];
      V4* sums = N > 0 ? local : reinterpret_cast<V4*>(room);
      for (int64_t k = 0; k < vectors; ++k) sums[k] = all(0.0);
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k) sums[k] += before[i] * load(table + i * width + 4 * k);
      for (int64_t k = 0; k < vectors; ++k) store(a + 4 * k, sums[k] * load(e + 4 * k));
    }
    V4 sums = all(0.0);
    for (int64_t k = 0; k < vectors; ++k) sums += load(a + 4 * k);
    const double total = sum(sums);
    if (!(total > kSmallest)) return false;
    if (forbidden) {
      V4 smallest = all(kInf);
      for (int64_t k = 0; k < vectors; ++k) smallest = smallest_live(smallest, load(a + 4 * k));
      if (min(smallest) < kSmallest * total) return false;
    }
    const double inverse = 1 / total;
    for (int64_t k = 0; k < vectors; ++k) {
      store(a + 4 * k, load(a + 4 * k) * inverse);
      store(e + 4 * k, load(e + 4 * k) * inverse);
    }
    scale *= total;
    if (scale < 1e-90 || scale > 1e90) {
      shift += __builtin_log(scale);
      scale = 1;
    }
  }
  *log_z = shift + __builtin_log(scale);

  // Backward. beta of the last position is 1; v[j] = e[t][j] beta[t][j] / normaliser[t]; the marginal is alpha beta, and
  // a transition's is alpha[t-1][i] M[i][j] v[j].
  if (stride == 0)
    for (int64_t k = 0; k < square; ++k) pairs[k] = 0;
  V4 local[N > 0 ? N : 1];
  V4* beta = N > 0 ? local : reinterpret_cast<V4*>(room);
  for (int64_t k = 0; k < vectors; ++k) beta[k] = all(1.0);
  for (int64_t t = length - 1;; --t) {
    const double* a = alpha + t * width;
    for (int64_t k = 0; k < vectors; ++k) store_row(mu + t * labels, k, labels, load(a + 4 * k) * beta[k]);
    if (t == 0) break;
    double* v = emission + t * width;
    V4 smallest = all(kInf);
    V4 sums = all(0.0);
    for (int64_t k = 0; k < vectors; ++k) {
      const V4 x = load(v + 4 * k) * beta[k];
      store(v + 4 * k, x);
      smallest = smallest_live(smallest, x);
      sums += x;
    }
    if (forbidden && min(smallest) < kSmallest * sum(sums)) return false;
    const double* before = a - width;
    const double* table = backward + (t - 1) * table_step;
    if (stride == 0) {
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k) {
          double* pair = pairs + i * width + 4 * k;
          store(pair, load(pair) + before[i] * load(v + 4 * k));
        }
    } else {
      const double* m = forward + (t - 1) * table_step;
      double* pair = mu_transitions + (t - 1) * stride;
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k)
          store_row(pair + i * labels, k, labels, before[i] * load(m + i * width + 4 * k) * load(v + 4 * k));
    }
    for (int64_t k = 0; k < vectors; ++k) beta[k] = all(0.0);
    for (int64_t j = 0; j < labels; ++j)
      for (int64_t k = 0; k < vectors; ++k) beta[k] += v[j] * load(table + j * width + 4 * k);
  }
  if (stride == 0) {
    for (int64_t i = 0; i < labels; ++i)
      for (int64_t j = 0; j < labels; ++j)
        mu_transitions[i * labels + j] = tables == 0 ? 0 : pairs[i * width + j] * forward[i * width + j];
  }
  return true;
}

// Viterbi: best[t][j] = max_i best[t-1][i] + transition[i][j] + theta[t][j]; the first i wins a tie.
template <int N>
double chain_viterbi(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                     int32_t* best, double* scratch) {
  const int64_t vectors = N > 0 ? N : padded(labels) / 4;
  const int64_t width = 4 * vectors;
  double* back = scratch;                     // (length, width): the best previous label
  double* table = back + length * width;      // (width, width): transitions, padded with -inf
  double* now = table + width * width;        // (width)
  double* room = now + width;                 // (2, width)
  for (int64_t k = 0; k < vectors; ++k) store(now + 4 * k, load_row(theta, k, labels, -kInf));
  for (int64_t t = 1; t < length; ++t) {
    if (t == 1 || stride != 0) {
      const double* from = transitions + (t - 1) * stride;
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k)
          store(table + i * width + 4 * k, load_row(from + i * labels, k, labels, -kInf));
    }
    V4 local[N > 0 ? 2 * N : 1];
    V4* top = N > 0 ? local : reinterpret_cast<V4*>(room);
    V4* from = top + vectors;
    for (int64_t k = 0; k < vectors; ++k) {
      top[k] = all(-kInf);
      from[k] = all(0.0);
    }
    for (int64_t i = 0; i < labels; ++i) {
      const V4 index = all(static_cast<double>(i));
      for (int64_t k = 0; k < vectors; ++k) {
        const V4 candidate = now[i] + load(table + i * width + 4 * k);
        from[k] = candidate > top[k] ? index : from[k];
        top[k] = max(candidate, top[k]);
      }
    }
    for (int64_t k = 0; k < vectors; ++k) {
      store(now + 4 * k, top[k] + load_row(theta + t * labels, k, labels, -kInf));
      store(back + t * width + 4 * k, from[k]);
    }
  }
  int64_t label = 0;
  for (int64_t j = 1; j < labels; ++j)
    if (now[j] > now[label]) label = j;
  const double value = now[label];
  for (int64_t t = length - 1; t >= 0; --t) {
    best[t] = static_cast<int32_t>(label);
    if (t > 0) label = static_cast<int64_t>(back[t * width + label]);
  }
  return value;
}

// ---- dispatch on the number of labels --------------------------------------------------------------------------------

using ScoreRows = decltype(Kernels::score_rows);
using ScatterRows = decltype(Kernels::scatter_rows);
using ChainLogsum = decltype(Kernels::chain_logsum);
using ChainViterbi = decltype(Kernels::chain_viterbi);

#define MARGRAVE_1_TO_32(F)                                                                                        \
  {F<0>,  F<1>,  F<2>,  F<3>,  F<4>,  F<5>,  F<6>,  F<7>,  F<8>,  F<9>,  F<10>, F<11>, F<12>, F<13>, F<14>, F<15>, \
   F<16>, F<17>, F<18>, F<19>, F<20>, F<21>, F<22>, F<23>, F<24>, F<25>, F<26>, F<27>, F<28>, F<29>, F<30>, F<31>, \
   F<32>}

constexpr ScoreRows kScoreFull[] = MARGRAVE_1_TO_32(score_full);
constexpr ScatterRows kScatterFull[] = MARGRAVE_1_TO_32(scatter_full);
constexpr ChainLogsum kLogsum[] = {chain_logsum<0>, chain_logsum<1>, chain_logsum<2>, chain_logsum<3>, chain_logsum<4>,
                                   chain_logsum<5>, chain_logsum<6>, chain_logsum<7>, chain_logsum<8>};
constexpr ChainViterbi kViterbi[] = {chain_viterbi<0>, chain_viterbi<1>, chain_viterbi<2>, chain_viterbi<3>,
                                     chain_viterbi<4>, chain_viterbi<5>, chain_viterbi<6>, chain_viterbi<7>,
                                     chain_viterbi<8>};

#undef MARGRAVE_1_TO_32

void score_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  const ScoreRows packed = x.value ? score_packed<true> : score_packed<false>;
  const ScoreRows run = rows.column ? packed : kScoreFull[rows.labels <= 32 ? rows.labels : 0];
  run(x, rows, first, last, w, theta);
}

void scatter_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                  double* g) {
  const ScatterRows packed = x.value ? scatter_packed<true> : scatter_packed<false>;
  const ScatterRows run = rows.column ? packed : kScatterFull[rows.labels <= 32 ? rows.labels : 0];
  run(x, rows, first, last, mu, c, g);
}

bool any_chain_logsum(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                      double* mu, double* mu_transitions, double* scratch, double* log_z) {
  const ChainLogsum run = kLogsum[labels <= 32 ? padded(labels) / 4 : 0];
  return run(length, labels, theta, transitions, stride, mu, mu_transitions, scratch, log_z);
}

double any_chain_viterbi(int64_t length, int64_t labels, const double* theta, const double* transitions,
                         int64_t stride, int32_t* best, double* scratch) {
  const ChainViterbi run = kViterbi[labels <= 32 ? padded(labels) / 4 : 0];
  return run(length, labels, theta, transitions, stride, best, scratch);
}

}  // namespace
}  // namespace margrave
