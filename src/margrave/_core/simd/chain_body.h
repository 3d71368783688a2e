// Softmax, and dynamic programming over label sequences (see loops_body.h).
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

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

// The scores of a position as exp(theta - top). False if their range, with that of the transitions into it, is too
// large for scaled probabilities.
inline bool exp_scores(int64_t labels, int64_t vectors, const double* score, double range_of_table, double* e,
                       double* top, bool* forbidden) {
  Range range;
  for (int64_t k = 0; k < vectors; ++k) range.add(load_row(score, k, labels, -kInf));
  *top = range.top();
  if (!(range.width() + range_of_table <= kScaledRange)) return false;
  V lowest = all(kInf);
  for (int64_t k = 0; k < vectors; ++k) {
    lowest = min(lowest, load_row(score, k, labels, *top));
    store(e + kLanes * k, fast_exp(load_row(score, k, labels, -kInf) - *top));
  }
  *forbidden |= min(lowest) == -kInf;
  return true;
}

// Multiplies a message by the scores of its position, divides by the sum, and returns the sum. Returns 0 if the sum is
// too small or, where states may be forbidden, a live state is.
inline double scaled_message(int64_t vectors, const double* message, const double* e, bool forbidden, double* out) {
  V sums = all(0.0);
  V smallest = all(kInf);
  for (int64_t k = 0; k < vectors; ++k) {
    const V x = load(message + kLanes * k) * load(e + kLanes * k);
    store(out + kLanes * k, x);
    sums += x;
    smallest = smallest_live(smallest, x);
  }
  const double total = sum(sums);
  if (!(total > kScaledSmallest) || (forbidden && min(smallest) < kScaledSmallest * total)) return 0;
  const double inverse = 1 / total;
  for (int64_t k = 0; k < vectors; ++k) store(out + kLanes * k, load(out + kLanes * k) * inverse);
  return total;
}

template <int N>
int64_t vectors_of(int64_t labels) {
  return N > 0 ? N : (labels + kLanes - 1) / kLanes;
}

// ---- many labels ----
//
// Up to 32 labels, a row stays in registers. With more (N = 0), blocks of a row do, while the table streams past them.

// out[j] = sum_i x[i] table[i][j] for all columns, in the order of i.
template <int B>
void row_times_table_block(int64_t labels, int64_t width, const double* x, const double* table, double* out) {
  V sums[B];
  for (int b = 0; b < B; ++b) sums[b] = all(0.0);
  for (int64_t i = 0; i < labels; ++i)
    for (int b = 0; b < B; ++b) sums[b] += x[i] * load(table + i * width + kLanes * b);
  for (int b = 0; b < B; ++b) store(out + kLanes * b, sums[b]);
}

// Each addition waits for the one before, so a block of few vectors takes as long as a larger one. The blocks of a row
// therefore have about equal size.
void row_times_table(int64_t labels, int64_t vectors, const double* x, const double* table, double* out) {
  using Block = void (*)(int64_t, int64_t, const double*, const double*, double*);
  constexpr Block kBlocks[] = {row_times_table_block<1>,  row_times_table_block<2>,  row_times_table_block<3>,
                               row_times_table_block<4>,  row_times_table_block<5>,  row_times_table_block<6>,
                               row_times_table_block<7>,  row_times_table_block<8>,  row_times_table_block<9>,
                               row_times_table_block<10>, row_times_table_block<11>, row_times_table_block<12>};
  constexpr int64_t kLargest = 12;  // with the factors, 16 registers suffice
  int64_t k = 0;
  for (int64_t blocks = (vectors + kLargest - 1) / kLargest; blocks > 0; --blocks) {
    const int64_t size = (vectors - k + blocks - 1) / blocks;
    kBlocks[size - 1](labels, kLanes * vectors, x, table + kLanes * k, out + kLanes * k);
    k += size;
  }
}

// out[i] = sum_j table[i][j] v[j] and mu[i][j] = x[i] table[i][j] v[j] for R rows.
template <int R>
void table_times_column_block(int64_t labels, int64_t vectors, const double* table, const double* v, double* out,
                              const double* x, double* mu) {
  V sums[R];
  for (int r = 0; r < R; ++r) sums[r] = all(0.0);
  for (int64_t k = 0; k < vectors; ++k)
    for (int r = 0; r < R; ++r) {
      const V product = load(table + r * kLanes * vectors + kLanes * k) * load(v + kLanes * k);
      sums[r] += product;
      store_row(mu + r * labels, k, labels, x[r] * product);
    }
  for (int r = 0; r < R; ++r) out[r] = sum(sums[r]);
}

