// Python bindings of dependency trees with labels.
#include "structures/labeled_tree.h"

#include <memory>
#include <utility>

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<TreeStructure>();
  nb::class_<LabeledTreeStructure, TreeStructure>(m, "LabeledTreeStructure")
      .def_prop_ro(
          "trees", [](const LabeledTreeStructure& s) { return std::const_pointer_cast<TreesOfArcs>(s.trees()); },
          "The same trees without labels.");
  m.def(
      "labeled_tree",
      [](std::shared_ptr<const TreesOfArcs> trees, int labels, const In<int32_t>& of_arc, const In<int64_t>& begin,
         const In<int32_t>& members, const std::optional<In<int32_t>>& gold,
         double wrong_label) -> std::shared_ptr<LabeledTreeStructure> {
        LabelSets sets{labels, to_vector(of_arc), to_vector(begin), to_vector(members)};
        std::vector<int32_t> numbers = to_vector(gold);
        const nb::gil_scoped_release release;
        return std::make_shared<LabeledTreeStructure>(std::move(trees), std::move(sets), std::move(numbers),
                                                      wrong_label);
      },
      "trees"_a, "labels"_a, "of_arc"_a, "begin"_a, "members"_a, "gold"_a.none(), "wrong_label"_a,
      "Trees whose arcs have labels. of_arc: the set of labels of every arc of all sentences; begin, members: the "
      "labels of each set, ascending; gold: the label of every word; wrong_label: the cost of a word with the correct "
      "head and a wrong label.");
}

static const Registration registration(bind);

}  // namespace margrave
