// The module. Files register their bindings (bindings/registration.h).
#include <exception>

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
  Registration::bind_all(m);
}
