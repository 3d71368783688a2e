// Python bindings of the feature map of constituent trees.
#include "features/span_map.h"

#include <memory>

#include "bindings/binding.h"

namespace margrave {

void bind_span_map(nb::module_& m) {
  nb::class_<SpanMap, Features>(m, "SpanMap");
  m.def(
      "span_map",
      [](const std::shared_ptr<ConstituentStructure>& structure, const std::shared_ptr<TreeAttributes>& attributes,
         int hash_bits) {
        if (!structure) throw InputError("there are no trees.");
        return std::make_shared<SpanMap>(structure, attributes, hash_bits);
      },
      "structure"_a, "attributes"_a.none(), "hash_bits"_a,
      "One weight per rule and, with attributes, hashed ones of labelled spans and splits.");
}

}  // namespace margrave
