// Python bindings of projective trees with parts of two arcs.
#include "structures/second_order_tree.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<TreesOfArcs>();
  nb::class_<SecondOrderTreeStructure, TreesOfArcs>(m, "SecondOrderTreeStructure")
      .def(
          "part_tuples",
          [](const SecondOrderTreeStructure& s, int64_t i) {
            s.check_example(i);
            std::vector<int32_t> tuples;
            s.layout(i).each_part([&](int g, int h, int sibling, int word) {
              for (const int each : {g, h, sibling, word}) tuples.push_back(each);
            });
            return to_numpy(std::move(tuples));
          },
          "i"_a, nb::rv_policy::move,
          "(grandparent, head, sibling, word) of every part of example i, flat; -1: none; sibling 0: none is closer to "
          "the head.");
  m.def(
      "second_order_tree",
      [](const In<int64_t>& words, const std::optional<In<int32_t>>& heads, const std::optional<In<bool>>& allowed,
         bool grandparents, bool single_root,
         const std::optional<In<bool>>& arcs) -> std::shared_ptr<SecondOrderTreeStructure> {
        const std::vector<int64_t> lengths = to_vector(words);
        std::vector<int32_t> gold = to_vector(heads);
        const std::vector<bool> left = to_vector(arcs);
        std::vector<bool> mask = to_vector(allowed);
        const nb::gil_scoped_release release;
        return std::make_shared<SecondOrderTreeStructure>(lengths, std::move(gold), left, std::move(mask), grandparents,
                                                          single_root);
      },
      "words"_a, "heads"_a.none(), "allowed"_a.none(), "grandparents"_a, "single_root"_a, "arcs"_a.none() = nb::none());
}

static const Registration registration(bind);

}  // namespace margrave
