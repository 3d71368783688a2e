// Chains in lock-step: the same step of kLockStep label sequences at once, one in each lane (see loops_body.h).
//
// The values of a position are stored as (label, lane). The product of the transition table with a vector becomes one
// with a matrix, and each table entry is read once for all lanes. Only the sum of the expected transitions crosses
// lanes, so the result for a sequence does not depend on the other lanes. Positions beyond the end of a lane's sequence
// have emissions of 1, and nothing is read from them.
#pragma once

#include "simd/chain_body.h"
#include "simd/lanes.h"

namespace margrave {
namespace {

constexpr int kGroups = kLockStep / kLanes;  // vectors per row of lanes

inline V interleave_low(V a, V b) {
#ifdef __AVX512F__
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
inline V interleave_high(V a, V b) {
#ifdef __AVX512F__
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

inline void transpose(V (&rows)[kLanes]) {
  for (int stage = 1; stage < kLanes; stage *= 2) {
    V next[kLanes];
    for (int k = 0; k < kLanes / 2; ++k) {
      next[2 * k] = interleave_low(rows[k], rows[k + kLanes / 2]);
      next[2 * k + 1] = interleave_high(rows[k], rows[k + kLanes / 2]);
    }
    for (int k = 0; k < kLanes; ++k) rows[k] = next[k];
  }
}

inline bool any(I mask) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0;
#else
  int64_t found = 0;
  for (int k = 0; k < kLanes; ++k) found |= mask[k];
  return found != 0;
#endif
}

inline double* aligned(double* p) {  // to a cache line
  return reinterpret_cast<double*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
}

// Transposes rows of labels, one for each lane, to (label, lane). `row(lane, k)` is vector k of a lane's row.
template <typename Row>
void into_lanes(int64_t labels, double* out, const Row& row) {
  for (int64_t k = 0; kLanes * k < labels; ++k)
    for (int g = 0; g < kGroups; ++g) {
      V rows[kLanes];
      for (int c = 0; c < kLanes; ++c) rows[c] = row(g * kLanes + c, k);
      transpose(rows);
      for (int c = 0; c < kLanes && kLanes * k + c < labels; ++c)
        store(out + (kLanes * k + c) * kLockStep + g * kLanes, rows[c]);
    }
}

// out[a] = sum_b table[a * across + b * along] x[b] for J consecutive a.
template <int J>
void lanes_product_block(int64_t labels, const double* table, int64_t across, int64_t along, const double* x,
                         double* out) {
  V sums[J][kGroups];
  for (int j = 0; j < J; ++j)
    for (int g = 0; g < kGroups; ++g) sums[j][g] = all(0.0);
  for (int64_t i = 0; i < labels; ++i) {
    V in[kGroups];
    for (int g = 0; g < kGroups; ++g) in[g] = load(x + i * kLockStep + g * kLanes);
    for (int j = 0; j < J; ++j)
      for (int g = 0; g < kGroups; ++g) sums[j][g] += table[j * across + i * along] * in[g];
  }
  for (int j = 0; j < J; ++j)
    for (int g = 0; g < kGroups; ++g) store(out + j * kLockStep + g * kLanes, sums[j][g]);
}

void lanes_product(int64_t labels, const double* table, int64_t across, int64_t along, const double* x, double* out) {
  constexpr int J = 12 / kGroups;
  int64_t j = 0;
  for (; j + J <= labels; j += J)
    lanes_product_block<J>(labels, table + j * across, across, along, x, out + j * kLockStep);
  for (; j + 2 <= labels; j += 2)
    lanes_product_block<2>(labels, table + j * across, across, along, x, out + j * kLockStep);
  for (; j < labels; ++j) lanes_product_block<1>(labels, table + j * across, across, along, x, out + j * kLockStep);
}

// base + sum over the entries of group k of excess x[other].
inline void listed_sum(const LaneEntries& entries, int64_t k, const double* x, const V (&base)[kGroups],
                       V (&out)[kGroups]) {
  V sums[2][kGroups];  // two, because an addition takes longer than its loads
  for (int g = 0; g < kGroups; ++g) {
    sums[0][g] = base[g];
    sums[1][g] = all(0.0);
  }
  int64_t q = entries.begin[k];
  const int64_t end = entries.begin[k + 1];
  for (; q + 2 <= end; q += 2)
    for (int h = 0; h < 2; ++h)
      for (int g = 0; g < kGroups; ++g)
        sums[h][g] += entries.excess[q + h] * load(x + entries.other[q + h] * kLockStep + g * kLanes);
  for (; q < end; ++q)
    for (int g = 0; g < kGroups; ++g)
      sums[0][g] += entries.excess[q] * load(x + entries.other[q] * kLockStep + g * kLanes);
  for (int g = 0; g < kGroups; ++g) out[g] = sums[0][g] + sums[1][g];
}

// The product of a table that is a constant plus the excess of its listed entries: out[a] = constant sum_b x[b] + sum
// over the listed b of excess x[b]. The excess may be negative. If it cancels nearly all of the constant part, the
// result loses precision, and that label of that lane is recomputed from the whole table.
void lanes_sparse_product(int64_t labels, const LaneTable& table, const LaneEntries& entries, int64_t across,
                          int64_t along, const double* x, const V (&total)[kGroups], double* out) {
  V base[kGroups], limit[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    base[g] = table.constant * total[g];
    limit[g] = kLeftOfConstant * base[g];
  }
  for (int64_t k = 0; k < labels; ++k) {
    const int64_t j = entries.label[k];
    V sums[kGroups];
    listed_sum(entries, k, x, base, sums);
    double* to = out + j * kLockStep;
    I lost = I{};
    for (int g = 0; g < kGroups; ++g) lost |= sums[g] < limit[g];
    if (any(lost)) {
      lanes_product_block<1>(labels, table.forward + j * across, across, along, x, to);
      for (int g = 0; g < kGroups; ++g) sums[g] = sums[g] < limit[g] ? load(to + g * kLanes) : sums[g];
    }
    for (int g = 0; g < kGroups; ++g) store(to + g * kLanes, sums[g]);
  }
}

// Sums over P steps of alpha[i] v[j] for the listed transitions, each reduced to kLanes numbers.
template <int P>
void lanes_sparse_pairs(int64_t labels, const LaneEntries& entries, const double* alpha, const double* v,
                        double* sums) {
  const int64_t step = labels * kLockStep;
  for (int64_t k = 0; k < labels; ++k) {
    const int64_t i = entries.label[k];
    V from[P][kGroups];
    for (int p = 0; p < P; ++p)
      for (int g = 0; g < kGroups; ++g) from[p][g] = load(alpha + p * step + i * kLockStep + g * kLanes);
    for (int64_t q = entries.begin[k]; q < entries.begin[k + 1]; ++q) {
      const double* to = v + entries.other[q] * kLockStep;
      V even = load(sums + q * kLanes);
      V odd = all(0.0);
      for (int p = 0; p < P; ++p)
        for (int g = 0; g < kGroups; ++g) {
          V& half = (p * kGroups + g) % 2 == 0 ? even : odd;
          half += from[p][g] * load(to + p * step + g * kLanes);
        }
      store(sums + q * kLanes, even + odd);
    }
  }
}

// pairs[i][j] += table[i][j] sum over all steps and lanes of alpha[i] v[j], for R rows and C columns.
template <int R, int C>
void lanes_pairs_block(int64_t steps, int64_t labels, int64_t width, int64_t i, int64_t j, const double* alpha,
                       const double* v, const double* table, double* pairs) {
  V sums[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) sums[r][c] = all(0.0);
  for (int64_t t = 0; t < steps; ++t)
    for (int g = 0; g < kGroups; ++g) {
      const double* from = alpha + (t * labels + i) * kLockStep + g * kLanes;
      const double* to = v + (t * labels + j) * kLockStep + g * kLanes;
      V columns[C];
      for (int c = 0; c < C; ++c) columns[c] = load(to + c * kLockStep);
      for (int r = 0; r < R; ++r) {
        const V row = load(from + r * kLockStep);
        for (int c = 0; c < C; ++c) sums[r][c] += row * columns[c];
      }
    }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) pairs[(i + r) * labels + j + c] += table[(i + r) * width + j + c] * sum(sums[r][c]);
}

template <int R>
void lanes_pairs_rows(int64_t steps, int64_t labels, int64_t width, int64_t i, const double* alpha, const double* v,
                      const double* table, double* pairs) {
  constexpr int C = R == 4 ? 3 : 8;
  int64_t j = 0;
  for (; j + C <= labels; j += C) lanes_pairs_block<R, C>(steps, labels, width, i, j, alpha, v, table, pairs);
  for (; j < labels; ++j) lanes_pairs_block<R, 1>(steps, labels, width, i, j, alpha, v, table, pairs);
}

// The expected transitions, summed over all lanes; v includes the lanes' weights.
void lanes_pairs(int64_t steps, const LaneTable& table, const double* alpha, const double* v, double* sums,
                 double* pairs) {
  const int64_t labels = table.labels;
  const int64_t width = (labels + kLanes - 1) / kLanes * kLanes;
  const int64_t step = labels * kLockStep;
  if (!table.sparse) {
    int64_t i = 0;
    for (; i + 4 <= labels; i += 4) lanes_pairs_rows<4>(steps, labels, width, i, alpha, v, table.forward, pairs);
    for (; i < labels; ++i) lanes_pairs_rows<1>(steps, labels, width, i, alpha, v, table.forward, pairs);
    return;
  }
  const LaneEntries& entries = table.by_source;
  for (int64_t k = 0; k < entries.begin[labels] * kLanes; ++k) sums[k] = 0;
  int64_t t = 0;
  for (; t + 4 <= steps; t += 4) lanes_sparse_pairs<4>(labels, entries, alpha + t * step, v + t * step, sums);
  for (; t < steps; ++t) lanes_sparse_pairs<1>(labels, entries, alpha + t * step, v + t * step, sums);
  for (int64_t k = 0; k < labels; ++k)
    for (int64_t q = entries.begin[k]; q < entries.begin[k + 1]; ++q)
      pairs[entries.part[q]] += entries.value[q] * sum(load(sums + q * kLanes));
}

// The smallest allowed sum of a lane's messages. It leaves a hundred orders of magnitude for the smallest message.
constexpr double kLeastSum = 1e-100;

struct PerLane {
  alignas(64) double x[kLockStep] = {};
  double& operator[](int64_t b) { return x[b]; }
  V group(int g) const { return load(x + g * kLanes); }
  void set(int g, V value) { store(x + g * kLanes, value); }
};

// By lane: the logs of the sums by which messages are divided, plus the maxima taken out of exponents.
struct Normalizers {
  double shift[kLockStep] = {};
  double scale[kLockStep];  // not yet in the shift

