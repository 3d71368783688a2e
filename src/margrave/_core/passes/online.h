// One pass of each sequential learner over a `Problem`. The code around a pass is in Python (learners/).
#pragma once

#include <cmath>
#include <vector>

#include "passes/batch.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

template <typename Step>
void for_order(const Problem& problem, const std::vector<int64_t>& order, const Poll& poll, Worker& worker,
               const Step& step) {
  int64_t seen = 0;
  for (const int64_t i : order) {
    problem.check_example(i);
    worker.make_room(problem.parts(i));
    step(i);
    if (poll_is_due(problem, i, ++seen)) poll();
  }
}

// Stochastic gradient descent on lambda/2 |w|^2 + 1/n sum_i L_i, lambda = 1/(n C), with the rate of 001, section 5:
// eta_t = eta / (1 + (t-1)/n). The shrinking of w is a separate factor, so a step costs only what its example costs. An
// example with a negative loss makes no step: its approximate inference is wrong (001, footnote 17).
struct SgdPass {
  int64_t step;      // steps so far
  int64_t negative;  // examples of this pass with a negative loss
};
inline SgdPass sgd_pass(const Problem& problem, const LossFamily& family, const std::vector<int64_t>& order, double eta,
                        int64_t step, const Poll& poll, double* w) {
  family.check(problem);
  const auto n = static_cast<double>(problem.size());
  const double lambda = 1 / (n * family.C);
  double scale = 1;  // the true weights are scale * w
  const bool exact = problem.traits().exact;
  int64_t negative = 0;
  const auto unscale = [&] {
    for (int64_t k = 0; k < problem.dim(); ++k) w[k] *= scale;
    scale = 1;
  };
  Worker worker;
  const Poll poll_and_unscale = [&] {  // an interrupted pass leaves true weights
    try {
      poll();
    } catch (...) {
      unscale();
      throw;
    }
  };
  for_order(problem, order, poll_and_unscale, worker, [&](int64_t i) {
    const double rate = eta / (1 + static_cast<double>(step++) / n);
    const LossValue own =
        evaluate(problem, i, family, w, worker.theta.data(), worker.direction.data(), worker, false, scale);
    if (!exact && own.loss < 0) {
      ++negative;
      return;
    }
    scale *= std::max(0.0, 1 - rate * lambda);
    if (scale < 1e-9) unscale();  // before 1/scale overflows
    scatter_gradient(problem, i, worker, -rate * family.factor(i) / scale, w);
  });
  unscale();
  return {step, negative};
}

// The structured perceptron; the family supplies only sample weights. `sum` accumulates step * update, so the average
// is w - sum / steps (lazy averaging). Returns the number of mistakes.
inline int64_t perceptron_pass(const Problem& problem, const LossFamily& family, const std::vector<int64_t>& order,
                               int64_t step, const Poll& poll, double* w, double* sum) {
  family.check(problem);
  Worker worker;
  int64_t mistakes = 0;
  for_order(problem, order, poll, worker, [&](int64_t i) {
    const int64_t n = problem.parts(i);
    const Scratch::Frame frame(worker.scratch);
    problem.infer(i, w, {}, worker.theta.data(), nullptr, worker.answer, worker.scratch);
    problem.gold(i, 0, worker.gold);
    difference(worker.gold, worker.answer.y, n, worker.direction.data());
    if (std::any_of(worker.direction.data(), worker.direction.data() + n, [](double d) { return d != 0; })) {
      ++mistakes;
      const double weight = family.factor(i);
      problem.scatter(i, worker.direction.data(), weight, w);
      problem.scatter(i, worker.direction.data(), weight * static_cast<double>(step), sum);
    }
    ++step;
  });
  return mistakes;
}

}  // namespace margrave
