// Python bindings of attribute x label tables.
#include "features/table.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<Table, Features>(m, "Table");
  nb::class_<Pairs>(m, "Pairs", "Which (attribute, label) pairs have a weight.")
      .def(
          "__init__",
          [](Pairs* self, int64_t attributes, int64_t labels) {
            new (self) Pairs(checked_count(attributes, "attributes"), checked_count(labels, "labels"));
          },
          "attributes"_a, "labels"_a)
      .def(
          "__init__",
          [](Pairs* self, int64_t labels, const In<int64_t>& begin, const In<uint16_t>& column) {
            new (self) Pairs(checked_count(labels, "labels"), to_vector(begin), to_vector(column));
          },
          "labels"_a, "begin"_a, "column"_a)
      .def_prop_ro("attributes", &Pairs::attributes)
      .def_prop_ro("labels", &Pairs::labels)
      .def_prop_ro("size", &Pairs::size)
      .def_prop_ro("packed", &Pairs::packed)
      .def("union", &Pairs::united, "other"_a, "The pairs of both tables, with the larger number of attributes.")
      .def(
          "arrays",
          [](const Pairs& p) {
            return std::make_pair(to_numpy(std::vector<int64_t>(p.begin())),
                                  to_numpy(std::vector<uint16_t>(p.column())));
          },
          "Row bounds and columns of a packed table.")
      .def("__getstate__",
           [](const Pairs& p) {
             return std::make_tuple(p.packed(), p.attributes(), p.labels(), to_numpy(std::vector<int64_t>(p.begin())),
                                    to_numpy(std::vector<uint16_t>(p.column())));
           })
      .def("__setstate__", [](Pairs& self, const std::tuple<bool, int64_t, int64_t, In<int64_t>, In<uint16_t>>& state) {
        const auto& [packed, attributes, labels, begin, column] = state;
        checked_count(attributes, "attributes");
        checked_count(labels, "labels");
        if (packed)
          new (&self) Pairs(labels, to_vector(begin), to_vector(column));
        else
          new (&self) Pairs(attributes, labels);
      });
  m.def(
      "observed_pairs",
      [](const Tokens& tokens, int64_t attributes, int64_t labels, const In<int64_t>& column_begin,
         const In<int32_t>& columns) {
        checked_count(attributes, "attributes");
        checked_count(labels, "labels");
        check_used(attributes, static_cast<int64_t>(tokens.index.size()), "attributes", kMostUnseen);
        return observed_pairs(tokens, attributes, labels, to_vector(column_begin), to_vector(columns));
      },
      "tokens"_a, "attributes"_a, "labels"_a, "column_begin"_a, "columns"_a);
  m.def(
      "table",
      [](std::shared_ptr<Tokens> tokens, std::shared_ptr<Pairs> pairs, const In<int64_t>& gram_weight,
         int64_t gram_weights, int64_t gram_lengths, bool tied, double scale, bool start, bool stop,
         std::shared_ptr<Tokens> edges, std::shared_ptr<Pairs> edge_pairs) -> std::shared_ptr<Table> {
        if (!tokens || !pairs || !edges != !edge_pairs) throw InputError("a table needs tokens and pairs.");
        checked_count(gram_weights, "weights of tuples");
        checked_count(gram_lengths, "lengths of tuples");
        check_used(gram_weights, static_cast<int64_t>(gram_weight.size()), "weights of tuples");
        return std::make_shared<Table>(
            std::move(tokens), std::move(pairs),
            GramWeights{to_vector(gram_weight), gram_weights, gram_lengths, tied, scale, start, stop}, std::move(edges),
            std::move(edge_pairs));
      },
      "tokens"_a, "pairs"_a, "gram_weight"_a, "gram_weights"_a, "gram_lengths"_a, "tied"_a, "scale"_a, "start"_a,
      "stop"_a, "edges"_a.none(), "edge_pairs"_a.none());
}

static const Registration registration(bind);

}  // namespace margrave
