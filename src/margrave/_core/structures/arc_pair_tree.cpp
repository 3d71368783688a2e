// Python bindings of non-projective trees with parts of two arcs.
#include "structures/arc_pair_tree.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/binding.h"

namespace margrave {

void bind_arc_pair_tree(nb::module_& m) {
  nb::class_<ArcPairTreeStructure, TreesOfArcs>(m, "ArcPairTreeStructure")
      .def(
          "part_tuples",
          [](const ArcPairTreeStructure& s, int64_t i) {
            s.check_example(i);
            std::vector<TreePart> parts;
            s.tree_parts(i, parts);
            std::vector<int32_t> tuples;
            for (const TreePart& part : parts)
              for (const int32_t each : {part.grandparent, part.head, part.child, part.word}) tuples.push_back(each);
            return to_numpy(std::move(tuples));
          },
          "i"_a, nb::rv_policy::move,
          "(grandparent, head, other child, word) of every part of example i, one after another; -1: it has none.")
      .def_prop_ro(
          "sweeps",
          [](const ArcPairTreeStructure& s) {
            std::vector<int32_t> sweeps;
            for (int64_t i = 0; i < s.size(); ++i) sweeps.push_back(s.status().sweeps(i));
            return to_numpy(std::move(sweeps));
          },
          nb::rv_policy::move,
          "The number of sweeps of the last belief propagation on every example, negative if it did not converge; 0: "
          "there was none.")
      .def_prop_ro(
          "certified",
          [](const ArcPairTreeStructure& s) {
            std::vector<int32_t> certified;
            for (int64_t i = 0; i < s.size(); ++i) certified.push_back(s.status().certified(i));
            return to_numpy(std::move(certified));
          },
          nb::rv_policy::move,
          "For every example 1 if the last best tree is certified, -1 if it is not, 0 if there was none.");
  m.def(
      "arc_pair_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads, const std::optional<In<bool>>& allowed,
         bool single_root, const std::optional<In<bool>>& arcs, int sweeps, double tolerance, double damping,
         int iterations) -> std::shared_ptr<ArcPairTreeStructure> {
        const std::vector<int64_t> lengths = to_vector(words);
        std::vector<int32_t> gold = to_vector(heads);
        const std::vector<bool> left = to_vector(arcs);
        std::vector<bool> mask = to_vector(allowed);
        const nb::gil_scoped_release release;
        return std::make_shared<ArcPairTreeStructure>(lengths, std::move(gold), left, std::move(mask), single_root,
                                                      tree::MessageSettings{sweeps, tolerance, damping},
                                                      tree::DecoderSettings{iterations});
      },
      "words"_a, "heads"_a.none(), "allowed"_a.none(), "single_root"_a, "arcs"_a.none(), "sweeps"_a, "tolerance"_a,
      "damping"_a, "iterations"_a);
}

}  // namespace margrave
