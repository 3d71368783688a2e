// Outputs, and what searches for them return.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

using Output = std::vector<int32_t>;  // part ids, repeats allowed

struct ScoredOutput {
  double value;
  Output y;
};

struct CostedOutput {
  int64_t cost;
  double value;
  Output y;
};

// Outputs that a search for the best one at each cost may leave out.
struct Needless {
  double least = -kInfinity;  // those with scores below this
  // If positive, costs are the number of correct items plus `base` times the number of wrong ones. An output may then
  // be left out if another one has no lower score, no more correct items, and no fewer wrong ones.
  int64_t base = 0;
};

}  // namespace margrave
