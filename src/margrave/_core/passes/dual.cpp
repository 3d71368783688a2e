// Python bindings of what the dual learners have in common.
#include "passes/dual.h"

#include <utility>
#include <vector>

#include "bindings/ascent.h"

namespace margrave {

void bind_dual(nb::module_& m) {
  nb::class_<Sharing>(m, "Sharing", "How often several threads exchange which weights.")
      .def(
          "__init__",
          [](Sharing* self, const Problem& problem, int threads) {
            checked_threads(threads);
            const nb::gil_scoped_release release;
            new (self) Sharing(problem, threads);
          },
          "problem"_a, "threads"_a);
  m.def(
      "weights_of",
      [](const Problem& p, const LossFamily& family, int threads, const In<double>& mu) {
        expect_gold(p);
        expect_size(mu, all_parts(p), "mu");
        std::vector<double> w(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          weights_of(p, family, mu.data(), checked_threads(threads), check_signals, w.data());
        }
        return to_numpy(std::move(w));
      },
      "problem"_a, "family"_a, "threads"_a, "mu"_a, "w(alpha) of distributions with these expected parts.");
}

}  // namespace margrave
