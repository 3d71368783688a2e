// A range of examples of another problem, for threads, checkpoints and clusters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "protocol/checks.h"
#include "protocol/forwarding.h"
#include "protocol/problem.h"

namespace margrave {

// Examples [begin, end).
class SliceProblem final : public ForwardingProblem {
 public:
  SliceProblem(std::shared_ptr<const Problem> problem, int64_t begin, int64_t end)
      : ForwardingProblem(std::move(problem), begin, end - begin) {
    if (begin < 0 || end > whole().size())
      throw InputError("slice " + std::to_string(begin) + ":" + std::to_string(end) + " is out of range: there are " +
                       std::to_string(whole().size()) + " examples.");
  }
};

}  // namespace margrave
