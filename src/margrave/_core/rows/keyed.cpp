// Python bindings of attributes whose values are numbered before their names are built.
#include "rows/keyed.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) {
  nb::class_<KeyedNames>(m, "KeyedNames", nb::is_weak_referenceable(), "Numbers of values from which names are built.");
  nb::class_<KeyedAttributes>(
      m, "KeyedAttributes", "The attributes of sequences, with names built on demand: a list of names for every unit.")
      .def_prop_ro("names", &KeyedAttributes::names)
      .def("__len__", &KeyedAttributes::examples)
      .def(
          "__getitem__",
          [](const KeyedAttributes& attributes, int64_t i) {
            if (i < 0 || i >= attributes.examples()) throw nb::index_error();
            KeyedNames& names = *attributes.names();
            std::vector<std::vector<std::string>> found(static_cast<size_t>(attributes.units(i)));
            {
              const nb::gil_scoped_release release;
              const std::lock_guard lock(names.mutex);
              std::vector<int32_t> keys;
              attributes.keys(i, keys);
              const int64_t kinds = names.kinds();
              for (size_t at = 0; at < keys.size(); ++at)
                if (keys[at] >= 0)
                  names.spell(static_cast<int64_t>(at) % kinds, keys[at],
                              found[at / static_cast<size_t>(kinds)].emplace_back());
            }
            return found;
          },
          "i"_a, "The names of the attributes of an example, unit by unit.");
  nb::class_<KeyTable>(m, "KeyTable", "The rows of keyed attributes, looked up once for each key.")
      .def(nb::init<std::shared_ptr<KeyedNames>, std::shared_ptr<Vocabulary>, int>(), "names"_a.none(),
           "vocabulary"_a.none(), "hash_bits"_a)
      .def_prop_ro("vocabulary", &KeyTable::vocabulary)
      .def(
          "encode",
          [](KeyTable& table, const KeyedAttributes& attributes, bool grow) {
            const nb::gil_scoped_release release;
            return table.encode(attributes, grow, check_signals);
          },
          "attributes"_a, "grow"_a,
          "Rows of the attributes. With `grow`, new names get a number; otherwise they are left out.");
}

static const Registration registration(bind);

}  // namespace margrave
