// Python bindings of projective dependency trees.
#include "structures/projective_tree.h"

#include <memory>

#include "bindings/binding.h"

namespace margrave {

void bind_projective_tree(nb::module_& m) {
  nb::class_<ProjectiveTreeStructure, TreesOfArcs>(m, "ProjectiveTreeStructure");
  m.def(
      "projective_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads, const std::optional<In<bool>>& allowed,
         bool single_root, const std::optional<In<bool>>& arcs) -> std::shared_ptr<ProjectiveTreeStructure> {
        return std::make_shared<ProjectiveTreeStructure>(to_vector(words), to_vector(heads), to_vector(arcs),
                                                         to_vector(allowed), single_root);
      },
      "words"_a, "heads"_a.none(), "allowed"_a.none(), "single_root"_a, "arcs"_a.none() = nb::none());
}

}  // namespace margrave
