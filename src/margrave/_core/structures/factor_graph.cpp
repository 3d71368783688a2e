// Python bindings of factor graphs.
#include "structures/factor_graph.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {
namespace {

// A rule that is a Python object with the methods maximum(scores) -> (value, labels) and sum(scores) -> (value,
// marginals).
class PythonRule final : public OwnRule {
 public:
  PythonRule(nb::object rule, int64_t variables, int64_t labels)
      : rule_(std::move(rule)), variables_(variables), labels_(labels) {}
  ~PythonRule() override {
    const nb::gil_scoped_acquire gil;
    rule_.reset();
  }
  PythonRule(const PythonRule&) = delete;
  PythonRule& operator=(const PythonRule&) = delete;

  double maximum(const double* scores, int32_t* labels) const override {
    const nb::gil_scoped_acquire gil;
    const auto answer = nb::cast<std::pair<double, In<int32_t>>>(rule_.attr("maximum")(copy_array(scores, labels_)));
    expect_size(answer.second, variables_, "the labels of a rule's maximum");
    std::copy_n(answer.second.data(), variables_, labels);
    return answer.first;
  }
  double sum(const double* scores, double* marginals) const override {
    const nb::gil_scoped_acquire gil;
    const auto answer = nb::cast<std::pair<double, In<double>>>(rule_.attr("sum")(copy_array(scores, labels_)));
    expect_size(answer.second, labels_, "the marginals of a rule's sum");
    std::copy_n(answer.second.data(), labels_, marginals);
    return answer.first;
  }

