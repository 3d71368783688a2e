// nanobind's conversions of strings, lists and shared pointers, in which an allocation may fail.
//
// nanobind declares its conversions noexcept, so a list that does not fit into memory would end the process. Here they
// may throw; they run where nanobind translates exceptions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define noexcept
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#undef noexcept
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

namespace nanobind::detail {

// Being constrained, this goes before nanobind's own. The pointer owns a reference to the Python object.
template <typename T>
  requires std::is_class_v<T>
struct type_caster<std::shared_ptr<T>> {
  static constexpr bool IsClass = true;
  using Caster = make_caster<T>;
  NB_TYPE_CASTER(std::shared_ptr<T>, Caster::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) {
    Caster caster;
    if (!caster.from_python(source, flags & ~uint32_t{cast_flags::convert}, cleanup)) return false;
    auto* const pointer = caster.operator std::decay_t<T>*();
    if (pointer == nullptr) {
      value.reset();
      return true;
    }
    // If this fails, the standard calls the deleter.
    value = std::shared_ptr<T>(pointer, py_deleter{source.inc_ref().ptr()});
    return true;
  }

  // The copy that the Python object owns is allocated before the object.
  static handle from_cpp(const std::shared_ptr<T>& from, rv_policy, cleanup_list* cleanup) {
    auto owned = std::make_unique<std::shared_ptr<void>>(std::const_pointer_cast<std::remove_const_t<T>>(from));
    bool is_new = false;
    auto* const pointer = const_cast<std::remove_const_t<T>*>(from.get());
    const std::type_info* type = &typeid(T);
    const std::type_info* own_type = nullptr;
    if constexpr (std::is_polymorphic_v<T>) own_type = pointer == nullptr ? nullptr : &typeid(*pointer);
    const handle result =
        NB_CALL(nb_type_put)(NB_CTX_C(cleanup), type, own_type, pointer, rv_policy::reference, cleanup, &is_new);
    if (is_new) NB_CALL(keep_alive_ptr)
    (NB_CTX, result.ptr(), owned.release(), [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
    return result;
  }
};

}  // namespace nanobind::detail
