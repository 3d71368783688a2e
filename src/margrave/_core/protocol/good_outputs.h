// Problems with too many good outputs to list: inference among the good outputs, and among the others.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/forwarding.h"
#include "protocol/interfaces.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/random.h"
#include "protocol/scratch.h"

namespace margrave {

// A problem together with its structure's division of the outputs.
class DividedProblem final : public ForwardingProblem, public GoodInference {
 public:
  DividedProblem(std::shared_ptr<const Problem> problem, std::shared_ptr<const GoodInference> division)
      : ForwardingProblem(problem, 0, problem->size()), division_(std::move(division)) {}

  double argmax_among(bool good, int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    return division_->argmax_among(good, i, theta, y, scratch);
  }
  double logsum_among(bool good, int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    return division_->logsum_among(good, i, theta, mu, scratch);
  }

 private:
  std::shared_ptr<const GoodInference> division_;
};

// The same problem restricted to its good outputs. Losses over several good outputs subtract its value.
class GoodProblem final : public ForwardingProblem {
 public:
  explicit GoodProblem(std::shared_ptr<const DividedProblem> problem)
      : ForwardingProblem(problem, 0, problem->size()), division_(problem) {}

  Traits traits() const override {
    Traits traits = ForwardingProblem::traits();
    traits.offers = kArgmax | kLogsum;
    return traits;
  }
  // The interfaces of the other problem concern all outputs.
  Interfaces interfaces() const override { return {}; }
  void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
             Scratch& scratch) const override {
    Problem::infer(i, w, question, theta, mu, answer, scratch);
  }
  std::unique_ptr<const LockStep> lock_step(const double*, double, int64_t) const override { return nullptr; }
  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    return division_->argmax_among(true, i, theta, y, scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return division_->logsum_among(true, i, theta, mu, scratch);
  }
  void argmax_by_cost(int64_t, const double*, const double*, const Needless&, std::vector<CostedOutput>&,
                      Scratch&) const override {
    unsupported("argmax_by_cost");
  }
  void kbest(int64_t, const double*, int64_t, std::vector<ScoredOutput>&, Scratch&) const override {
    unsupported("kbest");
  }
  void sample(int64_t, const double*, Random&, std::vector<Output>&, Scratch&) const override { unsupported("sample"); }
  double entropy(int64_t, const double*, double*, Scratch&) const override { return unsupported("entropy"), 0.0; }

 private:
  std::shared_ptr<const DividedProblem> division_;
};

}  // namespace margrave
