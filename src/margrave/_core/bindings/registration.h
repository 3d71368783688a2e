// How a file of the core becomes part of the module: it ends with `static const Registration registration(bind);`.
// There is no central list. A class can only be bound after its bases. A `bind` whose classes have bases in other files
// begins with `after<Base>();`.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace margrave {

class Registration {
 public:
  using Bind = void (*)(nanobind::module_&);

  explicit Registration(Bind bind) { waiting().push_back(bind); }

  // Calls all registered functions; those that wait for others come after them.
  static void bind_all(nanobind::module_& m) {
    std::vector<Bind> left = waiting();
    while (!left.empty()) {
      std::vector<Bind> later;
      for (const Bind bind : left) try {
          bind(m);
        } catch (const Later&) {
          later.push_back(bind);
        }
      if (later.size() == left.size()) throw std::logic_error("some classes wait for bases that nothing binds.");
      left = std::move(later);
    }
  }

 private:
  template <typename... Bases>
  friend void after();
  struct Later {};

  static std::vector<Bind>& waiting() {
    static std::vector<Bind> all;
    return all;
  }
};

// Postpones a file until these classes are bound. Must come before anything that the file binds.
template <typename... Bases>
void after() {
  if (!(nanobind::type<Bases>().is_valid() && ...)) throw Registration::Later{};
}

}  // namespace margrave
