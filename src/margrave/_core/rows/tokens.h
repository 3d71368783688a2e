// Sparse rows of attributes, the input of tables, sparse parts and kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

// Sparse rows of all tokens of a dataset.
struct Tokens {
  std::vector<int64_t> example_begin{0};  // (examples + 1) in tokens
  std::vector<int64_t> row_begin{0};      // (tokens + 1) in entries
  std::vector<int32_t> index;
  std::vector<double> value;  // empty: all 1

  int64_t examples() const { return static_cast<int64_t>(example_begin.size()) - 1; }
  int64_t tokens() const { return static_cast<int64_t>(row_begin.size()) - 1; }

  // The same rows with attribute a renamed to number[a].
  Tokens renumbered(const int32_t* number, int64_t n) const {
    Tokens result = *this;
    for (int32_t& a : result.index) {
      if (a >= n)
        throw InputError("attribute " + std::to_string(a) + " occurs, and there are new numbers for " +
                         std::to_string(n) + ".");
      if (number[a] < 0)
        throw InputError("attribute " + std::to_string(a) + " occurs, and its new number is negative.");
      a = number[a];
    }
    return result;
  }

  void check() const {
    const auto ragged = [](const std::vector<int64_t>& begin, int64_t total) {
      return !begin.empty() && begin.front() == 0 && begin.back() == total &&
             std::is_sorted(begin.begin(), begin.end());
    };
    if (!ragged(example_begin, tokens()) || !ragged(row_begin, static_cast<int64_t>(index.size())))
      throw InputError("the bounds of token rows must ascend from 0 to their number.");
    if (!value.empty() && value.size() != index.size()) throw InputError("token rows need as many values as indices.");
    for (const int32_t a : index)
      if (a < 0) throw InputError("an attribute's index must not be negative.");
    for (const double v : value)
      if (!std::isfinite(v)) throw InputError("attribute values must be finite.");
  }
};

}  // namespace margrave
