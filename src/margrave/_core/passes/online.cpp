// Python bindings of the passes of online learners.
#include "passes/online.h"

#include <optional>
#include <vector>

#include "bindings/binding.h"

namespace margrave {

void bind_online(nb::module_& m) {
  m.def(
      "sgd_pass",
      [](const Problem& p, InOut<double>& w, double beta, double gamma, bool zero_one, const In<int64_t>& order,
         double C, double eta, int64_t step, const std::optional<In<double>>& sample_weight) {
        expect_size(w, p.dim(), "w");
        expect_gold(p);
        const double* weight = weights_or_null(p, sample_weight);
        const std::vector<int64_t> visits = to_vector(order);
        const nb::gil_scoped_release release;
        return sgd_pass(p, {beta, gamma, zero_one}, visits, C, eta, step, weight, check_signals, w.data());
      },
      "problem"_a, "w"_a.noconvert(), "beta"_a, "gamma"_a, "zero_one"_a, "order"_a, "C"_a, "eta"_a, "step"_a,
      "sample_weight"_a.none(), "One pass of stochastic gradient descent over `order`; the number of steps so far.");
  m.def(
      "perceptron_pass",
      [](const Problem& p, InOut<double>& w, InOut<double>& sum, const In<int64_t>& order, int64_t step,
         const std::optional<In<double>>& sample_weight) {
        expect_size(w, p.dim(), "w");
        expect_size(sum, p.dim(), "sum");
        expect_gold(p);
        const double* weight = weights_or_null(p, sample_weight);
        const std::vector<int64_t> visits = to_vector(order);
        const nb::gil_scoped_release release;
        return perceptron_pass(p, visits, step, weight, check_signals, w.data(), sum.data());
      },
      "problem"_a, "w"_a.noconvert(), "sum"_a.noconvert(), "order"_a, "step"_a, "sample_weight"_a.none(),
      "One pass of the perceptron over `order`; the number of mistakes.");
}

}  // namespace margrave
