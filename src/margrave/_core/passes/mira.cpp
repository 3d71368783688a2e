// Python bindings of MIRA.
#include "passes/mira.h"

#include <tuple>
#include <vector>

#include "bindings/ascent.h"
#include "passes/kbest_mira.h"
#include "protocol/checks.h"
#include "protocol/problem.h"

namespace margrave {
namespace {

// Runs pass(ascent, state, visits). Returns the steps so far, what the pass adds to the dual in addition to |w|^2, and
// the numbers of inferences, of examples with a negative loss and of unsolved exact updates.
template <typename Pass>
std::tuple<int64_t, double, int64_t, int64_t, int64_t> run_mira(const Problem& p, InOut<double>& w,
                                                                const LossFamily& family, const In<int64_t>& order,
                                                                int threads, Sharing* sharing, InOut<double>& sum,
                                                                int64_t step, double* spent, const Pass& pass) {
  double* sums = checked(sum, p.dim(), "sum");
  MiraPass state{checked_steps(step), spent, {}};
  run_pass(
      p, w, family, order, threads, sharing,
      [&](const Ascent& ascent, const std::vector<int64_t>& visits) { pass(ascent, state, visits); }, sums);
  double dual = 0;
  for (const double value : state.dual) dual += value;
  return {state.step(static_cast<int64_t>(state.dual.size()) - 1), dual, state.inferences.load(), state.negative.load(),
          state.unsolved.load()};
}

}  // namespace

static void bind(nb::module_& m) {
  m.attr("MIRA_SOLVED") = mira::kSolved;
  m.def(
      "mira_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, InOut<double>& sum, int64_t step, bool exact, bool prediction, InOut<double>& spent) {
        const MiraUpdate kind = exact        ? MiraUpdate::kExact
                                : prediction ? MiraUpdate::kPrediction
                                             : MiraUpdate::kClosedForm;
        double* steps = spent.size() == 0 ? nullptr : checked(spent, p.size(), "spent");
        return run_mira(p, w, family, order, threads, sharing, sum, step, steps,
                        [&](const Ascent& ascent, MiraPass& state, const std::vector<int64_t>& visits) {
                          mira_pass(ascent, state, kind, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "sum"_a.noconvert(),
      "step"_a, "exact"_a, "prediction"_a, "spent"_a.noconvert(),
      "One pass of dual coordinate ascent over `order`. Returns the steps so far, what the pass adds to the dual in "
      "addition to |w|^2, and the numbers of inferences, of visits without a step because approximate inference gave a "
      "negative loss, and of unsolved exact updates. `spent` is the sum of all steps on each example, bounded by C. If "
      "it is empty, C bounds each step.");
  m.def(
      "kbest_mira_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, int threads,
         Sharing* sharing, InOut<double>& sum, int64_t step, int64_t k) {
        checked_count(k, "outputs per example", 1);
        return run_mira(p, w, family, order, threads, sharing, sum, step, nullptr,
                        [&](const Ascent& ascent, MiraPass& state, const std::vector<int64_t>& visits) {
                          kbest_mira_pass(ascent, state, k, visits, threads, check_signals);
                        });
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "threads"_a, "sharing"_a.none(), "sum"_a.noconvert(),
      "step"_a, "k"_a, "One pass of k-best MIRA over `order`; as mira_pass.");
}

static const Registration registration(bind);

}  // namespace margrave
