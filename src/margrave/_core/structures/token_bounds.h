// A check of where the tokens of each example begin, for structures of sequences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

// Every example has at least one token, and few enough that products with the number of labels do not overflow.
inline void check_token_bounds(const std::vector<int64_t>& begin) {
  if (begin.empty() || begin.front() != 0) throw InputError("token bounds must begin with 0.");
  for (size_t i = 1; i < begin.size(); ++i) {
    if (begin[i] <= begin[i - 1]) throw InputError("example " + std::to_string(i - 1) + " has no tokens.");
    if (begin[i] - begin[i - 1] > kMostCount)
      throw InputError("example " + std::to_string(i - 1) + " has more than " + std::to_string(kMostCount) +
                       " tokens.");
  }
}

}  // namespace margrave
