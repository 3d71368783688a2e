// Steps of dynamic programming over tuples of labels, for chains of higher order (see loops_body.h).
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

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

// At most N vectors of the targets first, first + 1, ... of the same sources, from `skipped` on. They stay in registers
// while all sources are visited. The first source wins a tie.
template <int N>
void viterbi_block(const TupleLinks& links, const double* x, const double* entering, const double* before,
                   int64_t first, int64_t skipped, int64_t targets, double* best, double* from) {
  V top[N], source[N];
  for (int v = 0; v < N; ++v) {
    top[v] = all(-kInf);
    source[v] = all(-1.0);
  }
  for (int64_t k = links.incoming_begin[first]; k < links.incoming_begin[first + 1]; ++k) {
    const int64_t tuple = links.incoming[k];
    const int64_t s = links.prefix[tuple];
    const V index = all(static_cast<double>(s));
    for (int v = 0; v < N; ++v) {
      const V candidate = load_row(x + tuple + skipped, v, targets - skipped, 0.0) + before[s];
      source[v] = candidate > top[v] ? index : source[v];
      top[v] = candidate > top[v] ? candidate : top[v];
    }
  }
  for (int v = 0; v < N; ++v) {
    const V own = load_row(entering + first + skipped, v, targets - skipped, -kInf);
    const I live = top[v] + own > -kInf;
    store_row(best + first + skipped, v, targets - skipped, live ? top[v] + own : all(-kInf));
    store_row(from + first + skipped, v, targets - skipped, live ? source[v] : all(-1.0));
  }
}

void tuples_viterbi(int64_t states, const TupleLinks& links, const double* x, const double* entering,
                    const double* before, double* best, double* from) {
  constexpr int64_t kMost = 4;
  constexpr decltype(&viterbi_block<1>) run[] = {viterbi_block<1>, viterbi_block<2>, viterbi_block<3>,
                                                 viterbi_block<4>};
  for (int64_t first = 0; first < states;) {
    if (links.incoming_begin[first] == links.incoming_begin[first + 1]) {  // no tuple leads there
      best[first] = -kInf;
      from[first++] = -1;
      continue;
    }
    const int64_t s = links.prefix[links.incoming[links.incoming_begin[first]]];
    const int64_t targets = links.outgoing_begin[s + 1] - links.outgoing_begin[s];
    for (int64_t skipped = 0; skipped < targets; skipped += kMost * kLanes) {
      const int64_t vectors = (targets - skipped + kLanes - 1) / kLanes;
      run[(vectors < kMost ? vectors : kMost) - 1](links, x, entering, before, first, skipped, targets, best, from);
    }
    first += targets;
  }
}

}  // namespace
}  // namespace margrave
