// Python bindings of the hot loops: which ones are in use, and one that Python calls directly.
#include "simd/loops.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"

namespace margrave {

namespace {

constexpr const char* kVariable = "MARGRAVE_INSTRUCTIONS";  // environment variable: the instruction set to use

std::vector<std::string> supported_names() {
  std::vector<std::string> names;
  for (int rank = 0; const Loops* table = supported_loops(rank); ++rank) names.emplace_back(table->name);
  return names;
}

void choose(const std::string& name, const std::string& beginning) {
  if (choose_loops(name.c_str())) return;
  std::string known;
  for (const std::string& other : supported_names()) known += (known.empty() ? "" : ", ") + other;
  throw InputError(beginning + ", and this processor has loops for: " + known + ".");
}

}  // namespace

static void bind(nb::module_& m) {
  if (const char* name = std::getenv(kVariable); name && *name)
    choose(name, std::string("the environment variable ") + kVariable + " is '" + name + "'");
  m.def("instruction_set", [] { return loops().name; }, "The instruction set of the loops in use.");
  m.def(
      "choose_instruction_set", [](const std::string& name) { choose(name, "there are no loops named " + name); },
      "name"_a, "Use the loops compiled for another instruction set ('baseline' is always there).");
  m.def("instruction_sets", supported_names, "The instruction sets that this processor supports, best first.");
  m.def(
      "add_scaled",
      [](const In<double>& u, double c, InOut<double>& v) {
        expect_size(u, static_cast<int64_t>(v.size()), "u");
        loops().add_scaled(u.data(), c, v.data(), static_cast<int64_t>(v.size()));
      },
      "u"_a, "c"_a, "v"_a.noconvert(), "v += c u, without a temporary copy.");
}

static const Registration registration(bind);

}  // namespace margrave
