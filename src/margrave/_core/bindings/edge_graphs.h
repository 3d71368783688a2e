// Helpers of the bindings of lattices and forests: lists of numbers by edge, and the best distinct strings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"

namespace margrave {

// Lists `first` to `last` of concatenated lists; list k is from begin[k] up to begin[k + 1].
inline std::vector<std::vector<int32_t>> lists_of(const In<int64_t>& begin, const In<int32_t>& values, int64_t first,
                                                  int64_t last, const char* what) {
  std::vector<std::vector<int32_t>> lists;
  for (int64_t k = first; k < last; ++k) {
    const int64_t from = begin.data()[k];
    const int64_t to = begin.data()[k + 1];
    if (from < 0 || to < from || to > static_cast<int64_t>(values.size()))
      throw InputError(std::string("the bounds of ") + what + " must ascend from 0 to their number.");
    lists.emplace_back(values.data() + from, values.data() + to);
  }
  return lists;
}

template <typename Graphs>
std::vector<std::pair<double, Array<int32_t>>> kbest_strings(const Graphs& graphs, int64_t i, const In<double>& theta,
                                                             int64_t k) {
  graphs.check_example(i);
  expect_size(theta, graphs.parts(i), "theta");
  if (k < 1) throw InputError("k must be at least 1.");
  checked_count(k, "strings");
  for (size_t part = 0; part < theta.size(); ++part)
    if (!is_score(theta.data()[part])) throw InputError("scores must be numbers below infinity.");
  std::vector<ScoredOutput> ys;
  {
    const nb::gil_scoped_release release;
    Scratch scratch;
    graphs.kbest_strings(i, theta.data(), k, ys, scratch);
  }
  std::vector<std::pair<double, Array<int32_t>>> found;
  for (ScoredOutput& y : ys) found.emplace_back(y.value, to_numpy(std::move(y.y)));
  return found;
}

}  // namespace margrave
