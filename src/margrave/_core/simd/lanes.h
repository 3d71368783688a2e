// Label sequences in lock-step: what the loops of simd/lanes_body.h take.
#pragma once

#include <cstdint>

namespace margrave {

inline constexpr int64_t kLockStep = 8;  // sequences at once, one in each lane

// The listed transitions, grouped by their target or by their source. The groups come in the order of their sizes,
// so that the processor can foresee where the next one ends.
struct LaneEntries {
  const int32_t* label;  // of each group
  const int64_t* begin;  // of each group among the entries
  const int32_t* other;  // the label at the other end; they ascend in a group
  const double* number;  // the same as a double
  const double* score;   // the transition
  const double* value;   // exp(transition - top)
  const double* excess;  // the same without the constant
};

// A transition table for lock-step. If it is sparse, the transitions that are not listed score 0.
struct LaneTable {
  int64_t labels;
  const double* forward;  // as in ChainTable
  double top;
  double range;
  bool forbidden;
  bool sparse;
  double constant;  // exp(0 - top)
  LaneEntries by_target;
  LaneEntries by_source;
  const uint8_t* listed;  // [from][to]: 255 or 0
};

// What goes into a lane, and what comes out.
struct ChainLane {
  int64_t length;  // 0 if the lane is empty
  const double* theta;
  double* mu;
  double weight;  // of its expected transitions in the sum
  int32_t* best;
  double log_z;
  double value;  // of the best labels
  bool exact;    // false when a value left the range of scaled probabilities: there is no log_z then, and no mu
};

// Doubles of scratch that the loops need for lanes up to this length.
inline int64_t lanes_scratch(int64_t length, int64_t labels, int64_t listed) {
  return (2 * length + 2) * labels * kLockStep + listed * kLockStep + (length + 1) * kLockStep;
}

// Where negative weights leave less than this of the constant part of a sum, the sparse part is not used for it.
inline constexpr double kLeftOfConstant = 1e-3;

}  // namespace margrave
