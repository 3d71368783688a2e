// Python bindings common to the dual learners.
#include "passes/dual.h"

#include <utility>
#include <vector>

#include "bindings/ascent.h"
#include "protocol/problem.h"

namespace margrave {

static void bind(nb::module_& m) {
  nb::class_<Sharing>(m, "Sharing", "The schedule by which threads exchange weights.")
      .def(
          "__init__",
          [](Sharing* self, const Problem& problem, int threads) {
            checked_threads(threads);
            const nb::gil_scoped_release release;
            new (self) Sharing(problem, threads);
          },
          "problem"_a, "threads"_a);
  nb::class_<StoredParts>(m, "StoredParts",
                          "The parts that have a weight. A learner stores only these if its values are 0 elsewhere.")
      .def(
          "__init__",
          [](StoredParts* self, const Problem& problem, const LossFamily& family, int threads) {
            expect_gold(problem);
            family.check(problem);
            checked_threads(threads);
            const nb::gil_scoped_release release;
            new (self) StoredParts(problem, family, threads, check_signals);
          },
          "problem"_a, "family"_a, "threads"_a)
      .def_prop_ro("size", &StoredParts::size, "The number of stored parts of all examples.");
  m.def(
      "weights_of",
      [](const Problem& p, const LossFamily& family, int threads, const In<double>& mu, const Stored& given) {
        expect_gold(p);
        const Stored stored = checked(given, p);
        expect_size(mu, stored->size(), "mu");
        std::vector<double> w(static_cast<size_t>(p.dim()));
        {
          const nb::gil_scoped_release release;
          weights_of(p, family, *stored, mu.data(), checked_threads(threads), check_signals, w.data());
        }
        return to_numpy(std::move(w));
      },
      "problem"_a, "family"_a, "threads"_a, "mu"_a, "stored"_a.none() = nb::none(),
      "w(alpha) of distributions with these expected parts: all parts, or those stored.");
}

static const Registration registration(bind);

}  // namespace margrave
