// Python bindings of label sequences.
#include "structures/chain.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/labels.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/structure.h"

namespace margrave {
namespace {

// The labels of every sequence, by name. The parts of positions come first in an output, in order; sequence i has
// sizes[i] of them, from parts[begin[i]] on.
nb::typed<nb::list, nb::typed<nb::list, nb::any>> decode_labels(const nb::typed<nb::list, nb::any>& names,
                                                                const In<int64_t>& sizes, const In<int64_t>& begin,
                                                                const In<int32_t>& parts) {
  expect_size(begin, static_cast<int64_t>(sizes.size()) + 1, "begin");
  const auto labels = static_cast<int32_t>(names.size());
  const auto total = static_cast<int64_t>(parts.size());
  nb::list sequences;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t first = begin.data()[i];
    const int64_t length = sizes.data()[i];
    if (first < 0 || length < 0 || first > total || length > total - first)
      throw InputError("output " + std::to_string(i) + " does not have a part for each of its tokens.");
    const nb::object sequence = nb::steal(PyList_New(static_cast<Py_ssize_t>(length)));
    if (!sequence.is_valid()) throw nb::python_error();
    for (int64_t t = 0; t < length; ++t) {
      const int32_t part = parts.data()[first + t];
      if (part < 0 || labels == 0) throw InputError("a part of output " + std::to_string(i) + " is not a label.");
      PyList_SET_ITEM(sequence.ptr(), t, nb::object(names[part % labels]).release().ptr());
    }
    sequences.append(sequence);
  }
  return sequences;
}

}  // namespace

static void bind(nb::module_& m) {
  after<Structure>();
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
          "i"_a)
      .def(
          "gold_labels",
          [](const ChainStructure& c) {
            std::vector<int32_t> labels;
            Output y;
            for (int64_t i = 0; i < c.size(); ++i) {
              c.gold(i, 0, y);
              for (int64_t t = 0; t < c.length(i); ++t) labels.push_back(static_cast<int32_t>(y[t] - t * c.columns()));
            }
            return to_numpy(std::move(labels));
          },
          "The gold labels of all tokens, example by example.")
      .def(
          "gold_tuples",
          [](const ChainStructure& c) {
            std::vector<int64_t> begin{0};
            std::vector<int32_t> tuples;
            Output y;
            for (int64_t i = 0; i < c.size(); ++i) {
              c.gold(i, 0, y);
              const int64_t positions = c.length(i) * c.columns();
              auto part = y.begin() + c.length(i);
              for (int64_t t = 0; t < c.length(i); ++t) {
                // One tuple of each length up to order + 1 ends at t, if there are enough labels before it.
                for (int64_t k = 0; k < std::min(t, c.grams().order()); ++k)
                  tuples.push_back(static_cast<int32_t>((*part++ - positions) % c.grams().parts()));
                begin.push_back(static_cast<int64_t>(tuples.size()));
              }
            }
            return std::make_pair(to_numpy(std::move(begin)), to_numpy(std::move(tuples)));
          },
          "For all tokens, example by example, the gold tuples of labels that end there: bounds and the numbers of "
          "tuples, as in gram_parts.");
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
  m.def("decode_labels", &decode_labels, "names"_a, "sizes"_a, "begin"_a, "parts"_a,
        "The labels of every sequence, by name, from the parts of its output.");
}

static const Registration registration(bind);

}  // namespace margrave
