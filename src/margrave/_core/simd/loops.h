// The hot loops, compiled once for every instruction set (baseline, AVX2 with FMA, AVX-512) and chosen at run time.
//
// They take plain pointers only: code compiled for a newer processor must not leak into functions that the linker
// shares.
#pragma once

#include <cstdint>

namespace margrave {

// Sparse rows of tokens: token t has attributes index[begin[t] .. begin[t+1]), with values unless all are 1 (null).
// Under a packed table, span tells for each of these attributes where its weights begin (high half) and which labels
// they belong to (low half): as a set of bits up to 32 labels, else as their number, with the labels in
// WeightRows::column. This spares every attribute of every token of every pass a look-up.
struct TokenRows {
  const int64_t* begin;
  const int32_t* index;
  const double* value;
  const uint64_t* span;
};
inline constexpr int kSpanBits = 32;
inline constexpr uint64_t kSpanMask = 0xffffffffu;
inline constexpr int64_t kBits = 32;  // labels that a span holds as bits

// Weights of attributes: those of some labels if packed, else of all labels (column is null), row by row.
struct WeightRows {
  int64_t attributes;
  int64_t labels;
  int64_t weights;
  const uint16_t* column;
};

// A transition table as the scaled forward-backward wants it.
struct ChainTable {
  double* forward;   // (labels, padded labels): exp(transition - top), [from][to]
  double* backward;  // the same, [to][from]; not filled for more than 32 labels
  double top;        // the largest transition
  double range;      // what the smallest finite one is below it
  bool forbidden;    // whether there is a -inf
};

struct LaneTable;  // simd/lanes.h
struct TupleTable;
struct ChainLane;

// How the tuples of labels that end at a position link its states (targets) to those of the position before (sources).
// Targets that are reached from the same source are neighbors, and so are the tuples that lead there.
struct TupleLinks {
  const int64_t* incoming_begin;  // by target
  const int32_t* incoming;        // the tuples that lead to each target, ascending
  const int32_t* prefix;          // by tuple: its source
  const int64_t* outgoing_begin;  // by source: its tuples
};

// The binary rules A -> B C of a grammar for one symbol B (engines/cky.h). Those of pair p, which is a symbol C, are
// begin[p] .. begin[p+1], and their left-hand sides A are side by side from slot lhs[p] on.
struct RuleMatrix {
  int64_t pairs;
  const int64_t* begin;
  const int32_t* lhs;
  const double* weight;  // by rule
  int64_t slots;         // of left-hand sides
};

// One row of the trellis of alignments of two sequences (engines/alignment.h). Rows of states have room up to the next
// multiple of 8, and one cell before the first, which is -inf.
struct AlignmentRow {
  int64_t m;
  const double *pair, *y_open, *y_extend;  // by letter of y
  double x_open, x_extend;
  double begin_x, end_x;
  const double *begin_y, *end_y;
  const double *m_above, *x_above, *y_above;
  double *m_here, *x_here, *y_here;
};

// One row of the sums over all alignments, in exponentials of scores, which are divided by powers of 2 so that the sums
// of all rows stay near the same size. `next` is the row above on the way down, and the row below on the way up. All
// rows have a 0 before their first cell and zeros from m up to the next multiple of 8 and one cell further.
struct AlignmentSums {
  int64_t m;
  const double *pair, *pair_next, *y_open, *y_extend, *begin_y, *end_y;  // by letter of y; pair_next: on the way up
  double x_open, x_extend, begin_x, end_x;                               // x_open and x_extend are of the lower row
  double carry;                                                          // of matches that follow each other
  const double *m_next, *x_next, *y_next;                                // y_next: on the way down
  double *m_here, *x_here, *y_here;                                      // y_here: on the way down
};

// Posterior probabilities of what happens in a row. y_open[j] and y_extend[j] are of letter j + 1.
struct AlignmentShares {
  const double *m, *x, *y;                             // the sums of the way down
  double share;                                        // of a product of sums of both ways
  double *pair, *y_open, *y_extend, *begin_y, *end_y;  // to add to, with room up to the next multiple of 8 but `pair`
  double x_open, x_extend, begin_x, end_x;             // results; x_open and x_extend are of the letter below
};

// Sums over the parts of one example, whose marginals moved from `before` to `mu`.
struct Comparison {
  double t_mu;     // <t, mu>
  double v_moved;  // <v, mu - before>
};

struct Loops {
  const char* name;

