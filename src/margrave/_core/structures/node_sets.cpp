// Python bindings of sets of nodes.
#include "structures/node_sets.h"

#include <memory>
#include <optional>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<NodeSetStructure, Structure>(m, "NodeSetStructure");
  m.def(
      "node_sets",
      [](const In<int32_t>& parents, int64_t size, const std::optional<In<int64_t>>& begin,
         const std::optional<In<int32_t>>& gold, bool counted) -> std::shared_ptr<NodeSetStructure> {
        return std::make_shared<NodeSetStructure>(to_vector(parents), checked_count(size, "examples", 0, kMostUnseen),
                                                  to_vector(begin), to_vector(gold), counted);
      },
      "parents"_a, "size"_a, "begin"_a.none(), "gold"_a.none(), "counted"_a,
      "Sets of nodes of a forest that contain, with each node, its parent.");
}

static const Registration registration(bind);

}  // namespace margrave
