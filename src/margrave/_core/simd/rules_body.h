// Sums over the rules and splits of a dense grammar (see loops_body.h).
//
// The rules with one symbol B on the left of their right-hand side are a matrix, by the other symbol C and the
// left-hand side A. Its product with the sums of a single cell uses each weight for one multiplication, and waits for
// memory. For several cells at once it is a product of two matrices: each weight serves all of them, while their sums
// stay in registers.
#pragma once

#include "simd/spans_body.h"

namespace margrave {
namespace {

// Cells whose sums, each of up to four vectors, fit into the registers.
constexpr int64_t kCells = kLanes == 8 ? 4 : 2;

// Pairs first .. last with the same left-hand sides, and up to four vectors of these: n remain from `begin` on.
struct RuleBlock {
  int64_t first, last, begin, n;
};

template <typename Run>
void each_rule_block(const RuleMatrix& rules, const Run& run) {
  for (int64_t p = 0; p < rules.pairs;) {
    const int64_t n = rules.begin[p + 1] - rules.begin[p];
    int64_t last = p + 1;
    while (last < rules.pairs && rules.lhs[last] == rules.lhs[p] && rules.begin[last + 1] - rules.begin[last] == n)
      ++last;
    each_block(n, [&](int64_t i, int64_t vectors) { run(RuleBlock{p, last, i, n - i}, vectors); });
    p = last;
  }
}

// Whether a pair of symbols has a split in one of C cells.
template <int C>
bool occurs(const RuleMatrix& rules, const double* sums, int64_t p) {
  bool any = false;
  for (int c = 0; c < C; ++c) any |= sums[c * rules.pairs + p] != 0;
  return any;
}

template <int C, int N>
void rules_forward_block(const RuleMatrix& rules, const RuleBlock& block, const double* sums, double* out) {
  double* const to = out + rules.lhs[block.first] + block.begin;
  V totals[C][N];
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < N; ++v) totals[c][v] = load_row(to + c * rules.slots, v, block.n, 0.0);
  for (int64_t p = block.first; p < block.last; ++p) {
    if (!occurs<C>(rules, sums, p)) continue;
    for (int v = 0; v < N; ++v) {
      const V weight = load_row(rules.weight + rules.begin[p] + block.begin, v, block.n, 0.0);
      for (int c = 0; c < C; ++c) totals[c][v] += sums[c * rules.pairs + p] * weight;
    }
  }
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < N; ++v) store_row(to + c * rules.slots, v, block.n, totals[c][v]);
}

template <int C>
void rules_forward_cells(const RuleMatrix& rules, const double* sums, double* out) {
  constexpr decltype(&rules_forward_block<C, 1>) run[] = {rules_forward_block<C, 1>, rules_forward_block<C, 2>,
                                                          rules_forward_block<C, 3>, rules_forward_block<C, 4>};
  each_rule_block(rules, [&](const RuleBlock& block, int64_t vectors) { run[vectors - 1](rules, block, sums, out); });
}

void rules_forward(const RuleMatrix& rules, int64_t cells, const double* sums, double* out) {
  constexpr decltype(&rules_forward_cells<1>) run[] = {rules_forward_cells<1>, rules_forward_cells<2>,
                                                       rules_forward_cells<3>, rules_forward_cells<4>};
  for (int64_t c = 0; c < cells; c += kCells)
    run[(cells - c < kCells ? cells - c : kCells) - 1](rules, sums + c * rules.pairs, out + c * rules.slots);
}

template <int C, int N>
void rules_backward_block(const RuleMatrix& rules, const RuleBlock& block, const double* sums, const double* adjoints,
                          double* gradients, double* marginals) {
  V above[C][N];
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < N; ++v)
      above[c][v] = load_row(adjoints + c * rules.slots + rules.lhs[block.first] + block.begin, v, block.n, 0.0);
  for (int64_t p = block.first; p < block.last; ++p) {
    if (!occurs<C>(rules, sums, p)) continue;
    const int64_t at = rules.begin[p] + block.begin;
    V products[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
    for (int v = 0; v < N; ++v) {
      const V weight = load_row(rules.weight + at, v, block.n, 0.0);
      V marginal = load_row(marginals + at, v, block.n, 0.0);
      for (int c = 0; c < C; ++c) {
        products[c] += weight * above[c][v];
        marginal += sums[c * rules.pairs + p] * above[c][v];
      }
      store_row(marginals + at, v, block.n, marginal);
    }
    double found[4] = {};
    add_sums(products, found);
    for (int c = 0; c < C; ++c) gradients[c * rules.pairs + p] += found[c];
  }
}

