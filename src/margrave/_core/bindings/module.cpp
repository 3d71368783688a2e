// The module. Everything in it is bound by the bind_NAME(m) of a file NAME.cpp; CMake writes the list of them from the
// files that there are, bases first.
#include <exception>

#include "bindings/all.h"
#include "bindings/binding.h"

NB_MODULE(_core, m) {
  using namespace margrave;
  m.doc() = "Margrave's native core.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const InputError& error) {
      PyErr_SetString(nb::module_::import_("margrave.errors").attr("MargraveError").ptr(), error.what());
    }
  });
  bind_all(m);
}
