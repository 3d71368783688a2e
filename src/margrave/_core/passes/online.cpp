// Python bindings of the passes of online learners.
#include "passes/online.h"

#include <tuple>
#include <vector>

#include "bindings/binding.h"
#include "protocol/problem.h"

namespace margrave {

static void bind(nb::module_& m) {
  m.def(
      "sgd_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, double eta,
         int64_t step) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        checked_steps(step);
        const std::vector<int64_t> visits = to_vector(order);
        const nb::gil_scoped_release release;
        const SgdPass pass = sgd_pass(p, family, visits, eta, step, check_signals, w.data());
        return std::make_tuple(pass.step, pass.negative);
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "eta"_a, "step"_a,
      "One pass of stochastic gradient descent over `order`. Returns the number of steps so far, and the number of "
      "examples in this pass without a step because approximate inference gave a negative loss.");
  m.def(
      "perceptron_pass",
      [](const Problem& p, InOut<double>& w, const LossFamily& family, const In<int64_t>& order, InOut<double>& sum,
         int64_t step) {
        expect_size(w, p.dim(), "w");
        expect_size(sum, p.dim(), "sum");
        expect_gold(p);
        checked_steps(step);
        const std::vector<int64_t> visits = to_vector(order);
        const nb::gil_scoped_release release;
        return perceptron_pass(p, family, visits, step, check_signals, w.data(), sum.data());
      },
      "problem"_a, "w"_a.noconvert(), "family"_a, "order"_a, "sum"_a.noconvert(), "step"_a,
      "One pass of the perceptron over `order`. Returns the number of mistakes.");
}

static const Registration registration(bind);

}  // namespace margrave
