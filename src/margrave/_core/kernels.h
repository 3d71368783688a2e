// The hot loops, compiled twice (baseline and AVX2 with FMA) and chosen once at run time.
//
// They take plain pointers only: code compiled for a newer processor must not leak into functions that the linker shares.
#pragma once

#include <cstdint>

namespace margrave {

// Sparse rows of tokens: token t has attributes index[begin[t] .. begin[t+1]), with values unless all are 1 (null).
// Under a packed table, span tells where the weights of each of these attributes begin (high bits) and how many there
// are (low bits): one look-up less for every attribute of every token of every pass.
struct TokenRows {
  const int64_t* begin;
  const int32_t* index;
  const double* value;
  const int64_t* span;
};
inline constexpr int kSpanBits = 16;
inline constexpr int64_t kSpanMask = (int64_t{1} << kSpanBits) - 1;

// Weights of attributes: those of the labels column[...] if packed, else of all labels (null), row by row.
struct WeightRows {
  int64_t attributes;
  int64_t labels;
  const uint16_t* column;
};

struct Kernels {
  const char* name;

  // theta (tokens, labels) = sum over a token's attributes of value * w[attribute, :]
  void (*score_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* w, double* theta);
  // w-shaped g += c * value * mu[token, :], the adjoint
  void (*scatter_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* mu, double c,
                       double* g);
  // inner product; the order of the additions is fixed
  double (*dot)(const double* u, const double* v, int64_t n);
  // log sum exp of n scores, and the softmax
  double (*softmax)(const double* theta, int64_t n, double* mu);
  // Forward-backward in scaled probability space. `stride` is 0 for one transition table, labels^2 for one a position.
  // False when a value leaves the range where this is exact: the caller repeats the example in log space.
  bool (*chain_logsum)(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                       double* mu, double* mu_transitions, double* scratch, double* log_z);
  // Viterbi; the best labels and their score.
  double (*chain_viterbi)(int64_t length, int64_t labels, const double* theta, const double* transitions,
                          int64_t stride, int32_t* best, double* scratch);
};

inline constexpr int64_t padded(int64_t labels) { return (labels + 3) / 4 * 4; }

// Doubles of scratch that chain_logsum and chain_viterbi need.
inline int64_t chain_scratch(int64_t length, int64_t labels, int64_t stride) {
  const int64_t width = padded(labels);
  const int64_t tables = stride == 0 ? 1 : length;
  return 2 * length * width + (2 * tables + 1) * width * width + 8 * width + 16;
}

const Kernels& baseline_kernels();
#ifdef MARGRAVE_AVX2
const Kernels& avx2_kernels();
#endif
const Kernels& kernels();  // the best that this processor runs

}  // namespace margrave
