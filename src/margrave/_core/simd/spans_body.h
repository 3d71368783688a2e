// Sums over the splits of all spans of one width, for dynamic programs over spans (see loops_body.h).
//
// A chart stores the spans of one width contiguously, by where they begin. Their t-th splits are then contiguous as
// well: in row t of one chart and, shifted by one per row, in a row of another. So neighboring spans are neighboring
// lanes, and no sum crosses lanes.
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

template <int N, bool Maximum>
void combine_block(int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step, double* out) {
  V even[N], odd[N];  // two sums, since additions to one would wait for each other
  for (int v = 0; v < N; ++v) even[v] = odd[v] = all(Maximum ? -kInf : 0.0);
  const auto add = [&](V* sums, int64_t t) {
    for (int v = 0; v < N; ++v) {
      const V left = load(a + t * a_step + kLanes * v);
      const V right = load(b + t * b_step + kLanes * v);
      sums[v] = Maximum ? max(left + right, sums[v]) : sums[v] + left * right;
    }
  };
  int64_t t = 0;
  for (; t + 2 <= terms; t += 2) {
    add(even, t);
    add(odd, t + 1);
  }
  if (t < terms) add(even, t);
  for (int v = 0; v < N; ++v) store(out + kLanes * v, Maximum ? max(even[v], odd[v]) : even[v] + odd[v]);
}

// Calls run(first, vectors) for blocks of up to four vectors.
template <typename Run>
void each_block(int64_t n, const Run& run) {
  constexpr int64_t kMost = 4;
  for (int64_t i = 0; i < n; i += kMost * kLanes) {
    const int64_t vectors = (n - i + kLanes - 1) / kLanes;
    run(i, vectors < kMost ? vectors : kMost);
  }
}

template <bool Maximum>
void combine(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step, double* out) {
  constexpr decltype(&combine_block<1, Maximum>) run[] = {combine_block<1, Maximum>, combine_block<2, Maximum>,
                                                          combine_block<3, Maximum>, combine_block<4, Maximum>};
  each_block(n, [&](int64_t i, int64_t vectors) { run[vectors - 1](terms, a + i, a_step, b + i, b_step, out + i); });
}

void sum_products(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step,
                  double* out) {
  combine<false>(n, terms, a, a_step, b, b_step, out);
}

void max_sums(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step, double* out) {
  combine<true>(n, terms, a, a_step, b, b_step, out);
}

template <int N>
void spread_block(int64_t terms, const double* g, const double* a, int64_t a_step, const double* b, int64_t b_step,
                  double* ga, double* gb) {
  V above[N];
  for (int v = 0; v < N; ++v) above[v] = load(g + kLanes * v);
  for (int64_t t = 0; t < terms; ++t) {
    for (int v = 0; v < N; ++v) {
      const int64_t left = t * a_step + kLanes * v, right = t * b_step + kLanes * v;
      store(ga + left, load(ga + left) + above[v] * load(b + right));
      store(gb + right, load(gb + right) + above[v] * load(a + left));
    }
  }
}

void spread_products(int64_t n, int64_t terms, const double* g, const double* a, int64_t a_step, const double* b,
                     int64_t b_step, double* ga, double* gb) {
  constexpr decltype(&spread_block<1>) run[] = {spread_block<1>, spread_block<2>, spread_block<3>, spread_block<4>};
  each_block(n, [&](int64_t i, int64_t vectors) {
    run[vectors - 1](terms, g + i, a + i, a_step, b + i, b_step, ga + i, gb + i);
  });
}

}  // namespace
}  // namespace margrave
