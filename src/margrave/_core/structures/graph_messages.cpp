// Python bindings of factor graphs with approximate inference.
#include "structures/graph_messages.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/factor_graph.h"

namespace margrave {
namespace {

Schedule schedule_named(const std::string& name) {
  if (name == "sequential") return Schedule::kSequential;
  if (name == "parallel") return Schedule::kParallel;
  if (name == "residual") return Schedule::kResidual;
  throw InputError("unknown schedule '" + name + "'.");
}

}  // namespace

void bind_graph_messages(nb::module_& m) {
  nb::class_<GraphMessagesStructure, FactorGraphStructure>(m, "GraphMessagesStructure")
      .def_prop_ro(
          "sweeps",
          [](const GraphMessagesStructure& s) {
            std::vector<int32_t> sweeps;
            for (int64_t i = 0; i < s.size(); ++i) sweeps.push_back(s.status().sweeps(i));
            return to_numpy(std::move(sweeps));
          },
          nb::rv_policy::move,
          "The number of sweeps of the last messages on every example, negative if they did not converge; 0: there "
          "were none.")
      .def_prop_ro(
          "certified",
          [](const GraphMessagesStructure& s) {
            std::vector<int32_t> certified;
            for (int64_t i = 0; i < s.size(); ++i) certified.push_back(s.status().certified(i));
            return to_numpy(std::move(certified));
          },
          nb::rv_policy::move,
          "For every example 1 if the last best labelling is certified, -1 if it is not, 0 if there was none.")
      .def(
          "max_product",
          [](const GraphMessagesStructure& s, int64_t i, const In<double>& theta) {
            s.check_example(i);
            expect_size(theta, s.parts(i), "theta");
            auto [labelling, converged] = s.max_product(i, theta.data());
            return std::make_tuple(to_numpy(std::move(labelling)), converged);
          },
          "i"_a, "theta"_a,
          "The labels of the highest max-marginals by max-product messages, and whether messages have converged.")
      .def(
          "values",
          [](const GraphMessagesStructure& s, int64_t i, const In<double>& theta, int sweeps) {
            s.check_example(i);
            expect_size(theta, s.parts(i), "theta");
            return to_numpy(s.values(i, theta.data(), sweeps));
          },
          "i"_a, "theta"_a, "sweeps"_a,
          "The approximation of log Z, or the bound on it, before the first and after each of so many parallel "
          "sweeps.");
  m.def(
      "graph_messages",
      [](std::shared_ptr<FactorGraphs> graphs, const std::optional<In<int32_t>>& gold,
         const std::optional<In<int32_t>>& set_of, const std::vector<std::shared_ptr<LabelCost>>& costs,
         const std::optional<In<bool>>& allowed, bool reweighted, const std::string& schedule, int sweeps,
         double tolerance, double damping, int iterations, bool relaxed) -> std::shared_ptr<GraphMessagesStructure> {
        return std::make_shared<GraphMessagesStructure>(
            std::move(graphs), graph_labels(gold, set_of, costs, allowed), reweighted,
            PropagationSettings{schedule_named(schedule), sweeps, tolerance, damping}, RelaxationSettings{iterations},
            relaxed);
      },
      "graphs"_a, "gold"_a.none(), "set_of"_a.none(), "costs"_a, "allowed"_a.none(), "reweighted"_a, "schedule"_a,
      "sweeps"_a, "tolerance"_a, "damping"_a, "iterations"_a, "relaxed"_a,
      "Factor graphs with approximate inference: belief propagation, or its tree-reweighted form, and AD3.");
}

}  // namespace margrave
