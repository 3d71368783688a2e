// Chains of order 2 and 3 in lock-step, in which most label tuples have no weight (see lanes_body.h).
//
// At order 2, a step leads from the state (a, b) to the state (b, c), and scores pair[b, c] + triple[a, b, c]. Without
// a triple weight, the score depends only on the target:
//
//   alpha'(b, c) = exp(pair[b, c]) (sum_a alpha(a, b) + sum over the listed (a, b, c) of alpha(a, b) (exp(triple) - 1))
//
// The first sum is the same for all c. So a step costs as many multiplications as there are states and listed triples.
// Order 3 has (b, c) in place of b: the labels common to source and target, called the "middle".
#pragma once

#include "simd/lanes_body.h"

namespace margrave {
namespace {

inline V load_lanes(const double* x, int64_t k, int g) { return load(x + k * kLockStep + g * kLanes); }
inline void store_lanes(double* x, int64_t k, int g, V value) { store(x + k * kLockStep + g * kLanes, value); }

// Allocates rows of lanes in scratch memory.
struct TupleRoom {
  explicit TupleRoom(double* scratch) : next(aligned(scratch)) {}
  double* take(int64_t rows) {
    double* taken = next;
    next += rows * kLockStep;
    return taken;
  }
  double* next;
};

// The sum of x over n candidates, each times its value if group k lists it, else times the constant.
template <typename Candidate>
void whole_sum(const LaneEntries& entries, int64_t k, double constant, int64_t n, const Candidate& candidate,
               const double* x, V (&out)[kGroups]) {
  for (int g = 0; g < kGroups; ++g) out[g] = all(0.0);
  int64_t q = entries.begin[k];
  for (int64_t i = 0; i < n; ++i) {
    const int64_t other = candidate(i);
    const bool listed = q < entries.begin[k + 1] && entries.other[q] == other;
    const double value = listed ? entries.value[q++] : constant;
    for (int g = 0; g < kGroups; ++g) out[g] += value * load_lanes(x, other, g);
  }
}

// If the sparse part cancels nearly all of the constant one (see lanes_sparse_product), replaces it by the whole sum.
template <typename Candidate>
void guard_sum(const LaneEntries& entries, int64_t k, double constant, int64_t n, const Candidate& candidate,
               const double* x, const V (&base)[kGroups], V (&sums)[kGroups]) {
  I lost = I{};
  for (int g = 0; g < kGroups; ++g) lost |= sums[g] < kLeftOfConstant * base[g];
  if (!any(lost)) return;
  V whole[kGroups];
  whole_sum(entries, k, constant, n, candidate, x, whole);
  for (int g = 0; g < kGroups; ++g) sums[g] = sums[g] < kLeftOfConstant * base[g] ? whole[g] : sums[g];
}

// One step forward. base[u] is the constant times the sum over the sources with the middle u. At the first positions,
// where states are shorter, it is that of the only source of a target.
void tuples_step(const TupleTable& table, int64_t t, const double* base, const double* inverse, const double* emission,
                 const double* before, double* now) {
  const int64_t m = t < table.order ? t + 1 : table.order;
  const TupleStates& states = table.states[m];
  for (int64_t u = 0; u < table.states[m - 1].count; ++u) {
    V from[kGroups];
    for (int g = 0; g < kGroups; ++g) from[g] = load_lanes(base, u, g) * load_lanes(inverse, 0, g);
    for (int64_t s = states.begin[u]; s < states.begin[u + 1]; ++s)
      for (int g = 0; g < kGroups; ++g)
        store_lanes(now, s, g, from[g] * (states.factor[s] * load_lanes(emission, states.last[s], g)));
  }
  if (t < table.order) return;
  const LaneEntries& entries = table.by_target;
  for (int64_t k = entries.empty; k < entries.groups; ++k) {
    const int64_t s = entries.label[k];
    const int64_t u = states.prefix[s];
    V constant[kGroups], sums[kGroups];
    for (int g = 0; g < kGroups; ++g) constant[g] = load_lanes(base, u, g);
    listed_sum(entries, k, before, constant, sums);
    const int32_t* source = table.source + table.source_begin[u];
    guard_sum(
        entries, k, table.constant, table.source_begin[u + 1] - table.source_begin[u],
        [source](int64_t i) { return source[i]; }, before, constant, sums);
    for (int g = 0; g < kGroups; ++g)
      store_lanes(now, s, g,
                  sums[g] * load_lanes(inverse, 0, g) * (states.factor[s] * load_lanes(emission, states.last[s], g)));
  }
}

// The sum of the messages of position t, the smallest positive one, and the base of the next step.
void tuples_mass(const TupleTable& table, int64_t t, const double* now, double* base, PerLane& total,
                 PerLane& smallest) {
  V sum_of[kGroups], least[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    sum_of[g] = all(0.0);
    least[g] = all(kInf);
  }
  const bool joined = t + 1 >= table.order;  // several sources have the same middle
  const int64_t middles = joined ? table.states[table.order - 1].count : table.states[t + 1].count;
  for (int64_t u = 0; u < middles; ++u) {
    V mass[kGroups];
    for (int g = 0; g < kGroups; ++g) mass[g] = all(0.0);
    const int64_t first = joined ? table.source_begin[u] : u;
    const int64_t last = joined ? table.source_begin[u + 1] : u + 1;
    for (int64_t k = first; k < last; ++k)
      for (int g = 0; g < kGroups; ++g) {
        const V x = load_lanes(now, joined ? table.source[k] : k, g);
        mass[g] += x;
        least[g] = smallest_live(least[g], x);
      }
    for (int g = 0; g < kGroups; ++g) {
      sum_of[g] += mass[g];
      store_lanes(base, u, g, table.constant * mass[g]);
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    total.set(g, sum_of[g]);
    smallest.set(g, least[g]);
  }
}

// Adds weight times the lanes' values of the used tuples to their sums.
void tuples_used(const TupleStates& states, const double* x, const PerLane& weight, double* sums) {
  for (int64_t k = 0; k < states.used_count; ++k) {
    V total = load(sums + k * kLanes);
    for (int g = 0; g < kGroups; ++g) total += weight.group(g) * load_lanes(x, states.used[k], g);
    store(sums + k * kLanes, total);
  }
}

// Marginals of the suffixes of the states of a position, down to labels, and the sums of the used tuples. `marginals`
// has a row of tuples for each number of labels.
void tuples_marginals(const TupleTable& table, int64_t m, const PerLane& weight, double* const* marginals,
                      double* const* sums) {
  for (; m > 1; --m) {
    const TupleStates& states = table.states[m];
    tuples_used(states, marginals[m], weight, sums[m]);
    double* shorter = marginals[m - 1];
    for (int64_t k = 0; k < table.states[m - 1].count * kLockStep; ++k) shorter[k] = 0;
    for (int64_t s = 0; s < states.count; ++s)
      for (int g = 0; g < kGroups; ++g)
        store_lanes(shorter, states.suffix[s], g,
                    load_lanes(shorter, states.suffix[s], g) + load_lanes(marginals[m], s, g));
  }
}

// One step back, to the states before those of position t >= order. Also the sums of the expected listed tuples,
// without their values. `from` is the factor for the forward messages.
void tuples_step_back(const TupleTable& table, const double* base, const double* next, const double* before,
                      const PerLane& from, double* beta, double* sums) {
  const TupleStates& states = table.states[table.order];
  for (int64_t s = 0; s < states.count; ++s)
    for (int g = 0; g < kGroups; ++g) store_lanes(beta, s, g, load_lanes(base, states.suffix[s], g));
  const LaneEntries& entries = table.by_source;
  for (int64_t k = entries.empty; k < entries.groups; ++k) {
    const int64_t s = entries.label[k];
    const int64_t u = states.suffix[s];
    V constant[kGroups], result[kGroups], alpha[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      constant[g] = load_lanes(base, u, g);
      alpha[g] = from.group(g) * load_lanes(before, s, g);
    }
    listed_sum(entries, k, next, constant, result);
    for (int64_t q = entries.begin[k]; q < entries.begin[k + 1]; ++q) {
      V expected = load(sums + q * kLanes);
      for (int g = 0; g < kGroups; ++g) expected += alpha[g] * load_lanes(next, entries.other[q], g);
      store(sums + q * kLanes, expected);
    }
    const int64_t first = states.begin[u];
    guard_sum(
        entries, k, table.constant, states.begin[u + 1] - first, [first](int64_t i) { return first + i; }, next,
        constant, result);
    for (int g = 0; g < kGroups; ++g) store_lanes(beta, s, g, result[g]);
  }
}

bool tuple_lanes(const TupleTable& table, ChainLane* lanes, double* shared, int64_t rows, double* alpha,
                 double* scratch) {
  const int64_t order = table.order;
  const int64_t row = table.states[order].count * kLockStep;
  int64_t steps = 0;
  Normalizers normalizers;
  for (int b = 0; b < kLockStep; ++b) {
    steps = lanes[b].length > steps ? lanes[b].length : steps;
    lanes[b].exact = true;
  }
  TupleRoom room(scratch);
  double* emission = room.take(steps * table.labels);
  double* inverses = room.take(steps);  // 1 over the normalizer
  double* base = room.take(table.states[order - 1].count);
  bool forbidden[kLockStep] = {};  // any state may starve: most are not reached from all states before
  for (int64_t t = 0; t < steps; ++t) {
    double* e = emission + t * table.labels * kLockStep;
    double* now = alpha + t % rows * row;
    lanes_emissions(table, lanes, t, e, normalizers.shift, forbidden);
    if (t == 0)
      for (int64_t k = 0; k < table.labels * kLockStep; ++k) now[k] = e[k];
    else
      tuples_step(table, t, base, inverses + (t - 1) * kLockStep, e, alpha + (t - 1) % rows * row, now);
    PerLane total, smallest;
    tuples_mass(table, t, now, base, total, smallest);
    for (int b = 0; b < kLockStep; ++b)
      inverses[t * kLockStep + b] = normalizers.add(lanes[b], b, t, total[b], smallest[b] < kScaledSmallest * total[b]);
  }
  for (int b = 0; b < kLockStep; ++b) lanes[b].log_z = normalizers.log_z(b);
  if (!shared) return true;

  double* beta = room.take(table.states[order].count);
  double* next = room.take(table.states[order].count);  // beta times the factors of entering the state
  double* marginals[kHighestOrder + 1];
  double* sums[kHighestOrder + 1];
  for (int64_t m = 1; m <= order; ++m) {
    marginals[m] = room.take(table.states[m].count);
    sums[m] = room.take(table.states[m].used_count);
    for (int64_t k = 0; k < table.states[m].used_count * kLockStep; ++k) sums[m][k] = 0;
  }
  const LaneEntries& entries = table.by_source;
  const int64_t listed = entries.begin[entries.groups];
  double* expected = room.take(listed);
  for (int64_t k = 0; k < listed * kLockStep; ++k) expected[k] = 0;
  bool survived = true;
  for (int64_t t = steps - 1; t >= 0; --t) {
    const int64_t m = t < order ? t + 1 : order;
    const TupleStates& states = table.states[m];
    const double* e = emission + t * table.labels * kLockStep;
    const double* now = alpha + t % rows * row;
    PerLane begins, weight, from, total, smallest;
    for (int b = 0; b < kLockStep; ++b) {  // empty or inexact lanes keep finite numbers
      begins[b] = t >= lanes[b].length - 1 || !lanes[b].exact;
      weight[b] = t < lanes[b].length && lanes[b].exact ? lanes[b].weight : 0.0;
      from[b] = t > 0 ? weight[b] * inverses[(t - 1) * kLockStep + b] : 0.0;
    }
    V sum_of[kGroups], least[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      sum_of[g] = all(0.0);
      least[g] = all(kInf);
    }
    const int64_t prefixes = m > 1 ? table.states[m - 1].count : 1;
    for (int64_t p = 0; p < prefixes; ++p) {
      V mass[kGroups];
      for (int g = 0; g < kGroups; ++g) mass[g] = all(0.0);
      const int64_t end = m > 1 ? states.begin[p + 1] : states.count;
      for (int64_t s = m > 1 ? states.begin[p] : 0; s < end; ++s)
        for (int g = 0; g < kGroups; ++g) {
          const V b = load_lanes(inverses, t, g) * (begins.group(g) > 0.0 ? all(1.0) : load_lanes(beta, s, g));
          const V x = states.factor[s] * load_lanes(e, states.last[s], g) * b;
          store_lanes(marginals[m], s, g, load_lanes(now, s, g) * b);
          store_lanes(next, s, g, x);
          mass[g] += x;
          least[g] = smallest_live(least[g], x);
        }
      for (int g = 0; g < kGroups; ++g) {
        sum_of[g] += mass[g];
        if (t > 0) store_lanes(base, p, g, table.constant * mass[g]);
      }
    }
    tuples_marginals(table, m, weight, marginals, sums);
    store_marginals(table.labels, marginals[1], lanes, t);
    if (t == 0) break;
    for (int g = 0; g < kGroups; ++g) {
      total.set(g, sum_of[g]);
      smallest.set(g, least[g]);
    }
    for (int b = 0; b < kLockStep; ++b)
      if (t < lanes[b].length && lanes[b].exact && smallest[b] < kScaledSmallest * total[b])
        survived = lanes[b].exact = false;
    if (t < order)
      for (int64_t k = 0; k < prefixes * kLockStep; ++k) beta[k] = base[k];
    else
      tuples_step_back(table, base, next, alpha + (t - 1) % rows * row, from, beta, expected);
  }
  if (!survived) return false;
  for (int64_t m = 2; m <= order; ++m)
    for (int64_t k = 0; k < table.states[m].used_count; ++k)
      shared[table.states[m].part + table.states[m].used[k]] += sum(load(sums[m] + k * kLanes));
  for (int64_t q = 0; q < listed; ++q)
    shared[table.part + entries.part[q]] += entries.value[q] * sum(load(expected + q * kLanes));
  return true;
}

// ---- Viterbi ----

typedef int32_t Sources __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline void store_sources(int32_t* back, int64_t k, int g, V source) {
  *reinterpret_cast<Sources*>(back + k * kLockStep + g * kLanes) = __builtin_convertvector(source, Sources);
}

// By middle: the best score of its sources, the first source that has it, and the best score of the others.
void best_of_middles(const TupleTable& table, const double* before, double* best, double* first, double* second) {
  for (int64_t u = 0; u < table.states[table.order - 1].count; ++u) {
    V top[kGroups], source[kGroups], other[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      top[g] = other[g] = all(-kInf);
      source[g] = all(0.0);
    }
    for (int64_t k = table.source_begin[u]; k < table.source_begin[u + 1]; ++k) {
      const V index = all(static_cast<double>(table.source[k]));
      for (int g = 0; g < kGroups; ++g) {
        const V x = load_lanes(before, table.source[k], g);
        const I better = x > top[g];
        other[g] = better ? top[g] : max(x, other[g]);
        source[g] = better ? index : source[g];
        top[g] = better ? x : top[g];
      }
    }
    for (int g = 0; g < kGroups; ++g) {
      store_lanes(best, u, g, top[g]);
      store_lanes(first, u, g, source[g]);
      store_lanes(second, u, g, other[g]);
    }
  }
}

// The best source of a lane with the middle u that is not listed in group k, the first of several.
void best_unlisted_source(const TupleTable& table, int64_t u, int64_t k, const double* before, double* value,
                          double* source) {
  const LaneEntries& entries = table.by_target;
  int64_t q = entries.begin[k];
  *value = -kInf;
  for (int64_t i = table.source_begin[u]; i < table.source_begin[u + 1]; ++i) {
    const int64_t s = table.source[i];
    if (q < entries.begin[k + 1] && entries.other[q] == s) {
      ++q;
    } else if (before[s * kLockStep] > *value) {
      *value = before[s * kLockStep];
      *source = static_cast<double>(s);
    }
  }
}

// The best source of group k, whose target has the middle u, and its score. The best unlisted source is nearly always
// the best of the middle, or worse than a listed one.
void best_of_group(const TupleTable& table, int64_t u, int64_t k, const double* before, const double* best,
                   const double* first, const double* second, V (&top)[kGroups], V (&from)[kGroups]) {
  const LaneEntries& entries = table.by_target;
  V source[kGroups];
  I listed[kGroups];  // whether the best of the middle is listed
  for (int g = 0; g < kGroups; ++g) {
    top[g] = all(-kInf);
    from[g] = all(0.0);
    source[g] = load_lanes(first, u, g);
    listed[g] = I{};
  }
  for (int64_t q = entries.begin[k]; q < entries.begin[k + 1]; ++q) {
    const V score = all(entries.score[q]);
    const V index = all(entries.number[q]);
    for (int g = 0; g < kGroups; ++g) {
      const V candidate = score + load_lanes(before, entries.other[q], g);
      from[g] = candidate > top[g] ? index : from[g];
      top[g] = max(candidate, top[g]);
      listed[g] |= index == source[g];
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    V value = listed[g] ? all(-kInf) : load_lanes(best, u, g);
    const V bound = load_lanes(second, u, g);
    const I open = listed[g] & (bound >= top[g]) & (bound > -kInf);
    if (any(open))
      for (int c = 0; c < kLanes; ++c) {
        if (!open[c]) continue;
        double its_value, its_source = 0;
        best_unlisted_source(table, u, k, before + g * kLanes + c, &its_value, &its_source);
        value[c] = its_value;
        source[g][c] = its_source;
      }
    const I better = (value > top[g]) | ((value == top[g]) & (source[g] < from[g]));  // of equal ones, the first wins
    top[g] = better ? value : top[g];
    from[g] = better ? source[g] : from[g];
  }
}

// The same sums as tuples_viterbi, to the bit: a tuple that is not listed scores 0. For each position, `back` has a row
// of the sources of middles and of the nonempty groups.
void tuple_lanes_viterbi(const TupleTable& table, ChainLane* lanes, int64_t rows, double* tops, int32_t* back,
                         double* scratch) {
  const int64_t order = table.order;
  const TupleStates& full = table.states[order];
  const int64_t row = full.count * kLockStep;
  const int64_t middles = table.states[order - 1].count;
  const LaneEntries& entries = table.by_target;
  const int64_t back_row = (middles + entries.groups - entries.empty) * kLockStep;
  int64_t steps = 0;
  for (int b = 0; b < kLockStep; ++b) steps = lanes[b].length > steps ? lanes[b].length : steps;
  TupleRoom room(scratch);
  double* scores = room.take(table.labels);
  double* best = room.take(middles);
  double* first = room.take(middles);
  double* second = room.take(middles);
  int64_t ends[kLockStep] = {};
  for (int64_t t = 0; t < steps; ++t) {
    double* now = tops + t % rows * row;
    const double* before = tops + (t + rows - 1) % rows * row;
    const TupleStates& states = table.states[t < order ? t + 1 : order];
    into_lanes(table.labels, t == 0 ? now : scores, [&](int b, int64_t k) {
      return t < lanes[b].length ? load_row(lanes[b].theta + t * table.labels, k, table.labels, -kInf) : all(0.0);
    });
    if (t >= order) {
      int32_t* sources = back + t * back_row;
      best_of_middles(table, before, best, first, second);
      for (int64_t u = 0; u < middles; ++u) {
        for (int g = 0; g < kGroups; ++g) store_sources(sources, u, g, load_lanes(first, u, g));
        for (int64_t s = states.begin[u]; s < states.begin[u + 1]; ++s)
          for (int g = 0; g < kGroups; ++g)
            store_lanes(now, s, g, load_lanes(best, u, g) + (load_lanes(scores, states.last[s], g) + states.sum[s]));
      }
      for (int64_t k = entries.empty; k < entries.groups; ++k) {
        const int64_t s = entries.label[k];
        V top[kGroups], from[kGroups];
        best_of_group(table, states.prefix[s], k, before, best, first, second, top, from);
        for (int g = 0; g < kGroups; ++g) {
          store_lanes(now, s, g, top[g] + (load_lanes(scores, states.last[s], g) + states.sum[s]));
          store_sources(sources, middles + k - entries.empty, g, from[g]);
        }
      }
    } else if (t > 0) {
      const double* shorter = table.states[t].sum;
      for (int64_t s = 0; s < states.count; ++s)
        for (int g = 0; g < kGroups; ++g)
          store_lanes(now, s, g,
                      (states.own[s] + load_lanes(before, states.prefix[s], g)) +
                          (load_lanes(scores, states.last[s], g) + shorter[states.suffix[s]]));
    }
    for (int b = 0; b < kLockStep; ++b) {
      if (t != lanes[b].length - 1) continue;
      lanes[b].value = -kInf;
      for (int64_t s = 0; s < states.count; ++s)
        if (now[s * kLockStep + b] > lanes[b].value) {
          lanes[b].value = now[s * kLockStep + b];
          ends[b] = s;
        }
    }
  }
  for (int b = 0; b < kLockStep; ++b) {
    int64_t s = ends[b];
    for (int64_t t = lanes[b].length - 1; t >= 0; --t) {
      const TupleStates& states = table.states[t < order ? t + 1 : order];
      lanes[b].best[t] = states.last[s];
      if (t == 0) break;
      const int32_t group = t < order ? -1 : table.group_of[s];
      const int32_t prefix = states.prefix[s];
      s = t < order ? prefix : back[t * back_row + (group < 0 ? prefix : middles + group) * kLockStep + b];
    }
  }
}

}  // namespace
}  // namespace margrave
