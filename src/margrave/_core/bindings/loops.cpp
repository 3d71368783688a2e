// Python bindings of the hot loops: which are in use, and one that Python calls itself.
#include "simd/loops.h"

#include <string>

#include "bindings/binding.h"

namespace margrave {

void bind_loops(nb::module_& m) {
  m.def("instruction_set", [] { return loops().name; }, "For which instruction set the loops in use are compiled.");
  m.def(
      "choose_instruction_set",
      [](const std::string& name) {
        if (!choose_loops(name.c_str())) throw InputError("this processor has no loops named " + name + ".");
      },
      "name"_a, "Use the loops compiled for another instruction set ('baseline' is always there).");
  m.def(
      "add_scaled",
      [](const In<double>& u, double c, InOut<double>& v) {
        expect_size(u, static_cast<int64_t>(v.size()), "u");
        loops().add_scaled(u.data(), c, v.data(), static_cast<int64_t>(v.size()));
      },
      "u"_a, "c"_a, "v"_a.noconvert(), "v += c u, without the copy that an expression makes.");
}

}  // namespace margrave