  Normalizers() {
    for (double& each : scale) each = 1;
  }

  // Returns 1 over the sum of a lane's messages at position t. The lane is no longer exact if the sum is too small, or
  // if a state is starved.
  double add(ChainLane& lane, int b, int64_t t, double total, bool starved) {
    const bool enough = total > kLeastSum;
    if (t < lane.length) lane.exact &= enough && !starved;
    if (!enough) total = 1;  // the result is not used
    if (t >= lane.length) return 1 / total;
    scale[b] *= total;
    if (scale[b] < 1e-90 || scale[b] > 1e90) {
      shift[b] += __builtin_log(scale[b]);
      scale[b] = 1;
    }
    return 1 / total;
  }
  double log_z(int b) const { return shift[b] + __builtin_log(scale[b]); }
};

// Emissions exp(theta - max) of position t, and the maxima. `exact` becomes false if the position exceeds the range of
// scaled probabilities. From there on, the lane has emissions of 1.
void lanes_emissions(const LaneScores& table, ChainLane* lanes, int64_t t, double* emission, double* shift,
                     bool* forbidden) {
  const int64_t labels = table.labels;
  const int64_t vectors = (labels + kLanes - 1) / kLanes;
  double top[kLockStep] = {};
  bool live[kLockStep];
  for (int b = 0; b < kLockStep; ++b) {
    ChainLane& lane = lanes[b];
    live[b] = lane.exact && t < lane.length;
    if (!live[b]) continue;
    Range range;
    V lowest = all(kInf);
    for (int64_t k = 0; k < vectors; ++k) {
      range.add(load_row(lane.theta + t * labels, k, labels, -kInf));
      lowest = min(lowest, load_row(lane.theta + t * labels, k, labels, kInf));
    }
    live[b] = lane.exact = range.width() + (t > 0 ? table.range : 0.0) <= kScaledRange;
    if (!live[b]) continue;
    top[b] = range.top();
    shift[b] += top[b] + (t > 0 ? table.top : 0.0);
    forbidden[b] |= min(lowest) == -kInf || (t > 0 && table.forbidden);
  }
  into_lanes(labels, emission, [&](int b, int64_t k) {
    return live[b] ? fast_exp(load_row(lanes[b].theta + t * labels, k, labels, -kInf) - top[b]) : all(1.0);
  });
}

// Stores the marginals (label, lane) of position t in the rows of the lanes that are long enough.
void store_marginals(int64_t labels, const double* marginals, ChainLane* lanes, int64_t t) {
  for (int64_t k = 0; kLanes * k < labels; ++k)
    for (int g = 0; g < kGroups; ++g) {
      V rows[kLanes];
      for (int c = 0; c < kLanes; ++c)
        rows[c] = kLanes * k + c < labels ? load(marginals + (kLanes * k + c) * kLockStep + g * kLanes) : all(0.0);
      transpose(rows);
      for (int c = 0; c < kLanes; ++c) {
        const ChainLane& lane = lanes[g * kLanes + c];
        if (t < lane.length) store_row(lane.mu + t * labels, k, labels, rows[c]);
      }
    }
}

// Forward and, if marginals are requested, backward as in chain_logsum. Its rules for leaving scaled probabilities
// apply to each lane. Forward messages are stored unscaled and divided by their sum on use, which saves a pass over
// them. The sum must then be larger to keep products of two messages exact (kLeastSum). Adds weight times the expected
// transitions of every exact lane to `pairs`: all transitions or, if the table is sparse, the listed ones.
void chain_lanes(const LaneTable& table, ChainLane* lanes, bool marginals, double* pairs, double* scratch) {
  const int64_t labels = table.labels;
  const int64_t width = (labels + kLanes - 1) / kLanes * kLanes;
  const int64_t row = labels * kLockStep;
  int64_t steps = 0;
  Normalizers normalizers;
  bool forbidden[kLockStep] = {};
  for (int b = 0; b < kLockStep; ++b) {
    ChainLane& lane = lanes[b];
    steps = lane.length > steps ? lane.length : steps;
    lane.exact = lane.length < 2 || table.top > -kInf;
  }
  double* emission = aligned(scratch);
  double* alpha = emission + steps * row;
  double* beta = alpha + steps * row;
  double* here = beta + row;
  double* inverses = here + row;  // (steps, lane): 1 over the normalizer
  double* sums = inverses + steps * kLockStep;
  bool watch = false;  // whether -inf may starve a state of any lane
  V mass[kGroups];     // sum of the messages of the step before
  for (int64_t t = 0; t < steps; ++t) {
    double* e = emission + t * row;
    double* a = alpha + t * row;
    lanes_emissions(table, lanes, t, e, normalizers.shift, forbidden);
    for (int b = 0; b < kLockStep; ++b) watch |= forbidden[b];
    if (t > 0 && table.sparse)
      lanes_sparse_product(labels, table, table.by_target, 1, width, a - row, mass, a);
    else if (t > 0)
      lanes_product(labels, table.forward, 1, width, a - row, a);
    PerLane total, smallest;
    double* inverse = inverses + t * kLockStep;
    for (int g = 0; g < kGroups; ++g) {
      const V factor = t == 0 ? all(1.0) : load(inverse - kLockStep + g * kLanes);
      V sum_of = all(0.0);
      V least = all(kInf);
      for (int64_t k = g * kLanes; k < row; k += kLockStep) {
        const V x = t == 0 ? load(e + k) : load(a + k) * factor * load(e + k);
        store(a + k, x);
        sum_of += x;
        if (watch) least = smallest_live(least, x);
      }
      mass[g] = sum_of;
      total.set(g, sum_of);
      smallest.set(g, least);
    }
    for (int b = 0; b < kLockStep; ++b) {
      const bool starved = forbidden[b] && smallest[b] < kScaledSmallest * total[b];
      inverse[b] = normalizers.add(lanes[b], b, t, total[b], starved);
    }
  }
  for (int b = 0; b < kLockStep; ++b) lanes[b].log_z = normalizers.log_z(b);
  if (!marginals) return;

  for (int64_t k = 0; k < row; ++k) beta[k] = 1;
  for (int64_t t = steps - 1; t >= 0; --t) {
    double* e = emission + t * row;
    const double* a = alpha + t * row;
    PerLane last, weight;
    for (int b = 0; b < kLockStep; ++b) {
      last[b] = t == lanes[b].length - 1;
      weight[b] = t < lanes[b].length && lanes[b].exact ? lanes[b].weight : 0.0;
    }
    PerLane total, smallest;
    for (int g = 0; g < kGroups; ++g) {
      const I begins = last.group(g) > 0.0;
      const V inverse = load(inverses + t * kLockStep + g * kLanes);
      // Includes the normalizer of the messages before: the expected transitions multiply them with the result.
      const V factor = weight.group(g) * (t == 0 ? all(1.0) : load(inverses + (t - 1) * kLockStep + g * kLanes));
      V sum_of = all(0.0);
      V least = all(kInf);
      for (int64_t k = g * kLanes; k < row; k += kLockStep) {
        const V b = inverse * (begins ? all(1.0) : load(beta + k));
        const V x = load(e + k) * b;
        store(beta + k, load(a + k) * b);  // the marginals
        store(here + k, x);
        store(e + k, factor * x);
        sum_of += x;
        if (watch) least = smallest_live(least, x);
      }
      mass[g] = sum_of;
      total.set(g, sum_of);
      smallest.set(g, least);
    }
    store_marginals(labels, beta, lanes, t);
    if (t == 0) break;
    for (int b = 0; b < kLockStep; ++b)
      if (t < lanes[b].length) lanes[b].exact &= !(forbidden[b] && smallest[b] < kScaledSmallest * total[b]);
    if (table.sparse)
      lanes_sparse_product(labels, table, table.by_source, width, 1, here, mass, beta);
    else
      lanes_product(labels, table.forward, width, 1, here, beta);
  }
  for (int b = 0; b < kLockStep; ++b)
    if (!lanes[b].exact)  // it may have left the range after some of its positions
      for (int64_t k = b; k < steps * row; k += kLockStep) emission[k] = 0;
  if (pairs && steps > 1) lanes_pairs(steps - 1, table, alpha, emission + row, sums, pairs);
}

// ---- Viterbi over a sparse table ----

// The kKept best labels of one position, in each lane. Values descend; of equal ones, the first label comes first.
constexpr int kKept = 4;
static_assert(kKept <= kLockStep && kLockStep == sizeof(uint64_t));
struct Kept {
  V value[kKept];
  V label[kKept];
};

Kept best_labels(int64_t labels, const double* x) {
  Kept kept;
  for (int k = 0; k < kKept; ++k) {
    kept.value[k] = all(-kInf);
    kept.label[k] = all(0.0);
  }
  for (int64_t i = 0; i < labels; ++i) {
    const V value = load(x + i * kLockStep);
    const V label = all(static_cast<double>(i));
    for (int k = kKept - 1; k >= 0; --k) {
      const I here = value > kept.value[k];
      const I above = k > 0 ? value > kept.value[k > 0 ? k - 1 : 0] : I{};
      kept.value[k] = here ? (above ? kept.value[k > 0 ? k - 1 : 0] : value) : kept.value[k];
      kept.label[k] = here ? (above ? kept.label[k > 0 ? k - 1 : 0] : label) : kept.label[k];
    }
  }
  return kept;
}

typedef int8_t Bytes __attribute__((vector_size(kLanes), aligned(1), may_alias));

// The best label before j without a listed transition to it, in one lane.
void best_unlisted(const LaneTable& table, int64_t j, const double* before, double* value, double* label) {
  const uint8_t* listed = table.listed + j;
  *value = -kInf;
  for (int64_t i = 0; i < table.labels; ++i)
    if (before[i * kLockStep] > *value && !listed[i * table.labels]) {
      *value = before[i * kLockStep];
      *label = static_cast<double>(i);
    }
}

// tops[j] = the best of before[i] + transition[i][j], and the first i that attains it. The best label without a listed
// transition to j is nearly always one of the kept ones; otherwise all labels are searched. `room` holds kKept * labels
// numbers.
void lanes_best_sources(const LaneTable& table, const double* before, double* tops, double* back, double* room) {
  const int64_t labels = table.labels;
  Kept kept[kGroups];
  uint64_t* listed[kKept];  // by target, one byte per lane: whether it is listed with the kept label
  for (int g = 0; g < kGroups; ++g) kept[g] = best_labels(labels, before + g * kLanes);
  for (int k = 0; k < kKept; ++k) {
    listed[k] = reinterpret_cast<uint64_t*>(room) + k * labels;
    for (int64_t b = 0; b < kLockStep; ++b) {
      const uint8_t* row = table.listed + static_cast<int64_t>(kept[b / kLanes].label[k][b % kLanes]) * labels;
      for (int64_t j = 0; j < labels; ++j)
        listed[k][j] = (b == 0 ? 0 : listed[k][j]) | static_cast<uint64_t>(row[j]) << (8 * b);
    }
  }
  const LaneEntries& entries = table.by_target;
  for (int64_t k = 0; k < labels; ++k) {
    const int64_t j = entries.label[k];
    V top[kGroups], from[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      top[g] = all(-kInf);
      from[g] = all(0.0);
    }
    for (int64_t q = entries.begin[k]; q < entries.begin[k + 1]; ++q) {
      const V score = all(entries.score[q]);
      const V index = all(entries.number[q]);
      for (int g = 0; g < kGroups; ++g) {
        const V candidate = load(before + entries.other[q] * kLockStep + g * kLanes) + score;
        from[g] = candidate > top[g] ? index : from[g];
        top[g] = max(candidate, top[g]);
      }
    }
    for (int g = 0; g < kGroups; ++g) {
      V value = all(-kInf);
      V label = all(0.0);
      I without = ~I{};  // no kept label found yet
      for (int n = kKept - 1; n >= 0; --n) {
        const auto* bytes = reinterpret_cast<const int8_t*>(listed[n] + j) + g * kLanes;
        const I out = __builtin_convertvector(*reinterpret_cast<const Bytes*>(bytes), I);
        value = out ? value : kept[g].value[n];
        label = out ? label : kept[g].label[n];
        without &= out;
      }
      without &= kept[g].value[kKept - 1] >= top[g];
      if (any(without))
        for (int c = 0; c < kLanes; ++c) {
          if (!without[c]) continue;
          double its_value, its_label = 0;
          best_unlisted(table, j, before + g * kLanes + c, &its_value, &its_label);
          value[c] = its_value;
          label[c] = its_label;
        }
      // Of equal ones the first wins. If nothing is reached, the result is label 0.
      const I better = (value > top[g]) | ((value == top[g]) & (value > -kInf) & (label < from[g]));
      store(tops + j * kLockStep + g * kLanes, better ? value : top[g]);
      store(back + j * kLockStep + g * kLanes, better ? label : from[g]);
    }
  }
}

// chain_viterbi for every lane, with the same sums: a transition that is not listed scores 0.
void chain_lanes_viterbi(const LaneTable& table, ChainLane* lanes, double* scratch) {
  const int64_t labels = table.labels;
  const int64_t row = labels * kLockStep;
  int64_t steps = 0;
  for (int b = 0; b < kLockStep; ++b) steps = lanes[b].length > steps ? lanes[b].length : steps;
  double* tops = aligned(scratch);
  double* back = tops + steps * row;
  double* scores = back + steps * row;
  double* room = scores + row;  // one row: more than kKept numbers per label
  for (int64_t t = 0; t < steps; ++t) {
    double* top = tops + t * row;
    into_lanes(labels, t == 0 ? top : scores, [&](int b, int64_t k) {
      return t < lanes[b].length ? load_row(lanes[b].theta + t * labels, k, labels, -kInf) : all(0.0);
    });
    if (t == 0) continue;
    lanes_best_sources(table, top - row, top, back + t * row, room);
    for (int64_t k = 0; k < row; k += kLanes) store(top + k, load(top + k) + load(scores + k));
  }
  for (int b = 0; b < kLockStep; ++b) {
    ChainLane& lane = lanes[b];
    if (lane.length == 0) continue;
    const double* last = tops + (lane.length - 1) * row + b;
    int64_t label = 0;
    for (int64_t j = 1; j < labels; ++j)
      if (last[j * kLockStep] > last[label * kLockStep]) label = j;
    lane.value = last[label * kLockStep];
    for (int64_t t = lane.length - 1; t >= 0; --t) {
      lane.best[t] = static_cast<int32_t>(label);
      if (t > 0) label = static_cast<int64_t>(back[t * row + label * kLockStep + b]);
    }
  }
}

}  // namespace
}  // namespace margrave
