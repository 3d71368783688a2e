// Python bindings of one label per example.
#include "structures/multiclass.h"

#include <memory>
#include <utility>

#include "bindings/labels.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<MulticlassStructure, Structure>(m, "MulticlassStructure");
  m.def(
      "multiclass",
      [](int64_t labels, const In<int64_t>& begin, const std::optional<In<int32_t>>& gold,
         std::shared_ptr<LabelCost> cost,
         const std::optional<In<bool>>& allowed) -> std::shared_ptr<MulticlassStructure> {
        checked_count(labels, "labels", 1, kMostUnseen);
        return std::make_shared<MulticlassStructure>(labels_of(labels, begin, gold, std::move(cost), allowed));
      },
      "labels"_a, "begin"_a, "gold"_a.none(), "cost"_a.none(), "allowed"_a.none());
}

static const Registration registration(bind);

}  // namespace margrave