void table_times_column(int64_t labels, int64_t vectors, const double* table, const double* v, double* out,
                        const double* x, double* mu) {
  int64_t i = 0;
  const auto rows = [&]<int R>() {  // at once
    for (; i + R <= labels; i += R)
      table_times_column_block<R>(labels, vectors, table + i * kLanes * vectors, v, out + i, x + i, mu + i * labels);
  };
  rows.template operator()<2>();
  rows.template operator()<1>();
}

// One step forward and one backward with the same table, reading every entry once:
// ahead[j] = sum_i x[i] table[i][j] and behind[i] += sum_j table[i][j] y[j], for R rows and B vectors of columns.
template <int R, int B>
inline void both_products_rows(int64_t width, const double* table, const double* x, const V (&y)[B], V (&ahead)[B],
                               double* behind) {
  V sums[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    const V source = all(x[r]);
    sums[r] = all(0.0);
#pragma GCC unroll 16
    for (int b = 0; b < B; ++b) {
      V entries = load(table + r * width + kLanes * b);
#ifdef __AVX512F__
      __asm__("" : "+v"(entries));  // otherwise the compiler reads them twice
#endif
      ahead[b] += source * entries;
      sums[r] += entries * y[b];
    }
  }
  if constexpr (R == 4)
    add_sums(sums, behind);
  else
    for (int r = 0; r < R; ++r) behind[r] += sum(sums[r]);
}

template <int B>
void both_products_block(int64_t labels, int64_t width, const double* table, const double* x, const double* y,
                         double* ahead, double* behind) {
  V columns[B];
  V sums[B];
  for (int b = 0; b < B; ++b) {
    columns[b] = load(y + kLanes * b);
    sums[b] = all(0.0);
  }
  int64_t i = 0;
  for (; i + 4 <= labels; i += 4) both_products_rows<4, B>(width, table + i * width, x + i, columns, sums, behind + i);
  for (; i < labels; ++i) both_products_rows<1, B>(width, table + i * width, x + i, columns, sums, behind + i);
  for (int b = 0; b < B; ++b) store(ahead + kLanes * b, sums[b]);
}

void both_products(int64_t labels, int64_t vectors, const double* table, const double* x, const double* y,
                   double* ahead, double* behind) {
  using Block = void (*)(int64_t, int64_t, const double*, const double*, const double*, double*, double*);
#ifdef __AVX512F__
  constexpr Block kBlocks[] = {both_products_block<1>,  both_products_block<2>,  both_products_block<3>,
                               both_products_block<4>,  both_products_block<5>,  both_products_block<6>,
                               both_products_block<7>,  both_products_block<8>,  both_products_block<9>,
                               both_products_block<10>, both_products_block<11>, both_products_block<12>};
#else  // 16 registers
  constexpr Block kBlocks[] = {both_products_block<1>, both_products_block<2>, both_products_block<3>,
                               both_products_block<4>};
#endif
  constexpr int64_t kLargest = sizeof(kBlocks) / sizeof(kBlocks[0]);
  const int64_t width = kLanes * vectors;
  for (int64_t i = 0; i < width; ++i) behind[i] = 0;
  int64_t k = 0;
  for (int64_t blocks = (vectors + kLargest - 1) / kLargest; blocks > 0; --blocks) {
    const int64_t size = (vectors - k + blocks - 1) / blocks;
    const int64_t at = kLanes * k;
    kBlocks[size - 1](labels, width, table + at, x, y + at, ahead + at, behind);
    k += size;
  }
}

// mu[i][j] = table[i][j] sum_t alpha[t][i] v[t + 1][j] over `steps` steps, with R rows and B vectors of columns in
// registers.
template <int R, int B>
void outer_products_block(int64_t steps, int64_t width, const double* alpha, const double* v, V (&sums)[R][B]) {
  for (int r = 0; r < R; ++r)
    for (int b = 0; b < B; ++b) sums[r][b] = all(0.0);
  for (int64_t t = 0; t < steps; ++t, alpha += width, v += width) {
    V columns[B];
    for (int b = 0; b < B; ++b) columns[b] = load(v + kLanes * b);
    for (int r = 0; r < R; ++r)
      for (int b = 0; b < B; ++b) sums[r][b] += alpha[r] * columns[b];
  }
}

