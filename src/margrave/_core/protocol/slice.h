// A range of examples of another problem, for threads, checkpoints and clusters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "protocol/checks.h"
#include "protocol/forwarding.h"
#include "protocol/problem.h"

namespace margrave {

// Examples [begin, end).
class SliceProblem final : public ForwardingProblem {
 public:
  SliceProblem(const std::shared_ptr<const Problem>& problem, int64_t begin, int64_t end)
      : ForwardingProblem(problem, begin, length(*problem, begin, end)) {}

 private:
  static int64_t length(const Problem& problem, int64_t begin, int64_t end) {
    if (begin < 0 || end < begin || end > problem.size())
      throw InputError("slice " + std::to_string(begin) + ":" + std::to_string(end) + " is out of range: there are " +
                       std::to_string(problem.size()) + " examples.");
    return end - begin;
  }
};

}  // namespace margrave
