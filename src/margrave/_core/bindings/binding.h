// Helpers of the bindings. Arrays are checked here; the core takes pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/conversions.h"
#include "bindings/deadline.h"
#include "bindings/registration.h"
#include "protocol/checks.h"

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

template <typename A>
void expect_finite(const A& array, const char* what) {
  for (size_t k = 0; k < array.size(); ++k)
    if (!std::isfinite(array.data()[k])) throw InputError(std::string(what) + " must be finite.");
}

// The steps that a learner has made. Up to 2^53, doubles are exact, and more steps can be counted without overflow.
inline int64_t checked_steps(int64_t steps) { return checked_count(steps, "steps", 0, int64_t{1} << 53); }

// Called every few examples on the thread that runs a pass: raises an exception after Ctrl-C, and after its deadline.
// Taking the GIL may have to wait until another thread gives it up, so it is taken a few times per second only.
inline void check_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetween = std::chrono::milliseconds(50);
  static thread_local Clock::time_point next{};
  Deadline::check();
  if (Clock::now() < next) return;
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  next = Clock::now() + kBetween;
}

inline int checked_threads(int threads) {
  if (threads < 1 || threads > 1024) throw InputError("n_jobs must be from 1 to 1024.");
  return threads;
}

// Whether inference accepts this score of a part.
inline bool is_score(double value) { return !std::isnan(value) && value != kInfinity; }

}  // namespace margrave