template <int R, int B>
void outer_products_at(int64_t steps, int64_t labels, int64_t width, int64_t i, int64_t k, const double* alpha,
                       const double* v, const double* table, double* mu) {
  V sums[R][B];
  outer_products_block<R, B>(steps, width, alpha + i, v + kLanes * k, sums);
  for (int r = 0; r < R; ++r)
    for (int b = 0; b < B; ++b)
      store_row(mu + (i + r) * labels, k + b, labels, sums[r][b] * load(table + (i + r) * width + kLanes * (k + b)));
}

template <int R>
void outer_products_rows(int64_t steps, int64_t labels, int64_t vectors, int64_t i, const double* alpha,
                         const double* v, const double* table, double* mu) {
  const int64_t width = kLanes * vectors;
  int64_t k = 0;
  const auto columns = [&]<int B>() {  // at once
    for (; k + B <= vectors; k += B) outer_products_at<R, B>(steps, labels, width, i, k, alpha, v, table, mu);
  };
  if (R == 1) columns.template operator()<8>();
  columns.template operator()<3>();
  columns.template operator()<2>();
  columns.template operator()<1>();
}

void outer_products(int64_t steps, int64_t labels, int64_t vectors, const double* alpha, const double* v,
                    const double* table, double* mu) {
  int64_t i = 0;
  for (; i + 4 <= labels; i += 4) outer_products_rows<4>(steps, labels, vectors, i, alpha, v, table, mu);
  for (; i < labels; ++i) outer_products_rows<1>(steps, labels, vectors, i, alpha, v, table, mu);
}

template <int N>
void transpose(int64_t labels, ChainTable* out) {
  if (N == 0) return;  // with many labels, the rows of `forward` serve both directions
  const int64_t width = kLanes * vectors_of<N>(labels);
  for (int64_t j = 0; j < labels; ++j) {
    for (int64_t i = 0; i < labels; ++i) out->backward[j * width + i] = out->forward[i * width + j];
    for (int64_t i = labels; i < width; ++i) out->backward[j * width + i] = 0;
  }
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
  transpose<N>(labels, out);
}

template <int N>
void chain_table_listed(int64_t labels, const int32_t* list, int64_t n, const double* scores, double* room,
                        ChainTable* out) {
  const int64_t vectors = vectors_of<N>(labels);
  const int64_t width = kLanes * vectors;
  const int64_t listed = (n + kLanes - 1) / kLanes;
  Range range;
  if (n < labels * labels) range.add(all(0.0));
  for (int64_t k = 0; k < listed; ++k) range.add(load_row(scores, k, n, scores[0]));
  out->top = range.top();
  out->range = range.width();
  out->forbidden = false;
  for (int64_t k = 0; k < listed; ++k) store_row(room, k, n, fast_exp(load_row(scores, k, n, 0.0) - out->top));
  const V other = fast_exp(all(-out->top));
  int64_t k = 0;
  for (int64_t i = 0; i < labels; ++i) {
    double* row = out->forward + i * width;
    for (int64_t v = 0; v < vectors; ++v) store(row + kLanes * v, other);
    for (int64_t j = labels; j < width; ++j) row[j] = 0;
    for (; k < n && list[k] < (i + 1) * labels; ++k) row[list[k] - i * labels] = room[k];
  }
  transpose<N>(labels, out);
}

