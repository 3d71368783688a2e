// Semirings: how dynamic programs combine the values of choices (plus) and of parts (times).
//
// Trees and grammars are written over these. Lattices, segmentations, trellises and alignments are not: their sums
// divide by the best score of a node, or by the total of a position, and their maxima keep the choice beside the value.
#pragma once

#include "engines/wide.h"
#include "protocol/checks.h"

namespace margrave::semiring {

// Maxima of sums.
struct Max {
  using Value = double;
  static constexpr Value zero() { return -kInfinity; }
  static constexpr Value one() { return 0; }
  static Value plus(Value a, Value b) { return a < b ? b : a; }
  static Value times(Value a, Value b) { return a + b; }
};

// Sums of products.
struct Sum {
  using Value = double;
  static constexpr Value zero() { return 0; }
  static constexpr Value one() { return 1; }
  static Value plus(Value a, Value b) { return a + b; }
  static Value times(Value a, Value b) { return a * b; }
};

// Sums of products of any size.
struct WideSum {
  using Value = Wide;
  static Value zero() { return Wide(); }
  static Value one() { return Wide(1.0); }
  static Value plus(Value a, Value b) { return a + b; }
  static Value times(Value a, Value b) { return a * b; }
};

}  // namespace margrave::semiring
