// Python bindings of factor graphs with exact inference.
#include "structures/clique_trees.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/factor_graph.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<FactorGraphStructure>();
  nb::class_<CliqueTreeStructure, FactorGraphStructure>(m, "CliqueTreeStructure")
      .def_prop_ro("width", &CliqueTreeStructure::width, "The number of variables of the largest clique.")
      .def_prop_ro("bytes", &CliqueTreeStructure::bytes, "The memory of the tables of the largest graph, in bytes.");
  m.def(
      "clique_trees",
      [](std::shared_ptr<FactorGraphs> graphs, const std::optional<In<int32_t>>& gold,
         const std::optional<In<int32_t>>& set_of, const std::vector<std::shared_ptr<LabelCost>>& costs,
         const std::optional<In<bool>>& allowed, double most_bytes) -> std::shared_ptr<CliqueTreeStructure> {
        return std::make_shared<CliqueTreeStructure>(std::move(graphs), graph_labels(gold, set_of, costs, allowed),
                                                     most_bytes);
      },
      "graphs"_a, "gold"_a.none(), "set_of"_a.none(), "costs"_a, "allowed"_a.none(), "most_bytes"_a,
      "Factor graphs with exact inference by clique trees, whose tables may take at most this many bytes per graph. "
      "gold: the labels of all variables of all examples. set_of: the set of labels of each variable of each graph; "
      "costs: by set. allowed: for each label of each variable of each example.");
}

static const Registration registration(bind);

}  // namespace margrave
