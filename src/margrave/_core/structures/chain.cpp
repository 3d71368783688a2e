// Python bindings of label sequences.
#include "structures/chain.h"

#include <memory>
#include <utility>

#include "bindings/labels.h"

namespace margrave {

void bind_chain(nb::module_& m) {
  nb::class_<ChainStructure, Structure>(m, "ChainStructure")
      .def_prop_ro("gram_parts", [](const ChainStructure& c) { return c.grams().parts(); })
      .def_prop_ro("order", [](const ChainStructure& c) { return c.grams().order(); })
      .def_prop_ro("tied", &ChainStructure::tied)
      .def(
          "gold",
          [](const ChainStructure& c, int64_t i) {
            c.check_example(i);
            Output y;
            c.gold(i, 0, y);
            return to_numpy(std::move(y));
          },
          "i"_a);
  m.def(
      "chain",
      [](int64_t labels, const In<int64_t>& begin, const std::optional<In<int32_t>>& gold,
         std::shared_ptr<LabelCost> cost, const std::optional<In<bool>>& allowed, int64_t order, bool tied,
         const std::optional<In<bool>>& forbidden) -> std::shared_ptr<ChainStructure> {
        return std::make_shared<ChainStructure>(labels_of(labels, begin, gold, std::move(cost), allowed), order, tied,
                                                flags_of(forbidden));
      },
      "labels"_a, "begin"_a, "gold"_a.none(), "cost"_a.none(), "allowed"_a.none(), "order"_a, "tied"_a,
      "forbidden"_a.none());
}

}  // namespace margrave
