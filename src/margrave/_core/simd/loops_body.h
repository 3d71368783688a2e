// Bodies of the hot loops; included once per instruction set, each time in a separate file (see loops.h). Everything
// has internal linkage. Only loops.h and intrinsics are used, so no code that the linker shares with other files is
// compiled for a newer processor.
#include "simd/alignment_body.h"
#include "simd/chain_body.h"
#include "simd/gibbs_body.h"
#include "simd/lanes_body.h"
#include "simd/rows_body.h"
#include "simd/rules_body.h"
#include "simd/spans_body.h"
#include "simd/tuple_lanes_body.h"
#include "simd/tuples_body.h"

namespace margrave {
namespace {

// ---- dispatch on the number of labels ----

using ScoreRows = decltype(Loops::score_rows);
using MoveRows = decltype(Loops::move_rows);
using MakeTable = decltype(Loops::chain_table);
using MakeListed = decltype(Loops::chain_table_listed);
using Logsum = decltype(Loops::chain_logsum);
using Viterbi = decltype(Loops::chain_viterbi);

#define MARGRAVE_1_TO_32(F)                                                     \
  {F<0>,  F<1>,  F<2>,  F<3>,  F<4>,  F<5>,  F<6>,  F<7>,  F<8>,  F<9>,  F<10>, \
   F<11>, F<12>, F<13>, F<14>, F<15>, F<16>, F<17>, F<18>, F<19>, F<20>, F<21>, \
   F<22>, F<23>, F<24>, F<25>, F<26>, F<27>, F<28>, F<29>, F<30>, F<31>, F<32>}
#define MARGRAVE_1_TO_8(F) {F<0>, F<1>, F<2>, F<3>, F<4>, F<5>, F<6>, F<7>, F<8>}

constexpr ScoreRows kScoreFull[] = MARGRAVE_1_TO_32(score_full);
template <int L>
constexpr MoveRows kScatter = scatter_full<false, L>;
template <int L>
constexpr MoveRows kMove = scatter_full<true, L>;
constexpr MoveRows kScatterFull[] = MARGRAVE_1_TO_32(kScatter);
constexpr MoveRows kMoveFull[] = MARGRAVE_1_TO_32(kMove);
constexpr MakeTable kTable[] = MARGRAVE_1_TO_8(chain_table);
constexpr MakeListed kListed[] = MARGRAVE_1_TO_8(chain_table_listed);
constexpr Logsum kLogsum[] = MARGRAVE_1_TO_8(chain_logsum);
constexpr Viterbi kViterbi[] = MARGRAVE_1_TO_8(chain_viterbi);

#undef MARGRAVE_1_TO_32
#undef MARGRAVE_1_TO_8

inline int64_t of_32(int64_t labels) { return labels <= 32 ? labels : 0; }
inline int64_t of_8(int64_t labels) { return labels <= 32 ? (labels + kLanes - 1) / kLanes : 0; }

template <bool Valued, int N = kBits / kLanes>
ScoreRows score_packed(int64_t labels) {
  if (labels > kBits) return score_columns<Valued>;
  if (labels > kLanes * (N - 1)) return score_bits<Valued, N>;
  if constexpr (N > 1) return score_packed<Valued, N - 1>(labels);
  return nullptr;
}

template <bool Measured, bool Valued, int N = kBits / kLanes>
MoveRows scatter_packed(int64_t labels) {
  if (labels > kBits) return scatter_columns<Measured, Valued>;
  if (labels > kLanes * (N - 1)) return scatter_bits<Measured, Valued, N>;
  if constexpr (N > 1) return scatter_packed<Measured, Valued, N - 1>(labels);
  return nullptr;
}

void score_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* w,
                double* theta) {
  ScoreRows run = kScoreFull[of_32(rows.labels)];
  if (rows.column) run = x.value ? score_packed<true>(rows.labels) : score_packed<false>(rows.labels);
  run(x, rows, first, last, w, theta);
}

template <bool Measured>
double any_scatter(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                   double* g) {
  MoveRows run = (Measured ? kMoveFull : kScatterFull)[of_32(rows.labels)];
  if (rows.column)
    run = x.value ? scatter_packed<Measured, true>(rows.labels) : scatter_packed<Measured, false>(rows.labels);
  return run(x, rows, first, last, mu, c, g);
}

void scatter_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                  double* g) {
  any_scatter<false>(x, rows, first, last, mu, c, g);
}

double move_rows(const TokenRows& x, const WeightRows& rows, int64_t first, int64_t last, const double* mu, double c,
                 double* g) {
  return any_scatter<true>(x, rows, first, last, mu, c, g);
}

void any_chain_table(int64_t labels, const double* transitions, ChainTable* out) {
  kTable[of_8(labels)](labels, transitions, out);
}

void any_chain_table_listed(int64_t labels, const int32_t* list, int64_t n, const double* scores, double* room,
                            ChainTable* out) {
  kListed[of_8(labels)](labels, list, n, scores, room, out);
}

bool any_chain_logsum(int64_t length, int64_t labels, const double* theta, const ChainTable* tables, int64_t stride,
                      double* mu, double* mu_transitions, double* scratch, double* log_z) {
  return kLogsum[of_8(labels)](length, labels, theta, tables, stride, mu, mu_transitions, scratch, log_z);
}

double any_chain_viterbi(int64_t length, int64_t labels, const double* theta, const double* transitions, int64_t stride,
                         int32_t* best, int32_t* second, double* value_of_second, double* scratch) {
  return kViterbi[of_8(labels)](length, labels, theta, transitions, stride, best, second, value_of_second, scratch);
}

constexpr Loops loops_named(const char* name) {
  return {name,
          score_rows,
          scatter_rows,
          move_rows,
          dot,
          add_scaled,
          exchange,
          propose,
          compare,
          round_numbers,
          round_roots,
          unpack_numbers,
          unpack_roots,
          softmax,
          any_chain_table,
          any_chain_table_listed,
          any_chain_logsum,
          exp_range,
          tuples_forward,
          tuples_backward,
          tuples_viterbi,
          any_chain_viterbi,
          chain_lanes,
          chain_lanes_viterbi,
          tuple_lanes,
          tuple_lanes_viterbi,
          sum_products,
          max_sums,
          spread_products,
          rules_forward,
          rules_backward,
          splits_forward,
          splits_backward,
          alignment_best_row,
          alignment_sum_row,
          alignment_share_row};
}

}  // namespace
}  // namespace margrave
