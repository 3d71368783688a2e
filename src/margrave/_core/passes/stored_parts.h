// The numbers that dual learners store for the parts of examples.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/batch.h"
#include "protocol/interfaces.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

// The parts of the examples for which a learner stores numbers, and where, concatenated over examples.
//
// By default these are all parts. A learner whose numbers are always 0 for parts without a weight stores only the
// weighted parts. The exceptions are examples in which another part is gold or has a cost: all of their parts are
// stored.
class StoredParts {
 public:
  explicit StoredParts(const Problem& problem)
      : owner_(problem), begin_(part_offsets(problem)), all_(begin_.size() - 1, 1) {}
  StoredParts(const Problem& problem, const LossFamily& family, int threads, const Poll& poll)
      : owner_(problem),
        weighted_(problem.interfaces().weighted),
        begin_{0},
        all_(static_cast<size_t>(problem.size()), 0) {
    for_examples(problem, threads, poll,
                 [&](int64_t i, int, Worker& worker) { all_[i] = needs_all(problem, family, i, worker); });
    for (int64_t i = 0; i < problem.size(); ++i) begin_.push_back(begin_.back() + of(problem, i).size());
  }

  int64_t size() const { return begin_.back(); }
  int64_t begin(int64_t i) const { return begin_[i]; }
  bool all(int64_t i) const { return all_[i] != 0; }
  WeightedParts of(const Problem& problem, int64_t i) const {
    return all(i) ? WeightedParts::all(problem.parts(i)) : weighted_.of->weighted_parts(weighted_.first + i);
  }
  const Offered<Weighted>& weighted() const { return weighted_; }

  void check(const Problem& problem) const { owner_.check(problem, "this set of stored parts"); }

 private:
  bool needs_all(const Problem& problem, const LossFamily& family, int64_t i, Worker& worker) const {
    if (!weighted_) return true;
    const WeightedParts weighted = weighted_.of->weighted_parts(weighted_.first + i);
    if (weighted.size() == problem.parts(i)) return true;
    problem.gold(i, 0, worker.gold);
    if (!std::all_of(worker.gold.begin(), worker.gold.end(), [&](int32_t part) { return weighted.has(part); }))
      return true;
    if (family.gamma == 0) return false;
    double* delta = worker.theta.data();
    family.cost(problem, i, delta);
    weighted.each([&](int64_t, int64_t part) { delta[part] = 0; });
    return std::any_of(delta, delta + problem.parts(i), [](double value) { return value != 0; });
  }

  OfProblem owner_;
  Offered<Weighted> weighted_;  // of the owner
  std::vector<int64_t> begin_;
  std::vector<char> all_;  // whether all parts of an example are stored
};

// One example restricted to its stored parts, whose scores, natural parameters, marginals and so on are contiguous.
// Other parts have no weight and no cost, and inference uses a score of 0 for them.
class StoredExample {
 public:
  StoredExample(const Problem& problem, const StoredParts& stored, int64_t i)
      : problem_(problem),
        i_(i),
        all_(stored.all(i)),
        parts_(stored.of(problem, i)),
        weighted_(stored.weighted().from(i)) {}

  int64_t size() const { return parts_.size(); }
  const WeightedParts& parts() const { return parts_; }

  void score(const double* w, double* theta) const {
    all_ ? problem_.score(i_, w, theta) : weighted_.of->score_weighted(weighted_.first, w, theta);
  }
  double move(const double* v, double c, double* w) const {
    return all_ ? problem_.move(i_, v, c, w) : weighted_.of->move_weighted(weighted_.first, v, c, w);
  }
  double logsum(const double* t, double* mu, Scratch& scratch) const {
    return all_ ? problem_.logsum(i_, t, mu, scratch) : weighted_.of->logsum_weighted(weighted_.first, t, mu, scratch);
  }
  // `delta` has room for all parts.
  double cost(const LossFamily& family, double* delta) const {
    const double c0 = family.cost(problem_, i_, delta);
    if (!all_) parts_.pack(delta, delta);
    return c0;
  }

 private:
  const Problem& problem_;
  int64_t i_;
  bool all_;
  WeightedParts parts_;
  Offered<Weighted> weighted_;
};

}  // namespace margrave
