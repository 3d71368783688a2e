// Outputs of all examples as Python arrays: where those of each example begin, where the parts of each begin, and the
// parts.
#pragma once

#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {

inline void check_parts(const Output& y, int64_t n) {
  for (const int32_t part : y)
    if (part < 0 || part >= n)
      throw InputError("part " + std::to_string(part) + " is out of range: there are " + std::to_string(n) + ".");
}

// Concatenated outputs: where the parts of each begin, and the parts.
class PartLists {
 public:
  void add(const Output& y) {
    parts_.insert(parts_.end(), y.begin(), y.end());
    begin_.push_back(static_cast<int64_t>(parts_.size()));
  }
  int64_t size() const { return static_cast<int64_t>(begin_.size()) - 1; }
  auto arrays() && { return std::make_pair(to_numpy(std::move(begin_)), to_numpy(std::move(parts_))); }

 private:
  std::vector<int64_t> begin_{0};
  std::vector<int32_t> parts_;
};

class OutputArrays {
 public:
  void add(const Output& y) { lists_.add(y); }
  // Starts the next example.
  void end_example() { begin_.push_back(lists_.size()); }

  // The three arrays, and others that belong to them.
  template <typename... Others>
  auto with(std::vector<Others>&&... others) && {
    auto [part_begin, parts] = std::move(lists_).arrays();
    return std::make_tuple(to_numpy(std::move(begin_)), std::move(part_begin), std::move(parts),
                           to_numpy(std::move(others))...);
  }

 private:
  std::vector<int64_t> begin_{0};
  PartLists lists_;
};

inline void check_bounds(const In<int64_t>& bounds, int64_t last) {
  bool rising = bounds.data()[0] == 0 && bounds.data()[bounds.size() - 1] == last;
  for (size_t k = 1; k < bounds.size(); ++k) rising &= bounds.data()[k - 1] <= bounds.data()[k];
  if (!rising) throw InputError("these arrays do not describe outputs: each must begin where the one before it ends.");
}

// Calls visit(i, k, y) for every output y of example i, where k is its index. Checks everything first: a checkpoint may
// be corrupt.
template <typename Visit>
void for_outputs(const Problem& p, const In<int64_t>& begin, const In<int64_t>& part_begin, const In<int32_t>& parts,
                 const Visit& visit) {
  expect_size(begin, p.size() + 1, "begin");
  check_bounds(begin, static_cast<int64_t>(part_begin.size()) - 1);
  check_bounds(part_begin, static_cast<int64_t>(parts.size()));
  for (int64_t i = 0; i < p.size(); ++i)
    for (int64_t k = begin.data()[i]; k < begin.data()[i + 1]; ++k) {
      Output y(parts.data() + part_begin.data()[k], parts.data() + part_begin.data()[k + 1]);
      check_parts(y, p.parts(i));
      visit(i, k, std::move(y));
    }
}

}  // namespace margrave