  // theta (tokens, labels) = sum over a token's attributes of value * w[attribute, :]
  void (*score_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* w, double* theta);
  // w-shaped g += c * value * mu[token, :], the adjoint
  void (*scatter_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* mu, double c,
                       double* g);
  // the same, and the change of 1/2 |g|^2
  double (*move_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* mu, double c,
                      double* g);
  // inner product; the order of the additions is fixed
  double (*dot)(const double* u, const double* v, int64_t n);
  // v += c u
  void (*add_scaled)(const double* u, double c, double* v, int64_t n);
  // all += share (own - known), and own = known = all
  void (*exchange)(double* all, double* own, double* known, double share, int64_t n);
  // next = keep t + add v, as precise as t is stored; the largest change
  double (*propose)(const double* t, const double* v, double share, double add, int64_t n, double* next);
  double (*propose_single)(const float* t, const double* v, double share, double add, int64_t n, double* next);
  // change = before - mu, both as precise as the marginals are stored
  Comparison (*compare)(const double* t, const double* v, const double* mu, const double* before, int64_t n,
                        double* change);
  Comparison (*compare_single)(const double* t, const double* v, const double* mu, const float* before, int64_t n,
                               double* change);
  // to = from, as precise as it is stored
  void (*store)(const double* from, int64_t n, double* to);
  void (*store_single)(const double* from, int64_t n, float* to);
  // log sum exp of n scores, and the softmax
  double (*softmax)(const double* theta, int64_t n, double* mu);
  // Fills a table, whose `forward` and `backward` have room.
  void (*chain_table)(int64_t labels, const double* transitions, ChainTable* table);
  // The same where only the `n` listed transitions, which ascend, have scores other than 0; `room` is for n numbers.
  void (*chain_table_listed)(int64_t labels, const int32_t* list, int64_t n, const double* scores, double* room,
                             ChainTable* table);
  // Forward-backward in scaled probability space. `stride` is 0 for one transition table, labels^2 for one per
  // position. False when a value leaves the range where this is exact: the caller repeats the example in log space.
  bool (*chain_logsum)(int64_t length, int64_t labels, const double* theta, const ChainTable* tables, int64_t stride,
                       double* mu, double* mu_transitions, double* scratch, double* log_z);
  // exp(x - max), the max and what the smallest finite x is below it (table.forward; no transpose): for label tuples.
  void (*exp_range)(int64_t n, const double* x, ChainTable* table);
  // One step of a chain of label tuples. Source s leads by the tuples begin[s] .. begin[s+1] to as many targets, side
  // by side from target[s] on. Forward: out[target] += alpha[s] x[tuple]. Backward: beta[s] = sum x[tuple] v[target],
  // and pairs[tuple] += alpha[s] v[target].
  void (*tuples_forward)(int64_t sources, const int64_t* begin, const int32_t* target, const double* x,
                         const double* alpha, double* out);
  void (*tuples_backward)(int64_t sources, const int64_t* begin, const int32_t* target, const double* x,
                          const double* v, const double* alpha, double* beta, double* pairs);
  // One step of Viterbi over tuples, to `states` targets: best[target] = max (x[tuple] + before[source]) +
  // entering[target], and the source it comes from, the first one of several (-1: of none).
  void (*tuples_viterbi)(int64_t states, const TupleLinks& links, const double* x, const double* entering,
                         const double* before, double* best, double* from);
  // Viterbi; the best labels and their score, and the second best and theirs unless null (-inf: there are none).
  double (*chain_viterbi)(int64_t length, int64_t labels, const double* theta, const double* transitions,
                          int64_t stride, int32_t* best, int32_t* second, double* value_of_second, double* scratch);
  // The same for the lanes of sequences in lock-step. Log-sums with marginals of the labels and, summed over the lanes
  // into `pairs` unless null, of the (listed) transitions; or the best labels under a sparse table.
  void (*chain_lanes)(const LaneTable& table, ChainLane* lanes, bool marginals, double* pairs, double* scratch);
  void (*chain_lanes_viterbi)(const LaneTable& table, ChainLane* lanes, double* scratch);
  // The same for tuples. `alpha` (rows, states, lane) holds the forward messages of position t in row t % rows, and
  // `tops` the best scores of prefixes; all positions are there if there are as many rows. Marginals, which need that,
  // are of the labels and, summed into `shared` unless null, of the tuples that are used; false, and nothing is added,
  // if a lane proves inexact on the way back. It must be emptied then and all be repeated.
  bool (*tuple_lanes)(const TupleTable& table, ChainLane* lanes, double* shared, int64_t rows, double* alpha,
                      double* scratch);
  void (*tuple_lanes_viterbi)(const TupleTable& table, ChainLane* lanes, int64_t rows, double* tops, int32_t* back,
                              double* scratch);
  // All spans of one width in a dynamic program over spans, for i < n and up to the next multiple of 8:
  // out[i] = sum_t a[t a_step + i] b[t b_step + i], the same with max and +, and the adjoint of the sum:
  // ga[t a_step + i] += g[i] b[t b_step + i] and gb[t b_step + i] += g[i] a[t a_step + i].
  void (*sum_products)(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step,
                       double* out);
  void (*max_sums)(int64_t n, int64_t terms, const double* a, int64_t a_step, const double* b, int64_t b_step,
                   double* out);
  void (*spread_products)(int64_t n, int64_t terms, const double* g, const double* a, int64_t a_step, const double* b,
                          int64_t b_step, double* ga, double* gb);
  // The rules of several cells, whose rows of `sums` and `gradients` have a column per pair, and those of `out` and
  // `adjoints` one per left-hand side. Forward: out[cell][A] += sums[cell][p] weight[rule]. Backward:
  // gradients[cell][p]
  // += weight[rule] adjoints[cell][A] and marginals[rule] += sums[cell][p] adjoints[cell][A], which leave out pairs
  // whose sums are 0.
  void (*rules_forward)(const RuleMatrix& rules, int64_t cells, const double* sums, double* out);
  void (*rules_backward)(const RuleMatrix& rules, int64_t cells, const double* sums, const double* adjoints,
                         double* gradients, double* marginals);
  // The splits of a cell, of which `right` has a row of n numbers each, `step` apart: sums[p] = sum_m left[m]
  // right[m][p], and its adjoint: of_left[m] += sum_p gradients[p] right[m][p] and of_right[m][p] += left[m]
  // gradients[p].
  void (*splits_forward)(int64_t n, int64_t splits, const double* left, const double* right, int64_t step,
                         double* sums);
  void (*splits_backward)(int64_t n, int64_t splits, const double* gradients, const double* left, const double* right,
                          int64_t step, double* of_left, double* of_right);
  // A row of the best alignments; returns the best score of an alignment that ends in this row.
  double (*alignment_best_row)(const AlignmentRow& row);
  // A row of the sums over all alignments, on the way down: the sum of its values, and that of matches times end_y. On
  // the way up: the sum of its values, and the posteriors of what happens in the row.
  double (*alignment_sum_row)(const AlignmentSums& row, double* ends);
  double (*alignment_share_row)(const AlignmentSums& row, AlignmentShares& shares);
};

// Scaled probability space is exact while no product can underflow. Scores of one position and its transitions may
// differ by this much in all (1e-100 as a factor) ...
inline constexpr double kScaledRange = 230.0;
// ... and where -inf may starve a state, no live one may fall below this share of its position.
inline constexpr double kScaledSmallest = 1e-200;

inline constexpr int64_t padded(int64_t labels) { return (labels + 7) / 8 * 8; }  // whole vectors of any width

// Doubles of scratch that chain_logsum and chain_viterbi need.
inline int64_t chain_scratch(int64_t length, int64_t labels) { return (3 * length + labels + 4) * padded(labels); }

const Loops& baseline_loops();
#ifdef MARGRAVE_X86
const Loops& avx2_loops();
const Loops& avx512_loops();
#endif
const Loops* supported_loops(int rank);  // those that this processor runs, best first; null after the last
const Loops& loops();                    // the best that this processor runs, or those that were chosen
bool choose_loops(const char* name);     // another instruction set, for tests; false if this processor lacks it

}  // namespace margrave
