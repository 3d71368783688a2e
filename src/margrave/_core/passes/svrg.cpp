// Python bindings of variance-reduced passes.
#include "passes/svrg.h"

#include <cmath>
#include <vector>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/problem.h"

namespace margrave {

static void bind(nb::module_& m) {
  m.def(
      "drift_levels",
      [](const Problem& p, const LossFamily& family) {
        family.check(p);
        std::vector<int8_t> levels;
        {
          const nb::gil_scoped_release release;
          levels = drift_levels(p, family, check_signals);
        }
        return to_numpy(std::move(levels));
      },
      "problem"_a, "family"_a, "How finely `svrg_pass` divides the dense term of its steps, one number per weight.");
  m.def(
      "svrg_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order,
         const In<int8_t>& levels, const In<double>& reference, const In<double>& slope, double time) {
        expect_size(w, p.dim(), "w");
        expect_size(levels, p.dim(), "levels");
        expect_size(reference, p.dim(), "reference");
        expect_size(slope, p.dim(), "slope");
        expect_gold(p);
        if (!(family.beta < kInfinity)) throw InputError("variance-reduced steps need a finite beta.");
        if (!std::isfinite(time)) throw InputError("time must be finite.");
        const std::vector<int64_t> visits = to_vector(order);
        const std::vector<int8_t> shares = to_vector(levels);
        for (const int8_t level : shares)
          if (level < 0 || level > kMostLevel) throw InputError("levels must be those of drift_levels.");
        const nb::gil_scoped_release release;
        svrg_pass(p, family, visits, shares, reference.data(), slope.data(), time, check_signals, w.data());
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "levels"_a, "reference"_a, "slope"_a, "time"_a,
      "One pass of variance-reduced steps over `order`; `slope` is grad P at the reference, and `time` the step size "
      "that all visits of a pass make together.");
}

static const Registration registration(bind);

}  // namespace margrave
