// A problem that forwards to another one. Only this file repeats the whole interface of `Problem`.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/random.h"
#include "protocol/scratch.h"

namespace margrave {

// Forwards every call, for the examples first, first + 1, ... of another problem. A subclass overrides what differs.
// One with its own costs must also override `infer`, whose answer depends on them.
class ForwardingProblem : public Problem {
 public:
  Traits traits() const override { return whole_->traits(); }
  Interfaces interfaces() const override { return whole_->interfaces().from(first_); }
  int64_t parts(int64_t i) const override { return whole_->parts(there(i)); }
  void score(int64_t i, const double* w, double* theta) const override { whole_->score(there(i), w, theta); }
  void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
             Scratch& scratch) const override {
    whole_->infer(there(i), w, question, theta, mu, answer, scratch);
  }
  void scatter(int64_t i, const double* mu, double c, double* g) const override { whole_->scatter(there(i), mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override {
    return whole_->move(there(i), v, c, w);
  }
  void row(int64_t i, const double* v, Row& row) const override { whole_->row(there(i), v, row); }
  double dot(const double* u, const double* v) const override { return whole_->dot(u, v); }
  double radius(int64_t i) const override { return whole_->radius(there(i)); }
  int64_t gold(int64_t i, int64_t k, Output& y) const override { return whole_->gold(there(i), k, y); }
  double cost(int64_t i, double* delta) const override { return whole_->cost(there(i), delta); }
  void forbid(int64_t i, double* theta) const override { whole_->forbid(there(i), theta); }
  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    return whole_->argmax(there(i), theta, y, scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return whole_->logsum(there(i), theta, mu, scratch);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    whole_->argmax_by_cost(there(i), theta, delta, needless, ys, scratch);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    whole_->kbest(there(i), theta, k, ys, scratch);
  }
  void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
              Scratch& scratch) const override {
    whole_->sample(there(i), theta, random, ys, scratch);
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const override {
    return whole_->entropy(there(i), mu, t, scratch);
  }
  double relaxed_argmax(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return whole_->relaxed_argmax(there(i), theta, mu, scratch);
  }
  std::unique_ptr<const LockStep> lock_step(const double* w, double beta, int64_t first) const override {
    return whole_->lock_step(w, beta, there(first));
  }

 protected:
  ForwardingProblem(std::shared_ptr<const Problem> whole, int64_t first, int64_t size)
      : Problem(size, whole->dim()), whole_(std::move(whole)), first_(first) {}

  const Problem& whole() const { return *whole_; }
  // The index of example i in the other problem.
  int64_t there(int64_t i) const { return first_ + i; }

 private:
  std::shared_ptr<const Problem> whole_;
  int64_t first_;
};

}  // namespace margrave