// Forward-backward with many labels and one table, too large for the L1 cache. The messages forward to position t and
// backward to position length - 1 - t are computed together. Messages of both directions, with the scores of their
// positions, sum to 1: alpha[t] forward and v[t] backward. With beta[t] = M v[t + 1], or 1 at the end, and z[t] =
// <alpha[t], beta[t]>,
//
//   mu[t] = alpha[t] beta[t] / z[t],   mu[t, t + 1] = alpha[t] M v[t + 1] / z[t].
bool chain_logsum_both_ways(int64_t length, int64_t labels, const double* theta, const ChainTable& table, double* mu,
                            double* mu_transitions, double* scratch, double* log_z) {
  const int64_t vectors = vectors_of<0>(labels);
  const int64_t width = kLanes * vectors;
  double* emission = scratch;                 // (length, width): exp(theta - max)
  double* alpha = emission + length * width;  // (length, width)
  double* v = alpha + length * width;         // (length, width)
  double* ahead = v + length * width;         // (width)
  double* behind = ahead + width;             // (width): beta
  if (length > 1 && table.top == -kInf) return false;
  double shift = static_cast<double>(length - 1) * table.top;  // sum of the maxima taken out of exponents
  double scale = 1;  // product of the latest normalizers, whose logs sum to log Z
  bool forbidden = length > 1 && table.forbidden;
  for (int64_t t = 0; t < length; ++t) {
    double top;
    if (!exp_scores(labels, vectors, theta + t * labels, t > 0 ? table.range : 0.0, emission + t * width, &top,
                    &forbidden))
      return false;
    shift += top;
  }
  const auto forward = [&](int64_t t) {
    const double total = scaled_message(vectors, ahead, emission + t * width, forbidden, alpha + t * width);
    scale *= total;
    if (scale < 1e-90 || scale > 1e90) {
      shift += __builtin_log(scale);
      scale = 1;
    }
    return total > 0;
  };
  const auto backward = [&](int64_t t) {  // to v[t], after storing beta[t] in place of the marginals
    for (int64_t k = 0; k < vectors; ++k) store_row(mu + t * labels, k, labels, load(behind + kLanes * k));
    return t == 0 || scaled_message(vectors, behind, emission + t * width, forbidden, v + t * width) > 0;
  };
  for (int64_t k = 0; k < vectors; ++k) {
    store(ahead + kLanes * k, all(1.0));
    store(behind + kLanes * k, all(1.0));
  }
  if (!forward(0) || !backward(length - 1)) return false;
  for (int64_t t = 1; t < length; ++t) {
    both_products(labels, vectors, table.forward, alpha + (t - 1) * width, v + (length - t) * width, ahead, behind);
    if (!forward(t) || !backward(length - 1 - t)) return false;
  }
  *log_z = shift + __builtin_log(scale);

  for (int64_t t = 0; t < length; ++t) {
    const double* a = alpha + t * width;
    double* row = mu + t * labels;
    V sums = all(0.0);
    for (int64_t k = 0; k < vectors; ++k) {
      const V x = load(a + kLanes * k) * load_row(row, k, labels, 0.0);
      store_row(row, k, labels, x);
      sums += x;
    }
    const double z = sum(sums);
    if (!(z > kScaledSmallest)) return false;
    const double inverse = 1 / z;
    for (int64_t k = 0; k < vectors; ++k) store_row(row, k, labels, load_row(row, k, labels, 0.0) * inverse);
    if (t + 1 == length) break;
    double* after = v + (t + 1) * width;
    for (int64_t k = 0; k < vectors; ++k) store(after + kLanes * k, load(after + kLanes * k) * inverse);
  }
  outer_products(length - 1, labels, vectors, alpha, v + width, table.forward, mu_transitions);
  return true;
}

