// Python bindings of the loss family.
#include "losses/family.h"

#include <optional>
#include <utility>
#include <vector>

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) {
  nb::class_<LossFamily>(m, "LossFamily",
                         "A member of the loss family with C and the sample weights, an argument of every pass. "
                         "Immutable; stores a copy of the weights.")
      .def(nb::new_(
               [](double beta, double gamma, bool zero_one, double C, const std::optional<In<double>>& sample_weight) {
                 std::optional<std::vector<double>> weights;
                 if (sample_weight) weights = to_vector(*sample_weight);
                 return new LossFamily(beta, gamma, zero_one, C, std::move(weights));
               }),
           "beta"_a, "gamma"_a, "zero_one"_a = false, "C"_a = 1.0, "sample_weight"_a.none() = nb::none())
      .def_ro("beta", &LossFamily::beta)
      .def_ro("gamma", &LossFamily::gamma)
      .def_ro("zero_one", &LossFamily::zero_one)
      .def_ro("C", &LossFamily::C)
      .def_prop_ro(
          "sample_weight",
          [](const LossFamily& family) -> std::optional<Array<double>> {
            if (!family.sample_weight) return std::nullopt;
            return to_numpy(std::vector<double>(*family.sample_weight));
          },
          nb::rv_policy::automatic, "A copy of the weights of the examples, or None.");
}

static const Registration registration(bind);

}  // namespace margrave
