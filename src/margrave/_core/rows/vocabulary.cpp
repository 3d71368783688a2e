// Python bindings of vocabularies.
#include "rows/vocabulary.h"

#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/text.h"
#include "protocol/checks.h"

namespace margrave {

static void bind(nb::module_& m) {
  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Vocabulary* self, const In<uint8_t>& bytes, const In<int64_t>& offsets) {
            new (self) Vocabulary(std::vector<char>(bytes.data(), bytes.data() + bytes.size()), to_vector(offsets));
          },
          "bytes"_a, "offsets"_a)
      .def("__len__", &Vocabulary::size)
      .def(
          "find",
          [](const Vocabulary& v, std::string_view name) { return v.find(name, hash_bytes(name.data(), name.size())); },
          "name"_a, "The number of an attribute, or -1.")
      .def(
          "names",
          [](const Vocabulary& v) {
            nb::typed<nb::list, nb::str> names;
            for (int64_t k = 0; k < v.size(); ++k) names.append(decoded(v.name(k), "name", k));
            return names;
          },
          "All names, by number.")
      .def(
          "arrays",
          [](const Vocabulary& v) {
            return std::make_pair(to_numpy(std::vector<uint8_t>(v.bytes().begin(), v.bytes().end())),
                                  to_numpy(std::vector<int64_t>(v.offsets())));
          },
          "The concatenated names as bytes, and where each begins.")
      .def(
          "merge", [](Vocabulary& v, const Vocabulary& other) { return to_numpy(v.merge(other)); }, "other"_a,
          "Adds the names of another vocabulary in order. Returns their numbers here.")
      .def("__getstate__", [](const nb::object& self) { return self.attr("arrays")(); })
      .def("__setstate__", [](Vocabulary& self, const std::pair<In<uint8_t>, In<int64_t>>& state) {
        const auto& [bytes, offsets] = state;
        new (&self) Vocabulary(std::vector<char>(bytes.data(), bytes.data() + bytes.size()), to_vector(offsets));
      });
}

static const Registration registration(bind);

}  // namespace margrave