// N is the number of vectors of a row of labels if known at compile time, else 0. Padding has probability 0.
template <int N>
bool chain_logsum(int64_t length, int64_t labels, const double* theta, const ChainTable* tables, int64_t stride,
                  double* mu, double* mu_transitions, double* scratch, double* log_z) {
  if (N == 0 && stride == 0)
    return chain_logsum_both_ways(length, labels, theta, *tables, mu, mu_transitions, scratch, log_z);
  const int64_t vectors = vectors_of<N>(labels);
  const int64_t width = kLanes * vectors;
  double* emission = scratch;                 // (length, width): exp(theta - max) over the normalizer
  double* alpha = emission + length * width;  // (length, width): forward messages, each summing to 1
  double* pairs = alpha + length * width;     // (labels, width): expected transitions, tied
  double* room = pairs + labels * width;      // (width)

  double shift = 0;  // sum of the maxima taken out of exponents
  double scale = 1;  // product of the latest normalizers, whose logs sum to log Z
  bool forbidden = false;
  for (int64_t t = 0; t < length; ++t) {
    const ChainTable* table = t == 0 ? nullptr : tables + (stride == 0 ? 0 : t - 1);
    if (table && table->top == -kInf) return false;
    double* e = emission + t * width;
    double top;
    if (!exp_scores(labels, vectors, theta + t * labels, table ? table->range : 0.0, e, &top, &forbidden)) return false;
    shift += top + (table ? table->top : 0.0);
    forbidden |= table && table->forbidden;

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
      const V* in = N > 0 ? local : reinterpret_cast<const V*>(room);
      if constexpr (N == 0) {
        row_times_table(labels, vectors, before, table->forward, room);
      } else {
        for (int64_t k = 0; k < vectors; ++k) local[k] = all(0.0);
        for (int64_t i = 0; i < labels; ++i)
          for (int64_t k = 0; k < vectors; ++k) local[k] += before[i] * load(table->forward + i * width + kLanes * k);
      }
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

  // Backward. beta of the last position is 1; v[j] = e[t][j] beta[t][j] / normalizer[t]. The marginal of a label is
  // alpha beta, and that of a transition alpha[t-1][i] M[i][j] v[j].
  if (N > 0 && stride == 0)
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
    if constexpr (N == 0) {
      table_times_column(labels, vectors, table.forward, v, room, before, mu_transitions + (t - 1) * stride);
      continue;
    }
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
  if (N > 0 && stride == 0) {
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

// With many labels: top[j] = max_i before[i] + table[i][j], and the first i that attains it.
template <int B>
void best_sources_block(int64_t labels, int64_t width, const double* before, const double* table, double* tops,
                        double* back) {
  V top[B];
  V from[B];
  for (int b = 0; b < B; ++b) {
    top[b] = all(-kInf);
    from[b] = all(0.0);
  }
  for (int64_t i = 0; i < labels; ++i) {
    const V index = all(static_cast<double>(i));
    for (int b = 0; b < B; ++b) {
      const V candidate = before[i] + load(table + i * width + kLanes * b);
      from[b] = candidate > top[b] ? index : from[b];
      top[b] = max(candidate, top[b]);
    }
  }
  for (int b = 0; b < B; ++b) {
    store(tops + kLanes * b, top[b]);
    store(back + kLanes * b, from[b]);
  }
}

void best_sources(int64_t labels, int64_t vectors, const double* before, const double* table, double* tops,
                  double* back) {
  const int64_t width = kLanes * vectors;
  int64_t at = 0;
  for (; at + 4 * kLanes <= width; at += 4 * kLanes)
    best_sources_block<4>(labels, width, before, table + at, tops + at, back + at);
  for (; at < width; at += kLanes) best_sources_block<1>(labels, width, before, table + at, tops + at, back + at);
}

// Viterbi: top[t][j] = max_i top[t-1][i] + transition[i][j] + theta[t][j]; the first i wins a tie. The second best
// labels leave the best ones for the last time at some t, for some other j: top[t][j] plus the rest of the best.
template <int N>
double chain_viterbi(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                     int32_t* best, int32_t* second, double* value_of_second, double* scratch) {
  const int64_t vectors = vectors_of<N>(labels);
  const int64_t width = kLanes * vectors;
  double* back = scratch;                 // (length, width): the best previous label
  double* tops = back + length * width;   // (length, width)
  double* table = tops + length * width;  // (labels, width): transitions, padded with -inf
  for (int64_t k = 0; k < vectors; ++k) store(tops + kLanes * k, load_row(theta, k, labels, -kInf));
  for (int64_t t = 1; t < length; ++t) {
    const double* before = tops + (t - 1) * width;
    if (t == 1 || stride != 0) {
      const double* from = transitions + (t - 1) * stride;
      for (int64_t i = 0; i < labels; ++i)
        for (int64_t k = 0; k < vectors; ++k)
          store(table + i * width + kLanes * k, load_row(from + i * labels, k, labels, -kInf));
    }
    if constexpr (N == 0) {
      best_sources(labels, vectors, before, table, tops + t * width, back + t * width);
      for (int64_t k = 0; k < vectors; ++k) {
        double* top = tops + t * width + kLanes * k;
        store(top, load(top) + load_row(theta + t * labels, k, labels, -kInf));
      }
      continue;
    }
    V top[N > 0 ? N : 1];
    V from[N > 0 ? N : 1];
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
  double rest = 0;  // score of the best labels after t, with the transition into t + 1
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

}  // namespace
}  // namespace margrave