template <int C>
void rules_backward_cells(const RuleMatrix& rules, const double* sums, const double* adjoints, double* gradients,
                          double* marginals) {
  constexpr decltype(&rules_backward_block<C, 1>) run[] = {rules_backward_block<C, 1>, rules_backward_block<C, 2>,
                                                           rules_backward_block<C, 3>, rules_backward_block<C, 4>};
  each_rule_block(rules, [&](const RuleBlock& block, int64_t vectors) {
    run[vectors - 1](rules, block, sums, adjoints, gradients, marginals);
  });
}

void rules_backward(const RuleMatrix& rules, int64_t cells, const double* sums, const double* adjoints,
                    double* gradients, double* marginals) {
  constexpr decltype(&rules_backward_cells<1>) run[] = {rules_backward_cells<1>, rules_backward_cells<2>,
                                                        rules_backward_cells<3>, rules_backward_cells<4>};
  for (int64_t c = 0; c < cells; c += kCells)
    run[(cells - c < kCells ? cells - c : kCells) - 1](rules, sums + c * rules.pairs, adjoints + c * rules.slots,
                                                       gradients + c * rules.pairs, marginals);
}

template <int N>
void splits_forward_block(int64_t n, int64_t splits, const double* left, const double* right, int64_t step,
                          double* sums) {
  V totals[N];
  for (int v = 0; v < N; ++v) totals[v] = all(0.0);
  for (int64_t m = 0; m < splits; ++m)
    for (int v = 0; v < N; ++v) totals[v] += left[m] * load_row(right + m * step, v, n, 0.0);
  for (int v = 0; v < N; ++v) store_row(sums, v, n, totals[v]);
}

void splits_forward(int64_t n, int64_t splits, const double* left, const double* right, int64_t step, double* sums) {
  constexpr decltype(&splits_forward_block<1>) run[] = {splits_forward_block<1>, splits_forward_block<2>,
                                                        splits_forward_block<3>, splits_forward_block<4>};
  each_block(n, [&](int64_t i, int64_t vectors) { run[vectors - 1](n - i, splits, left, right + i, step, sums + i); });
}

template <int N>
void splits_backward_block(int64_t n, int64_t splits, const double* gradients, const double* left, const double* right,
                           int64_t step, double* of_left, double* of_right) {
  V above[N];
  for (int v = 0; v < N; ++v) above[v] = load_row(gradients, v, n, 0.0);
  for (int64_t first = 0; first < splits; first += 4) {
    V products[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
    for (int k = 0; k < 4; ++k) {
      if (first + k >= splits) continue;
      const int64_t row = (first + k) * step;
      for (int v = 0; v < N; ++v) {
        products[k] += above[v] * load_row(right + row, v, n, 0.0);
        store_row(of_right + row, v, n, load_row(of_right + row, v, n, 0.0) + left[first + k] * above[v]);
      }
    }
    double found[4] = {};
    add_sums(products, found);
    for (int64_t k = 0; k < 4 && first + k < splits; ++k) of_left[first + k] += found[k];
  }
}

void splits_backward(int64_t n, int64_t splits, const double* gradients, const double* left, const double* right,
                     int64_t step, double* of_left, double* of_right) {
  constexpr decltype(&splits_backward_block<1>) run[] = {splits_backward_block<1>, splits_backward_block<2>,
                                                         splits_backward_block<3>, splits_backward_block<4>};
  each_block(n, [&](int64_t i, int64_t vectors) {
    run[vectors - 1](n - i, splits, gradients + i, left, right + i, step, of_left, of_right + i);
  });
}

}  // namespace
}  // namespace margrave
