// Python bindings common to all structures.
#include "protocol/structure.h"

#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/offers.h"
#include "bindings/output_arrays.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"

namespace margrave {
namespace {

Array<int64_t> of_examples(const Structure& structure, int64_t (Structure::*ask)(int64_t) const) {
  std::vector<int64_t> answers;
  for (int64_t i = 0; i < structure.size(); ++i) answers.push_back((structure.*ask)(i));
  return to_numpy(std::move(answers));
}

}  // namespace

static void bind(nb::module_& m) {
  nb::class_<Structure>(m, "Structure", "Defines which bags of parts are outputs, for every example of a dataset.")
      .def_prop_ro("size", &Structure::size, "The number of examples.")
      .def(
          "parts", [](const Structure& s, int64_t i) { return s.check_example(i), s.parts(i); }, "i"_a,
          "The number of parts of example i.")
      .def_prop_ro(
          "offers", [](const Structure& s) { return offered(s.offers()); }, "The supported operations, beyond scoring.")
      .def_prop_ro("exact", &Structure::exact, "Whether inference is exact.")
      .def_prop_ro("has_gold", &Structure::has_gold, "Whether gold outputs are known.")
      .def_prop_ro("columns", &Structure::columns,
                   "The number of parts per row of features: the number of labels, or 1 if every part has its own row.")
      .def(
          "choice", [](const Structure& s, int64_t i) { return s.check_example(i), s.choice(i); }, "i"_a,
          "Parts come in groups of this size, and an output has exactly one of each; 1: parts are optional.")
      .def_prop_ro(
          "choices", [](const Structure& s) { return of_examples(s, &Structure::choice); }, nb::rv_policy::move,
          "choice(i) for every example.")
      .def_prop_ro(
          "repeats", [](const Structure& s) { return of_examples(s, &Structure::repeats); }, nb::rv_policy::move,
          "The maximum count of a part in an output, for each example.")
      .def(
          "gold_parts",
          [](const Structure& s) {
            if (!s.has_gold()) throw InputError("this structure was bound without gold outputs.");
            PartLists lists;
            {
              const nb::gil_scoped_release release;
              Output y;
              for (int64_t i = 0; i < s.size(); ++i) {
                s.gold(i, 0, y);
                lists.add(y);
              }
            }
            return std::move(lists).arrays();
          },
          "The parts of the first gold output of every example: bounds and parts.");
}

static const Registration registration(bind);

}  // namespace margrave
