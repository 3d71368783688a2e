// The same problem with its weights measured from a reference point, as the convex-concave procedure passes it to a
// learner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "losses/family.h"
#include "protocol/checks.h"
#include "protocol/forwarding.h"
#include "protocol/interfaces.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

// Every loss (beta, gamma) at u equals that of the other problem at u + gamma r, while |u|^2 is penalized. The scores
// of r enter the costs, cost(y) + <A_i r, y - y_gold>. Scores thus stay linear in u, as norms, line searches and the
// dual of every learner require.
class OffsetProblem final : public ForwardingProblem {
 public:
  // costs: whether outputs also have the costs of the other problem.
  OffsetProblem(std::shared_ptr<const Problem> problem, std::vector<double> r, bool zero_one, bool costs = true)
      : ForwardingProblem(problem, 0, problem->size()),
        r_(std::move(r)),
        family_{kInfinity, 1.0, zero_one},
        costs_(costs) {
    if (family_.beyond_parts(whole()))
      throw InputError("the zero-one cost of a structured output is not a sum over parts, which an offset needs.");
  }

  // With the costs below.
  void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
             Scratch& scratch) const override {
    Problem::infer(i, w, question, theta, mu, answer, scratch);
  }
  // The costs below include shared parts.
  std::unique_ptr<const LockStep> lock_step(const double*, double, int64_t) const override { return nullptr; }
  // The costs below do not count the other problem's items.
  Interfaces interfaces() const override {
    Interfaces offered = ForwardingProblem::interfaces();
    offered.counted = {};
    return offered;
  }
  double cost(int64_t i, double* delta) const override {
    const auto n = static_cast<size_t>(parts(i));
    std::vector<double> theta(n);
    whole().score(i, r_.data(), theta.data());
    double c0 = 0;
    if (costs_)
      c0 = family_.cost(whole(), i, delta);
    else
      std::fill(delta, delta + n, 0.0);
    for (size_t k = 0; k < n; ++k) delta[k] += theta[k];
    Output y;
    whole().gold(i, 0, y);
    for (const int32_t part : y) c0 -= theta[part];
    return c0;
  }

 private:
  std::vector<double> r_;
  LossFamily family_;  // defines the cost
  bool costs_;
};

}  // namespace margrave
