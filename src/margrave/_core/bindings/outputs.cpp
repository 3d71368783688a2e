// Python bindings of output features and of sets of nodes.
#include "features/outputs.h"

#include <memory>
#include <utility>

#include "bindings/binding.h"
#include "structures/node_sets.h"

namespace margrave {

void bind_output(nb::module_& m) {
  nb::class_<OutputFeatures, Features>(m, "OutputFeatures");
  nb::class_<NodeSetStructure, Structure>(m, "NodeSetStructure");
  m.def(
      "output_features",
      [](std::shared_ptr<Features> features, int64_t width, const In<int64_t>& begin, const In<int32_t>& column,
         const In<double>& value, double spread) -> std::shared_ptr<OutputFeatures> {
        if (!features) throw InputError("output features need features to score them.");
        return std::make_shared<OutputFeatures>(std::move(features), width, to_vector(begin), to_vector(column),
                                                to_vector(value), spread);
      },
      "features"_a, "width"_a, "begin"_a, "column"_a, "value"_a, "spread"_a = 0.0,
      "Features of classes from features of what describes them: theta = M theta', M a sparse matrix by rows.");
  m.def(
      "node_sets",
      [](const In<int32_t>& parents, int64_t size, const std::optional<In<int64_t>>& begin,
         const std::optional<In<int32_t>>& gold, bool counted) -> std::shared_ptr<NodeSetStructure> {
        return std::make_shared<NodeSetStructure>(to_vector(parents), size, to_vector(begin), to_vector(gold), counted);
      },
      "parents"_a, "size"_a, "begin"_a.none(), "gold"_a.none(), "counted"_a,
      "Sets of nodes of a forest that hold, with a node, its parent.");
}

}  // namespace margrave
