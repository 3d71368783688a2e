// Python bindings of factor graphs with approximate inference.
#include "structures/graph_messages.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/factor_graph.h"
#include "bindings/inference_status.h"
#include "engines/graph_outputs.h"
#include "protocol/checks.h"

namespace margrave {
namespace {

Schedule schedule_named(const std::string& name) {
  if (name == "sequential") return Schedule::kSequential;
  if (name == "parallel") return Schedule::kParallel;
  if (name == "residual") return Schedule::kResidual;
  throw InputError("unknown schedule '" + name + "'.");
}

// A solver that is a Python object with the method solve(g, theta) -> (bound, marginals of parts, marginals of labels).
class PythonSolver final : public RelaxationSolver {
 public:
  PythonSolver(nb::object solver, std::shared_ptr<const FactorGraphs> graphs)
      : solver_(std::move(solver)), graphs_(std::move(graphs)) {}
  ~PythonSolver() override {
    const nb::gil_scoped_acquire gil;
    solver_.reset();
  }
  PythonSolver(const PythonSolver&) = delete;
  PythonSolver& operator=(const PythonSolver&) = delete;

  double solve(int64_t g, const double* theta, double* mu, double* labels) const override {
    int64_t label_count = 0;
    for (int64_t v = 0; v < graphs_->variables(g); ++v) label_count += graphs_->labels(g, v);
    const nb::gil_scoped_acquire gil;
    const auto [bound, shares, of_labels] = nb::cast<std::tuple<double, In<double>, In<double>>>(
        solver_.attr("solve")(g, copy_array(theta, graphs_->parts(g))));
    expect_size(shares, graphs_->parts(g), "the shares of the parts");
    expect_size(of_labels, label_count, "the shares of the labels");
    std::copy_n(shares.data(), graphs_->parts(g), mu);
    std::copy_n(of_labels.data(), label_count, labels);
    return bound;
  }

 private:
  nb::object solver_;
  std::shared_ptr<const FactorGraphs> graphs_;
};

}  // namespace

static void bind(nb::module_& m) {
  after<FactorGraphStructure>();
  nb::class_<GraphMessagesStructure, FactorGraphStructure> bound(m, "GraphMessagesStructure");
  bind_status<GraphMessagesStructure>(bound);
  bound
      .def(
          "max_product",
          [](const GraphMessagesStructure& s, int64_t i, const In<double>& theta) {
            s.check_example(i);
            expect_size(theta, s.parts(i), "theta");
            auto [labeling, converged] = s.max_product(i, theta.data());
            return std::make_tuple(to_numpy(std::move(labeling)), converged);
          },
          "i"_a, "theta"_a,
          "The labels with the highest max-marginals by max-product messages, and whether messages have converged.")
      .def(
          "values",
          [](const GraphMessagesStructure& s, int64_t i, const In<double>& theta, int sweeps) {
            s.check_example(i);
            expect_size(theta, s.parts(i), "theta");
            checked_count(sweeps, "sweeps", 0, 1'000'000);
            return to_numpy(s.values(i, theta.data(), sweeps, check_signals));
          },
          "i"_a, "theta"_a, "sweeps"_a,
          "The approximation of log Z, or the bound on it, before the first and after each of this many parallel "
          "sweeps.");
  m.def(
      "has_outputs",
      [](const FactorGraphs& graphs, int64_t g) { return check_number(g, graphs.graphs()), has_outputs(graphs, g); },
      "graphs"_a, "g"_a,
      "Whether the hard factors and listed tuples of a graph allow an output; None if finding out takes too long.");
  m.def(
      "graph_messages",
      [](std::shared_ptr<FactorGraphs> graphs, const std::optional<In<int32_t>>& gold,
         const std::optional<In<int32_t>>& set_of, const std::vector<std::shared_ptr<LabelCost>>& costs,
         const std::optional<In<bool>>& allowed, bool reweighted, const std::string& schedule, int sweeps,
         double tolerance, double damping, int iterations, bool relaxed, bool exact, double most_kept,
         nb::object solver) -> std::shared_ptr<GraphMessagesStructure> {
        std::shared_ptr<const RelaxationSolver> program;
        if (!solver.is_none()) program = std::make_shared<PythonSolver>(std::move(solver), graphs);
        return std::make_shared<GraphMessagesStructure>(
            std::move(graphs), graph_labels(gold, set_of, costs, allowed), reweighted,
            PropagationSettings{schedule_named(schedule), sweeps, tolerance, damping}, RelaxationSettings{iterations},
            relaxed, exact, most_kept, std::move(program));
      },
      "graphs"_a, "gold"_a.none(), "set_of"_a.none(), "costs"_a, "allowed"_a.none(), "reweighted"_a, "schedule"_a,
      "sweeps"_a, "tolerance"_a, "damping"_a, "iterations"_a, "relaxed"_a, "exact"_a = false, "most_kept"_a = 0.0,
      "solver"_a.none() = nb::none(),
      "Factor graphs with approximate inference: belief propagation, or its tree-reweighted form, and AD3.");
}

static const Registration registration(bind);

}  // namespace margrave
