// The hot loops, compiled once for every instruction set (baseline, AVX2 with FMA, AVX-512) and chosen at run time.
//
// They take only plain pointers: code compiled for a newer processor must not leak into functions that the linker
// shares.
#pragma once

#include <cstdint>

namespace margrave {

// Sparse rows of tokens: token t has attributes index[begin[t] .. begin[t+1]), with values unless all are 1 (null).
// Under a packed table, span has for each of these attributes where its weights begin (high half) and which labels they
// belong to (low half). Up to 32 labels, the low half is a bit set; otherwise it is the number of labels, which are in
// WeightRows::column. This saves a look-up for every attribute of every token in every pass.
struct TokenRows {
  const int64_t* begin;
  const int32_t* index;
  const double* value;
  const uint64_t* span;
};
inline constexpr int kSpanBits = 32;
inline constexpr uint64_t kSpanMask = 0xffffffffu;
inline constexpr int64_t kBits = 32;  // largest number of labels that a span stores as bits

// Weights of attributes: of some labels if packed, else of all labels (column is null), row by row.
struct WeightRows {
  int64_t attributes;
  int64_t labels;
  int64_t weights;
  const uint16_t* column;
};

// A transition table for scaled forward-backward.
struct ChainTable {
  double* forward;   // (labels, padded labels): exp(transition - top), [from][to]
  double* backward;  // the same, [to][from]; not filled for more than 32 labels
  double top;        // the largest transition
  double range;      // difference between it and the smallest finite one
  bool forbidden;    // whether there is a -inf
};

struct LaneTable;  // simd/lanes.h
struct TupleTable;
struct ChainLane;

// How the label tuples that end at a position link its states (targets) to those of the position before (sources).
// Targets of the same source are contiguous, and so are the tuples that lead to them.
struct TupleLinks {
  const int64_t* incoming_begin;  // by target
  const int32_t* incoming;        // the tuples that lead to each target, ascending
  const int32_t* prefix;          // by tuple: its source
  const int64_t* outgoing_begin;  // by source: its tuples
};

// The binary rules A -> B C of a grammar for one symbol B (engines/cky.h). Pair p is a symbol C. Its rules are begin[p]
// .. begin[p+1], and their left-hand sides A are contiguous from slot lhs[p] on.
struct RuleMatrix {
  int64_t pairs;
  const int64_t* begin;
  const int32_t* lhs;
  const double* weight;  // by rule
  int64_t slots;         // number of left-hand sides
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

// One row of the sums over all alignments, in exponentials of scores. These are divided by powers of 2 to keep the sums
// of all rows at about the same size. `next` is the row above in the forward direction, and the row below in the
// backward direction. All rows have a 0 before their first cell and zeros from m up to the next multiple of 8 and one
// cell further.
struct AlignmentSums {
  int64_t m;
  const double *pair, *pair_next, *y_open, *y_extend, *begin_y, *end_y;  // by letter of y; pair_next: backward
  double x_open, x_extend, begin_x, end_x;                               // x_open and x_extend are of the lower row
  double carry;                                                          // for consecutive matches
  const double *m_next, *x_next, *y_next;                                // y_next: forward
  double *m_here, *x_here, *y_here;                                      // y_here: forward
};

// Posterior probabilities of the events in a row. y_open[j] and y_extend[j] are of letter j + 1.
struct AlignmentShares {
  const double *m, *x, *y;                             // the forward sums
  double share;                                        // factor of a product of sums of both directions
  double *pair, *y_open, *y_extend, *begin_y, *end_y;  // to add to, padded to a multiple of 8 except `pair`
  double x_open, x_extend, begin_x, end_x;             // results; x_open and x_extend are of the letter below
};

// Sums over the parts of one example, whose marginals moved from `before` to `mu`.
struct Comparison {
  double t_mu;     // <t, mu>
  double v_moved;  // <v, mu - before>
};

struct Loops {
  const char* name;

