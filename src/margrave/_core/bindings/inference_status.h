// The status of approximate inference, read by Python from a structure.
#pragma once

#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "structures/inference_status.h"

namespace margrave {

template <class Owner, class Class>
void bind_status(Class& bound) {
  bound
      .def_prop_ro(
          "sweeps",
          [](const Owner& owner) {
            std::vector<int32_t> sweeps;
            for (int64_t i = 0; i < owner.size(); ++i) sweeps.push_back(owner.status().sweeps(i));
            return to_numpy(std::move(sweeps));
          },
          nb::rv_policy::move,
          "The number of sweeps of the last messages on every example, negative if they did not converge; 0: there "
          "were none.")
      .def_prop_ro(
          "certified",
          [](const Owner& owner) {
            std::vector<int32_t> certified;
            for (int64_t i = 0; i < owner.size(); ++i) certified.push_back(owner.status().certified(i));
            return to_numpy(std::move(certified));
          },
          nb::rv_policy::move,
          "For every example 1 if the last best output is certified, -1 if it is not, 0 if there was none.")
      .def_prop_ro(
          "fallbacks", [](const Owner& owner) { return owner.status().fallbacks(); },
          "How often a bound has replaced an estimate that was obviously wrong.")
      .def_prop_rw(
          "kept", [](const Owner& owner) { return to_numpy(std::vector<double>(owner.status().kept())); },
          [](Owner& owner, const In<double>& messages) { owner.status().set_kept(to_vector(messages)); },
          nb::rv_policy::move,
          "The messages of all examples that the next ones start from; NaN where there are none yet.");
}

}  // namespace margrave
