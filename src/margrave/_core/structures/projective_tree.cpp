// Python bindings of projective dependency trees.
#include "structures/projective_tree.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<TreesOfArcs>();
  nb::class_<ProjectiveTreeStructure, TreesOfArcs>(m, "ProjectiveTreeStructure");
  m.def(
      "projective_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads, const std::optional<In<bool>>& allowed,
         bool single_root, const std::optional<In<bool>>& arcs) -> std::shared_ptr<ProjectiveTreeStructure> {
        const std::vector<int64_t> lengths = to_vector(words);
        std::vector<int32_t> gold = to_vector(heads);
        const std::vector<bool> left = to_vector(arcs);
        std::vector<bool> mask = to_vector(allowed);
        const nb::gil_scoped_release release;
        return std::make_shared<ProjectiveTreeStructure>(lengths, std::move(gold), left, std::move(mask), single_root);
      },
      "words"_a, "heads"_a.none(), "allowed"_a.none(), "single_root"_a, "arcs"_a.none() = nb::none());
}

static const Registration registration(bind);

}  // namespace margrave
