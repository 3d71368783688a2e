// Python bindings of the feature map of constituent trees.
#include "features/span_map.h"

#include <memory>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {
namespace {

Tokens span_rows(const TreeAttributes& attributes, int hash_bits) {
  check_hash_bits(hash_bits);
  Tokens rows;
  Fingerprints fingerprints;
  std::vector<uint64_t> found;
  for (int64_t i = 0; i < attributes.examples(); ++i) {
    fingerprints.begin(attributes, i);
    const auto n = static_cast<int32_t>(attributes.words(i));
    for (int32_t s = 0; s < n; ++s)
      for (int32_t e = s + 1; e <= n; ++e) {
        found.clear();
        fingerprints.append(TreeTemplates::kLabels, {-1, s, -1, e, 0}, found);
        for (const uint64_t f : found) rows.index.push_back(static_cast<int32_t>(f >> (64 - hash_bits)));
        rows.row_begin.push_back(static_cast<int64_t>(rows.index.size()));
      }
    rows.example_begin.push_back(rows.tokens());
  }
  return rows;
}

}  // namespace

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<SpanMap, Features>(m, "SpanMap");
  m.def(
      "span_map",
      [](const std::shared_ptr<ConstituentStructure>& structure, const std::shared_ptr<TreeAttributes>& attributes,
         int hash_bits) {
        if (!structure) throw InputError("there are no trees.");
        return std::make_shared<SpanMap>(structure, attributes, hash_bits);
      },
      "structure"_a, "attributes"_a.none(), "hash_bits"_a,
      "One weight per rule and, with attributes, hashed weights of labeled spans and splits.");
  m.def("span_rows", &span_rows, "attributes"_a, "hash_bits"_a,
        "The hashed attributes of the spans (0, 1), (0, 2), ..., (1, 2), ... of each sentence, one row per span.");
}

static const Registration registration(bind);

}  // namespace margrave
