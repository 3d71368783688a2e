// The same problem with its weights measured from other ones: what the convex-concave procedure hands to a learner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "losses/family.h"
#include "protocol/forwarding.h"

namespace margrave {

// Every loss (beta, gamma) of it at u is that of the other problem at u + gamma r, while |u|^2 is still what is
// penalized. The scores of r are part of the costs, cost(y) + <A_i r, y - y_gold>, and scores stay linear in u: norms,
// line searches and the dual of every learner count on that.
class OffsetProblem final : public ForwardingProblem {
 public:
  // costs: whether outputs have the costs of the other problem besides; else only the scores of r.
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
  // The costs below are not only of an example's own parts.
  std::unique_ptr<const LockStep> lock_step(const double*, double, int64_t) const override { return nullptr; }
  // The costs below are not what the other problem counts.
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
  LossFamily family_;  // whose cost it is
  bool costs_;
};

}  // namespace margrave
