// Helpers of the bindings. Arrays are checked here; the core takes pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/registration.h"
#include "protocol/problem.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace margrave {

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
Array<T> to_numpy(std::vector<T>&& values) {
  auto* moved = new std::vector<T>(std::move(values));
  const nb::capsule owner(moved, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(moved->data(), {moved->size()}, owner);
}

template <typename T>
Array<T> copy_array(const T* values, int64_t n) {
  return to_numpy(std::vector<T>(values, values + n));
}

template <typename T>
std::vector<T> to_vector(const In<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

template <typename T>
std::vector<T> to_vector(const std::optional<In<T>>& array) {
  return array ? to_vector(*array) : std::vector<T>();
}

template <typename A>
void expect_size(const A& array, int64_t n, const char* what) {
  if (static_cast<int64_t>(array.size()) != n)
    throw InputError(std::string(what) + " must have length " + std::to_string(n) + ", not " +
                     std::to_string(array.size()) + ".");
}

inline void check_parts(const Output& y, int64_t n) {
  for (const int32_t part : y)
    if (part < 0 || part >= n)
      throw InputError("part " + std::to_string(part) + " is out of range: there are " + std::to_string(n) + ".");
}

inline void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

inline void expect_gold(const Problem& p) {
  if (!p.traits().has_gold) throw InputError("this problem was bound without gold outputs, and learning needs them.");
}

inline int checked_threads(int threads) {
  if (threads < 1 || threads > 1024) throw InputError("n_jobs must be from 1 to 1024.");
  return threads;
}

// Whether inference accepts this score of a part.
inline bool is_score(double value) { return !std::isnan(value) && value != kInfinity; }

inline constexpr std::pair<const char*, unsigned> kOffers[] = {{"argmax", kArgmax},
                                                               {"argmax_by_cost", kArgmaxByCost},
                                                               {"logsum", kLogsum},
                                                               {"kbest", kKbest},
                                                               {"sample", kSample},
                                                               {"entropy", kEntropy},
                                                               {"untied", kUntied},
                                                               {"most_violated", kMostViolated},
                                                               {"relaxed_argmax", kRelaxedArgmax}};

inline std::vector<std::string> offered(unsigned flags) {
  std::vector<std::string> names;
  for (const auto& [name, flag] : kOffers)
    if (flags & flag) names.emplace_back(name);
  return names;
}

}  // namespace margrave
