// Label sequences in lock-step: the arguments of the loops of simd/lanes_body.h.
#pragma once

#include <cstdint>

namespace margrave {

inline constexpr int64_t kLockStep = 8;  // number of sequences at once, one per lane

// The listed transitions, grouped by their target or by their source. Groups are sorted by size, so branch prediction
// can foresee where the next one ends.
struct LaneEntries {
  int64_t groups;
  int64_t empty;         // the number of empty groups, which come first
  const int32_t* label;  // by group: the label, or the state of tuples
  const int64_t* begin;  // by group: its first entry
  const int32_t* other;  // the label at the other end; ascending within a group
  const double* number;  // the same as a double
  const double* score;   // the transition
  const double* value;   // exp(transition - top)
  const double* excess;  // the same without the constant
  const int32_t* part;   // the number of the transition
};

// The scores of transitions into one position: the largest, its difference to the smallest finite one, and whether
// there is a -inf.
struct LaneScores {
  int64_t labels;
  double top;
  double range;
  bool forbidden;
};

// A transition table for lock-step. If it is sparse, transitions that are not listed score 0.
struct LaneTable : LaneScores {
  const double* forward;  // as in ChainTable
  bool sparse;
  double constant;  // exp(0 - top)
  LaneEntries by_target;
  LaneEntries by_source;
  const uint8_t* listed;  // [from][to]: 255 or 0
};

// Tuples of m labels. They are the states of position m - 1 and, if m is the order of the chain, of all that follow.
// Tuples that begin with the same m - 1 labels are contiguous.
struct TupleStates {
  int64_t count;
  const int64_t* begin;   // by tuple of m - 1 labels: the tuples that begin with it
  const int32_t* prefix;  // the tuple of m - 1 labels that it begins with
  const int32_t* suffix;  // the tuple of m - 1 labels that it ends with
  const int32_t* last;    // its last label
  const double* own;      // its own score
  const double* sum;      // its score and those of its suffixes
  const double* factor;   // exp(sum - the largest one)
  const int32_t* used;    // those whose expected counts are requested ...
  int64_t used_count;
  int64_t part;  // ... and where they begin among the parts
};

inline constexpr int64_t kHighestOrder = 3;

// The scores of label tuples for lock-step in chains of order 2 and 3. Every state that ends with a tuple of order - 1
// labels leads to every state that begins with it. Tuples of order + 1 labels that are not listed score 0.
struct TupleTable : LaneScores {
  int64_t order;
  TupleStates states[kHighestOrder + 1];  // by the number of labels
  const int64_t* source_begin;            // by tuple of order - 1 labels: the states that end with it, ascending
  const int32_t* source;
  double constant;        // exp(0 - the largest score of a tuple of order + 1 labels)
  LaneEntries by_target;  // of tuples of order + 1 labels, from state to state
  LaneEntries by_source;
  int64_t part;             // where these tuples begin among the parts
  const int32_t* group_of;  // by target: its group among the nonempty ones of by_target, or -1
};

// Input and output of a lane.
struct ChainLane {
  int64_t length;  // 0 if the lane is empty
  const double* theta;
  double* mu;
  double weight;  // of its expected transitions in the sum
  int32_t* best;
  double log_z;
  double value;  // of the best labels
  bool exact;    // false if a value left the range of scaled probabilities: log_z and mu are then undefined
};

// Doubles of scratch that the loops need for lanes up to this length.
inline int64_t lanes_scratch(int64_t length, int64_t labels, int64_t listed) {
  return (2 * length + 2) * labels * kLockStep + listed * kLockStep + (length + 1) * kLockStep;
}

// The same for tuples, in addition to the messages ...
inline int64_t tuples_scratch(const TupleTable& table, int64_t length) {
  int64_t states = 0;
  int64_t used = 0;
  for (int64_t m = 1; m <= table.order; ++m) {
    states += table.states[m].count;
    used += table.states[m].used_count;
  }
  const int64_t listed = table.by_source.begin[table.by_source.groups];
  return (5 * states + used + listed + length * (table.labels + 1) + 1) * kLockStep;
}
// ... and for the back pointers of the best sequences.
inline int64_t tuples_back(const TupleTable& table, int64_t length) {
  const int64_t groups = table.by_target.groups - table.by_target.empty;
  return length * (table.states[table.order - 1].count + groups) * kLockStep;
}

// If negative weights leave less than this share of the constant part of a sum, the sparse sum is not used.
inline constexpr double kLeftOfConstant = 1e-3;

}  // namespace margrave
