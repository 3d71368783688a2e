// Python bindings of non-projective dependency trees.
#include "structures/non_projective_tree.h"

#include <memory>

#include "bindings/binding.h"

namespace margrave {

void bind_non_projective_tree(nb::module_& m) {
  nb::class_<TreeStructure, Structure>(m, "TreeStructure");
  m.def(
      "non_projective_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads, const std::optional<In<bool>>& allowed,
         bool single_root) -> std::shared_ptr<TreeStructure> {
        return std::make_shared<TreeStructure>(to_vector(words), to_vector(heads), to_vector(allowed), single_root);
      },
      "words"_a, "heads"_a.none(), "allowed"_a.none(), "single_root"_a);
}

}  // namespace margrave