 private:
  nb::object rule_;
  int64_t variables_;
  int64_t labels_;
};

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<OwnRule>(m, "OwnRule", "A hard factor written in Python.");
  m.def(
      "own_rule",
      [](nb::object rule, int64_t variables, int64_t labels) -> std::shared_ptr<OwnRule> {
        return std::make_shared<PythonRule>(std::move(rule), checked_count(variables, "variables", 1),
                                            checked_count(labels, "labels", 1));
      },
      "rule"_a, "variables"_a, "labels"_a,
      "A rule with the methods maximum and sum over this many variables, with this many labels in total.");
  nb::class_<FactorGraphs>(m, "FactorGraphs", "The factor graphs of a dataset.")
      .def(
          "__init__",
          [](FactorGraphs* self, const In<int64_t>& graph_of, const In<int64_t>& variable_begin,
             const In<int32_t>& labels, const In<int64_t>& factor_begin, const In<uint8_t>& form,
             const In<int64_t>& scope_begin, const In<int32_t>& scope, const In<int64_t>& listed_begin,
             const In<int64_t>& listed, const In<int64_t>& hard_begin, const In<uint8_t>& hard_kind,
             const In<int64_t>& literal_begin, const In<int32_t>& literal_variable, const In<int32_t>& literal_value,
             const In<int64_t>& data_begin, const In<int32_t>& data, const std::vector<std::shared_ptr<OwnRule>>& own) {
            new (self) FactorGraphs({.graph_of = to_vector(graph_of),
                                     .variable_begin = to_vector(variable_begin),
                                     .labels = to_vector(labels),
                                     .factor_begin = to_vector(factor_begin),
                                     .form = to_vector(form),
                                     .scope_begin = to_vector(scope_begin),
                                     .scope = to_vector(scope),
                                     .listed_begin = to_vector(listed_begin),
                                     .listed = to_vector(listed),
                                     .hard_begin = to_vector(hard_begin),
                                     .hard_kind = to_vector(hard_kind),
                                     .literal_begin = to_vector(literal_begin),
                                     .literal_variable = to_vector(literal_variable),
                                     .literal_value = to_vector(literal_value),
                                     .data_begin = to_vector(data_begin),
                                     .data = to_vector(data)},
                                    std::vector<std::shared_ptr<const OwnRule>>(own.begin(), own.end()));
          },
          nb::kw_only(), "graph_of"_a, "variable_begin"_a, "labels"_a, "factor_begin"_a, "form"_a, "scope_begin"_a,
          "scope"_a, "listed_begin"_a, "listed"_a, "hard_begin"_a, "hard_kind"_a, "literal_begin"_a,
          "literal_variable"_a, "literal_value"_a, "data_begin"_a, "data"_a, "own"_a)
      .def_prop_ro("examples", &FactorGraphs::examples, "The number of examples.")
      .def_prop_ro("graphs", &FactorGraphs::graphs, "The number of graphs.")
      .def(
          "parts",
          [](const FactorGraphs& graphs, int64_t g) { return check_number(g, graphs.graphs()), graphs.parts(g); },
          "g"_a, "The number of parts of a graph.");
  nb::class_<FactorGraphStructure, Structure>(m, "FactorGraphStructure", "Labelings of factor graphs.")
      .def_prop_ro(
          "variables",
          [](const FactorGraphStructure& s) {
            std::vector<int64_t> counts;
            for (int64_t i = 0; i < s.size(); ++i) counts.push_back(s.variables(i));
            return to_numpy(std::move(counts));
          },
          nb::rv_policy::move, "The number of variables of every example.")
      .def_prop_ro(
          "most_labels",
          [](const FactorGraphStructure& s) {
            int64_t most = 0;
            for (int64_t g = 0; g < s.graphs().graphs(); ++g)
              for (int64_t v = 0; v < s.graphs().variables(g); ++v) most = std::max(most, s.graphs().labels(g, v));
            return most;
          },
          "The largest number of labels of a variable.")
      .def_prop_ro(
          "arities",
          [](const FactorGraphStructure& s) {
            std::vector<int32_t> arities;
            for (int64_t g = 0; g < s.graphs().graphs(); ++g)
              for (int64_t f = 0; f < s.graphs().factors(g); ++f)
                arities.push_back(static_cast<int32_t>(s.graphs().factor(g, f).arity));
            return to_numpy(std::move(arities));
          },
          nb::rv_policy::move, "The number of variables of each soft factor of each graph.")
      .def(
          "sets",
          [](const FactorGraphStructure& s, int64_t i) {
            s.check_example(i);
            return copy_array(s.sets(i), s.variables(i));
          },
          "i"_a, "The set of labels of each variable of example i.")
      .def(
          "read",
          [](const FactorGraphStructure& s, const In<int64_t>& begin, const In<int32_t>& parts,
             const std::optional<In<int64_t>>& examples) {
            const auto outputs = static_cast<int64_t>(begin.size()) - 1;
            if (examples)
              expect_size(*examples, outputs, "examples");
            else
              expect_size(begin, s.size() + 1, "begin");
            std::vector<int32_t> labeling;
            for (int64_t k = 0; k < outputs; ++k) {
              const int64_t i = examples ? examples->data()[k] : k;
              s.check_example(i);
              const int64_t first = begin.data()[k], last = begin.data()[k + 1];
              if (first < 0 || first > last || last > static_cast<int64_t>(parts.size()))
                throw InputError("begin must ascend from 0 to the number of parts.");
              const size_t before = labeling.size();
              labeling.resize(before + static_cast<size_t>(s.variables(i)));
              s.read(i, parts.data() + first, last - first, labeling.data() + before);
            }
            return to_numpy(std::move(labeling));
          },
          "begin"_a, "parts"_a, "examples"_a.none() = nb::none(),
          "The labels of outputs, concatenated. examples: which example each output belongs to; None: one output per "
          "example.")
      .def(
          "label_marginals",
          [](const FactorGraphStructure& s, const In<int64_t>& begin, const In<double>& mu) {
            expect_size(begin, s.size() + 1, "begin");
            std::vector<double> marginals;
            for (int64_t i = 0; i < s.size(); ++i) {
              const int64_t first = begin.data()[i], last = begin.data()[i + 1];
              if (first < 0 || last < first || last > static_cast<int64_t>(mu.size()))
                throw InputError("begin must ascend from 0 to the number of parts.");
              if (last - first != s.parts(i))
                throw InputError("example " + std::to_string(i) + " has " + std::to_string(s.parts(i)) +
                                 " parts, and there are " + std::to_string(last - first) + " numbers.");
              const size_t before = marginals.size();
              marginals.resize(before + static_cast<size_t>(s.labels(i)));
              s.label_marginals(i, mu.data() + first, marginals.data() + before);
            }
            return to_numpy(std::move(marginals));
          },
          "begin"_a, "mu"_a,
          "The marginals of the labels of all variables, concatenated over variables and examples, from those of "
          "parts.");
}

static const Registration registration(bind);

}  // namespace margrave
