// Texts of the core as Python strings.
#pragma once

#include <string>
#include <string_view>

#include "bindings/binding.h"
#include "protocol/checks.h"

namespace margrave {

// An error if it is not UTF-8, as in a corrupt file: it is text `number` of those that `what` names.
inline nb::str decoded(std::string_view text, const char* what, int64_t number) {
  PyObject* result = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
  if (!result) {
    PyErr_Clear();
    throw InputError(std::string(what) + " " + std::to_string(number) + " is not valid UTF-8.");
  }
  return nb::steal<nb::str>(result);
}

}  // namespace margrave
