// Python bindings of the feature map of trees.
#include "features/tree_map.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/text.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {
namespace {

std::shared_ptr<FingerprintTable> restored(const In<uint64_t>& fingerprints, const In<uint8_t>& bytes,
                                           const In<int64_t>& offsets) {
  std::vector<char> text(bytes.data(), bytes.data() + bytes.size());
  return std::make_shared<FingerprintTable>(to_vector(fingerprints), std::move(text), to_vector(offsets));
}

}  // namespace

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<FingerprintTable>(m, "FingerprintTable", "The attributes of trees that have weights, with their names.")
      .def(nb::new_([] { return std::make_shared<FingerprintTable>(); }))
      .def(nb::new_(&restored), "fingerprints"_a, "bytes"_a, "offsets"_a)
      .def("__len__", &FingerprintTable::size)
      .def(
          "observe",
          [](FingerprintTable& table, const TreeAttributes& attributes, const TreeStructure& structure,
             const std::vector<std::string>& labels) {
            const nb::gil_scoped_release release;
            TreeMap::observe(attributes, structure, labels, table);
          },
          "attributes"_a, "structure"_a, "labels"_a, "Add the attributes of the gold trees of a structure.")
      .def(
          "names",
          [](const FingerprintTable& table) {
            nb::typed<nb::list, nb::str> names;
            for (int64_t k = 0; k < table.size(); ++k) names.append(decoded(table.name(k), "name", k));
            return names;
          },
          "The names of all attributes, in the order of their weights.")
      .def(
          "arrays",
          [](const FingerprintTable& table) {
            std::vector<uint8_t> text(table.bytes().begin(), table.bytes().end());
            return std::make_tuple(to_numpy(std::vector<uint64_t>(table.fingerprints())), to_numpy(std::move(text)),
                                   to_numpy(std::vector<int64_t>(table.offsets())));
          },
          nb::rv_policy::move, "The fingerprints, the bytes of all names, and where each name begins.");
  nb::class_<TreeMap, Features>(m, "TreeMap")
      .def(
          "explain",
          [](const TreeMap& map, int64_t i, int64_t part, const In<double>& w, const std::vector<std::string>& labels) {
            check_number(i, map.size());
            if (part < 0 || part >= map.parts(i))
              throw InputError("part " + std::to_string(part) + " is out of range.");
            expect_size(w, map.dim(), "w");
            std::vector<std::pair<std::string, double>> found;
            map.explain(i, part, w.data(), labels, found);
            return found;
          },
          "i"_a, "part"_a, "w"_a, "labels"_a, "The names and the weights of the attributes of a part.");
  m.def(
      "tree_map",
      [](std::shared_ptr<TreeAttributes> attributes, std::shared_ptr<TreeStructure> structure, int hash_bits,
         std::shared_ptr<FingerprintTable> table, int64_t labels) -> std::shared_ptr<TreeMap> {
        if (!attributes || !structure) throw InputError("a map of trees needs attributes and a structure.");
        checked_count(labels, "labels");
        return std::make_shared<TreeMap>(std::move(attributes), std::move(structure),
                                         TreeWeights(hash_bits, std::move(table), labels));
      },
      "attributes"_a, "structure"_a, "hash_bits"_a, "table"_a.none(), "labels"_a,
      "The feature map of trees by templates. table: the attributes that have weights, or None if they are hashed. "
      "labels: the number of labels of arcs, or 0.");
}

static const Registration registration(bind);

}  // namespace margrave