  // theta (tokens, labels) = sum over a token's attributes of value * w[attribute, :].
  void (*score_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* w, double* theta);
  // The adjoint: w-shaped g += c * value * mu[token, :].
  void (*scatter_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* mu, double c,
                       double* g);
  // The same, and the change of 1/2 |g|^2.
  double (*move_rows)(const TokenRows&, const WeightRows&, int64_t first, int64_t last, const double* mu, double c,
                      double* g);
  // Inner product. The order of the additions is fixed.
  double (*dot)(const double* u, const double* v, int64_t n);
  // v += c u.
  void (*add_scaled)(const double* u, double c, double* v, int64_t n);
  // all += share (own - known), and own = known = all.
  void (*exchange)(double* all, double* own, double* known, double share, int64_t n);
  // next = share t + add v. Returns the largest change.
  double (*propose)(const double* t, const double* v, double share, double add, int64_t n, double* next);
  // change = before - mu.
  Comparison (*compare)(const double* t, const double* v, const double* mu, const double* before, int64_t n,
                        double* change);
  // Rounds numbers to multiples of a step, which have 16 bits (passes/distributions.h). Returns the step. `round_roots`
  // rounds the square roots of numbers that are not negative.
  double (*round_numbers)(double* x, int64_t n, int16_t* multiples);
  double (*round_roots)(double* x, int64_t n, uint16_t* multiples);
  // The numbers of these multiples, the same bits as after rounding.
  void (*unpack_numbers)(const int16_t* multiples, double step, int64_t n, double* x);
  void (*unpack_roots)(const uint16_t* multiples, double step, int64_t n, double* x);
  // log sum exp of n scores, and the softmax.
  double (*softmax)(const double* theta, int64_t n, double* mu);
  // Fills a table, whose `forward` and `backward` are allocated.
  void (*chain_table)(int64_t labels, const double* transitions, ChainTable* table);
  // The same if only the `n` listed transitions, ascending, have nonzero scores; `room` is for n numbers.
  void (*chain_table_listed)(int64_t labels, const int32_t* list, int64_t n, const double* scores, double* room,
                             ChainTable* table);
  // Forward-backward in scaled probability space. `stride` is 0 for one transition table, labels^2 for one per
  // position. False if a value leaves the range where this is exact; the caller repeats the example in log space.
  bool (*chain_logsum)(int64_t length, int64_t labels, const double* theta, const ChainTable* tables, int64_t stride,
                       double* mu, double* mu_transitions, double* scratch, double* log_z);
  // exp(x - max), the max and its difference to the smallest finite x (table.forward; no transpose): for label tuples.
  void (*exp_range)(int64_t n, const double* x, ChainTable* table);
  // One step of a chain of label tuples. Source s leads by the tuples begin[s] .. begin[s+1] to as many contiguous
  // targets from target[s] on. Forward: out[target] += alpha[s] x[tuple]. Backward: beta[s] = sum x[tuple] v[target],
  // and pairs[tuple] += alpha[s] v[target].
  void (*tuples_forward)(int64_t sources, const int64_t* begin, const int32_t* target, const double* x,
                         const double* alpha, double* out);
  void (*tuples_backward)(int64_t sources, const int64_t* begin, const int32_t* target, const double* x,
                          const double* v, const double* alpha, double* beta, double* pairs);
  // One step of Viterbi over tuples, to `states` targets: best[target] = max (x[tuple] + before[source]) +
  // entering[target], and the source that attains it, the first of several (-1: none).
  void (*tuples_viterbi)(int64_t states, const TupleLinks& links, const double* x, const double* entering,
                         const double* before, double* best, double* from);
  // Viterbi: the best labels and their score, and unless null the second best and theirs (-inf: there are none).
  double (*chain_viterbi)(int64_t length, int64_t labels, const double* theta, const double* transitions,
                          int64_t stride, int32_t* best, int32_t* second, double* value_of_second, double* scratch);
  // The same for sequences in lock-step. chain_lanes: log-sums with marginals of the labels and, summed over the lanes
  // into `pairs` unless null, of the (listed) transitions. chain_lanes_viterbi: the best labels under a sparse table.
  void (*chain_lanes)(const LaneTable& table, ChainLane* lanes, bool marginals, double* pairs, double* scratch);
  void (*chain_lanes_viterbi)(const LaneTable& table, ChainLane* lanes, double* scratch);
  // The same for tuples. `alpha` (rows, states, lane) holds the forward messages of position t in row t % rows, and
  // `tops` the best scores of prefixes. With as many rows as positions, all are kept. Marginals require this. They are
  // of the labels and, summed into `shared` unless null, of the used tuples. Returns false and adds nothing if a lane
  // proves inexact on the way back. That lane must then be emptied and the call repeated.
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
  // The rules of several cells. The rows of `sums` and `gradients` have a column per pair, those of `out` and
  // `adjoints` one per left-hand side. Backward skips pairs whose sums are 0.
  // Forward:  out[cell][A] += sums[cell][p] weight[rule].
  // Backward: gradients[cell][p] += weight[rule] adjoints[cell][A], marginals[rule] += sums[cell][p] adjoints[cell][A].
  void (*rules_forward)(const RuleMatrix& rules, int64_t cells, const double* sums, double* out);
  void (*rules_backward)(const RuleMatrix& rules, int64_t cells, const double* sums, const double* adjoints,
                         double* gradients, double* marginals);
  // The splits of a cell; `right` has a row of n numbers for each, `step` apart.
  // Forward:  sums[p] = sum_m left[m] right[m][p].
  // Backward: of_left[m] += sum_p gradients[p] right[m][p] and of_right[m][p] += left[m] gradients[p].
  void (*splits_forward)(int64_t n, int64_t splits, const double* left, const double* right, int64_t step,
                         double* sums);
  void (*splits_backward)(int64_t n, int64_t splits, const double* gradients, const double* left, const double* right,
                          int64_t step, double* of_left, double* of_right);
  // A row of the best alignments. Returns the best score of an alignment that ends in this row.
  double (*alignment_best_row)(const AlignmentRow& row);
  // A row of the sums over all alignments. alignment_sum_row, forward: the sum of its values, and that of matches times
  // end_y. alignment_share_row, backward: the sum of its values, and the posteriors of the events in the row.
  double (*alignment_sum_row)(const AlignmentSums& row, double* ends);
  double (*alignment_share_row)(const AlignmentSums& row, AlignmentShares& shares);
};

// Scaled probability space is exact while no product can underflow. Scores of one position and its transitions may
// differ by this much in total (1e-100 as a factor).
inline constexpr double kScaledRange = 230.0;
// Where -inf may starve a state, no live state may fall below this share of its position.
inline constexpr double kScaledSmallest = 1e-200;

inline constexpr int64_t padded(int64_t labels) { return (labels + 7) / 8 * 8; }  // whole vectors of any width

// Doubles of scratch that chain_logsum and chain_viterbi need.
inline int64_t chain_scratch(int64_t length, int64_t labels) { return (3 * length + labels + 4) * padded(labels); }

const Loops& baseline_loops();
#ifdef MARGRAVE_X86
const Loops& avx2_loops();
const Loops& avx512_loops();
#endif
const Loops* supported_loops(int rank);  // supported by this processor, best first; null after the last
const Loops& loops();                    // the best that this processor supports, or the chosen ones
bool choose_loops(const char* name);     // another instruction set, for tests; false if not supported

}  // namespace margrave
