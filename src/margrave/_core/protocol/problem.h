// The protocol: everything that a learner may ask of a structured prediction problem (docs/architecture.md).
//
// An output is a bag of parts. Every part has a score, linear in the weights. `Structure` defines which bags are
// outputs, `Features` is the linear map A, and `BoundProblem` joins the two over one dataset. Learners see only
// `Problem`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

// An inference query at weights. Outputs are ranked by their scores plus gamma times their cost.
struct Question {
  enum class Kind {
    kArgmax,        // the best output
    kKbest,         // the k best ones
    kLogsum,        // the log partition function of beta times the ranking, and its expectations
    kRelaxed,       // the best point of the relaxation: a bound on the best output, and its marginals
    kMostViolated,  // the output that maximizes H of 003 (losses/rescaling.h); only if offered
  };

  Kind kind = Kind::kArgmax;
  double gamma = 0;
  bool zero_one = false;  // the cost is 1 for every part except the gold ones
  int64_t k = 1;          // kKbest only
  double beta = 1;        // kLogsum only
  double scale = 1;       // the weights are scale * w
  bool of_slack = false;  // kMostViolated only: slack re-scaling; else margin re-scaling
  int slack = 1;          // kMostViolated only: 1, linear, or 2, quadratic
};

// The result of inference. `delta` and `ranking` point into the scratch memory of the call.
struct Answer {
  double value = 0;  // of the best output, without gamma c0; or the log partition function, or the bound
  Output y;          // kArgmax and kMostViolated
  std::vector<ScoredOutput> ys;
  double c0 = 0;                    // the cost of an output is c0 + <delta, y>;
  const double* delta = nullptr;    // null if gamma is 0
  const double* ranking = nullptr;  // beta (theta + gamma delta)
  // kLogsum, if a problem returns the expected features of the mixture of all outputs instead of marginals of parts:
  bool has_mixture = false;
  Row mixture;               // the expected features
  double mixture_score = 0;  // <scale * w, mixture>
};

// Properties common to all examples of a problem. Passes query them once.
struct Traits {
  unsigned offers = kArgmax;
  bool exact = true;  // whether inference finds the true optimum, the true sums, and so on
  bool has_gold = false;
  bool zero_one_is_of_parts = false;  // every output is a single part
  bool euclidean = true;              // the inner product of weights
  bool any_scores = true;             // inference accepts any scores of parts, not only those of weights
};

class Problem {
 public:
  Problem(int64_t size, int64_t dim)
      : size_(checked_count(size, "examples")), dim_(checked_count(dim, "weights", 0, kMostWeights)) {}
  virtual ~Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  int64_t size() const { return size_; }
  int64_t dim() const { return dim_; }
  uint64_t serial() const { return serial_; }  // unique per problem; addresses are reused

  virtual Traits traits() const = 0;
  virtual Interfaces interfaces() const { return {}; }
  virtual int64_t parts(int64_t i) const = 0;
  virtual void score(int64_t i, const double* w, double* theta) const = 0;
  // Inference at weights: theta = scale A_i w, the answer and, for kLogsum and kRelaxed, the marginals mu (which may be
  // null otherwise). The caller frees the scratch memory. A problem that finds its outputs only by inference under
  // weights overrides this. All others score the parts and use the inference below.
  virtual void infer(int64_t i, const double* w, const Question& question, double* theta, double* mu, Answer& answer,
                     Scratch& scratch) const {
    score(i, w, theta);
    if (question.scale != 1)
      for (int64_t k = 0; k < parts(i); ++k) theta[k] *= question.scale;
    infer_under(i, theta, question, mu, answer, scratch);
  }
  virtual void row(int64_t i, const double* v, Row& row) const = 0;
  virtual double radius(int64_t i) const = 0;
  // The k-th good output of example i, best first. Returns their number, and leaves y unchanged if there are not that
  // many. Learners that need one use the first. If the zero-one cost is a sum over parts, all of them cost 0.
  virtual int64_t gold(int64_t i, int64_t k, Output& y) const = 0;
  virtual double cost(int64_t i, double* delta) const = 0;
  virtual void forbid(int64_t, double*) const {}

