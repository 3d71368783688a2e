// Helpers of the bindings of the dual learners' passes. State is in arrays owned by Python, so it can be saved and
// restored. Only the outputs that a block remembers are in the core.
#pragma once

#include <memory>
#include <vector>

#include "bindings/binding.h"
#include "passes/dual.h"
#include "protocol/checks.h"
#include "protocol/problem.h"

namespace margrave {

inline int64_t all_parts(const Problem& p) { return part_offsets(p).back(); }

inline double* checked(InOut<double>& array, int64_t n, const char* what) {
  expect_size(array, n, what);
  return array.data();
}

// The parts for which Python stores numbers; null means all.
using Stored = std::shared_ptr<const StoredParts>;

inline Stored checked(const Stored& stored, const Problem& p) {
  if (!stored) return std::make_shared<StoredParts>(p);
  stored->check(p);
  return stored;
}

// Runs pass(ascent, visits) without the GIL.
template <typename Pass>
auto run_pass(const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
              Sharing* sharing, const Pass& pass, double* sum = nullptr) {
  expect_size(w, p.dim(), "w");
  expect_gold(p);
  family.check(p);
  const std::vector<int64_t> visits = to_vector(order);
  if (checked_threads(threads) > 1 && !sharing) throw InputError("several threads need the Sharing of their problem.");
  if (sharing) sharing->check(p);
  const Ascent ascent{p, family, w.data(), sum, sharing};
  const nb::gil_scoped_release release;
  return pass(ascent, visits);
}

}  // namespace margrave
