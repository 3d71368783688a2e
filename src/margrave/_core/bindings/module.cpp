// The module. Files register their bindings (bindings/registration.h).
#include <cstring>
#include <exception>
#include <new>

#include "bindings/binding.h"
#include "bindings/end_of_python.h"
#include "protocol/checks.h"

namespace {
constexpr int longest_message = 1000;  // characters
}

NB_MODULE(_core, m) {
  using namespace margrave;
  m.doc() = "Margrave's native core.";
  // At exit Python stops daemon threads where they are, and nobody frees what they hold. This is not worth a word in
  // the log of a service; a test asks for the report.
  nb::set_leak_warnings(false);
  m.def(
      "report_leaks", [](bool wanted) { nb::set_leak_warnings(wanted); }, "wanted"_a,
      "Whether objects that are left at exit are reported.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const InputError& error) {
      // What a message quotes of a file can be anything: it is shown on one line of bounded length.
      const nb::module_ errors = nb::module_::import_("margrave.errors");
      const nb::object text = nb::steal(
          PyUnicode_DecodeUTF8(error.what(), static_cast<Py_ssize_t>(std::strlen(error.what())), "backslashreplace"));
      if (!text.is_valid()) return;  // Python has raised an error.
      PyErr_SetObject(errors.attr("MargraveError").ptr(), errors.attr("shortened")(text, longest_message).ptr());
    } catch (const std::bad_alloc&) {
      PyErr_SetString(PyExc_MemoryError, "out of memory: use less data at a time, or fewer threads.");
    } catch (const TimeUp& up) {
      PyErr_SetString(nb::module_::import_("margrave.errors").attr("TimeUpError").ptr(), up.what());
    }
  });
  EndOfPython::expect();
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&EndOfPython::begin));
  Registration::bind_all(m);
}