  virtual double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const = 0;
  virtual double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const = 0;
  virtual void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                              std::vector<CostedOutput>& ys, Scratch& scratch) const = 0;
  virtual void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
                     Scratch& scratch) const = 0;
  // Fills ys with samples.
  virtual void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                      Scratch& scratch) const = 0;
  virtual double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const = 0;
  virtual double relaxed_argmax(int64_t, const double*, double*, Scratch&) const {
    return unsupported("relaxed_argmax"), 0.0;
  }

  // Inference on several examples at once, at weights w and with beta times the scores. Null if the structure has no
  // lock-step inference. Its example 0 is example `first` of this problem.
  virtual std::unique_ptr<const LockStep> lock_step(const double*, double, int64_t) const { return nullptr; }

  // g += c A_i' mu. Problems with a faster way than a sparse row override it.
  virtual void scatter(int64_t i, const double* mu, double c, double* g) const {
    Row row_of_mu;
    row(i, mu, row_of_mu);
    for (size_t k = 0; k < row_of_mu.index.size(); ++k) g[row_of_mu.index[k]] += c * row_of_mu.value[k];
  }

  // w += c A_i' v. Returns the change of 1/2 dot(w, w), from which a dual step computes its gain.
  virtual double move(int64_t i, const double* v, double c, double* w) const {
    Row row_of_v;
    row(i, v, row_of_v);
    double change = 0;
    for (size_t k = 0; k < row_of_v.index.size(); ++k) {
      double& weight = w[row_of_v.index[k]];
      const double before = weight;
      weight += c * row_of_v.value[k];
      change += 0.5 * c * row_of_v.value[k] * (before + weight);
    }
    return change;
  }

  // The inner product of weights: Euclidean, unless a kernel overrides it.
  virtual double dot(const double* u, const double* v) const { return loops().dot(u, v, dim_); }

  void check_example(int64_t i) const { check_number(i, size_); }

  // The zero-one cost if it is a sum over parts: 1 for every part except those of good outputs.
  void zero_one_cost(int64_t i, double* delta) const {
    std::fill(delta, delta + parts(i), 1.0);
    Output good;
    int64_t n = 1;
    for (int64_t k = 0; k < n; ++k) {
      n = gold(i, k, good);
      for (const int32_t part : good) delta[part] = 0;
    }
  }

  // The same query under scores of the parts.
  void infer_under(int64_t i, const double* theta, const Question& question, double* mu, Answer& answer,
                   Scratch& scratch) const {
    const int64_t n = parts(i);
    answer.has_mixture = false;
    add_costs(i, question, answer, scratch);
    answer.ranking = theta;
    if (answer.delta || question.beta != 1) {
      double* ranking = scratch.take(n);
      for (int64_t k = 0; k < n; ++k)
        ranking[k] = question.beta * (answer.delta ? theta[k] + question.gamma * answer.delta[k] : theta[k]);
      answer.ranking = ranking;
    }
    switch (question.kind) {
      case Question::Kind::kArgmax: answer.value = argmax(i, answer.ranking, answer.y, scratch); break;
      case Question::Kind::kKbest: kbest(i, answer.ranking, question.k, answer.ys, scratch); break;
      case Question::Kind::kLogsum: answer.value = logsum(i, answer.ranking, mu, scratch); break;
      case Question::Kind::kRelaxed: answer.value = relaxed_argmax(i, answer.ranking, mu, scratch); break;
      case Question::Kind::kMostViolated: unsupported("most_violated");
    }
  }

 protected:
  void add_costs(int64_t i, const Question& question, Answer& answer, Scratch& scratch) const {
    answer.c0 = 0;
    answer.delta = nullptr;
    if (question.gamma == 0) return;
    double* delta = scratch.take(parts(i));
    if (question.zero_one)
      zero_one_cost(i, delta);
    else
      answer.c0 = cost(i, delta);
    answer.delta = delta;
  }

 private:
  static uint64_t next_serial() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  int64_t size_;
  int64_t dim_;
  uint64_t serial_ = next_serial();
};

inline void expect_gold(const Problem& p) {
  if (!p.traits().has_gold) throw InputError("this problem was bound without gold outputs, and learning needs them.");
}

// Base of state that belongs to a problem: cuts, caches, blocks, stored parts, sharing. Its indices of parts and
// examples are meaningless in another problem, so functions that receive both from Python check them first.
class OfProblem {
 public:
  explicit OfProblem(const Problem& problem) : serial_(problem.serial()) {}

  void check(const Problem& problem, const char* what) const {
    if (serial_ != problem.serial()) throw InputError(std::string(what) + " belongs to another problem.");
  }

 private:
  uint64_t serial_;
};

}  // namespace margrave
