// A problem made of a structure and a feature map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"

namespace margrave {

// A structure and its features in lock-step.
class BoundLockStep final : public LockStep {
 public:
  // Null if the structure has no lock-step inference, or if it and the features do not share the same parts.
  static std::unique_ptr<const LockStep> make(const Structure& structure, const Features& features, const double* w,
                                              double beta, int64_t first) {
    const SharedParts* parts = structure.shared();
    const SharedMap* map = features.shared();
    if (!parts || !map || parts->shared_count() != map->shared_count()) return nullptr;
    std::vector<double> scores(static_cast<size_t>(parts->shared_count()));
    map->score_shared(w, scores.data());
    std::vector<double> ranking = scores;
    for (double& each : ranking) each *= beta;
    std::unique_ptr<const Lanes> lanes = parts->lanes(ranking.data(), map->used());
    if (!lanes) return nullptr;
    return std::unique_ptr<const LockStep>(new BoundLockStep(*map, w, std::move(scores), std::move(lanes), first));
  }

  int64_t max_lanes() const override { return lanes_->max_lanes(); }
  bool argmax_is_faster() const override { return lanes_->argmax_is_faster(); }
  void logsum(std::vector<Lane>& lanes, double* shared, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->logsum(lanes, shared, scratch);
    number(lanes, -first_);
  }
  void argmax(std::vector<Lane>& lanes, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->argmax(lanes, scratch);
    number(lanes, -first_);
  }
  bool kbest_is_faster() const override { return lanes_->kbest_is_faster(); }
  void kbest(std::vector<Lane>& lanes, int64_t k, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->kbest(lanes, k, scratch);
    number(lanes, -first_);
  }
  bool sample_is_faster() const override { return lanes_->sample_is_faster(); }
  void sample(std::vector<Lane>& lanes, std::vector<Random>& randoms, Scratch& scratch) const override {
    number(lanes, first_);
    lanes_->sample(lanes, randoms, scratch);
    number(lanes, -first_);
  }
  const std::vector<double>& shared_scores() const override { return scores_; }
  void score(int64_t i, double* theta) const override { map_.score_own(first_ + i, w_, theta); }
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    map_.scatter_own(first_ + i, mu, c, g);
  }
  void scatter_shared(const double* mu, double* g) const override { map_.scatter_shared(mu, g); }

 private:
  BoundLockStep(const SharedMap& map, const double* w, std::vector<double> scores, std::unique_ptr<const Lanes> lanes,
                int64_t first)
      : map_(map), w_(w), scores_(std::move(scores)), lanes_(std::move(lanes)), first_(first) {}

  static void number(std::vector<Lane>& lanes, int64_t by) {
    for (Lane& lane : lanes) lane.example += by;
  }

  const SharedMap& map_;
  const double* w_;
  std::vector<double> scores_;
  std::unique_ptr<const Lanes> lanes_;
  int64_t first_;
};

// A structure with its features, bound to a dataset.
class BoundProblem final : public Problem, private Weighted {
 public:
  BoundProblem(std::shared_ptr<const Structure> structure, std::shared_ptr<const Features> features)
      : Problem(structure->size(), features->dim()),
        structure_(std::move(structure)),
        features_(std::move(features)),
        traits_{structure_->offers(), structure_->exact(), structure_->has_gold(), structure_->zero_one_is_of_parts(),
                features_->euclidean()},
        constrained_(structure_->constrained()) {
    if (features_->size() != structure_->size())
      throw InputError("there are features for " + std::to_string(features_->size()) +
                       " examples, and the structure has " + std::to_string(structure_->size()) + ".");
    for (int64_t i = 0; i < size(); ++i)
      if (features_->parts(i) != structure_->parts(i))
        throw InputError("example " + std::to_string(i) + " has features for " + std::to_string(features_->parts(i)) +
                         " parts, and the structure has " + std::to_string(structure_->parts(i)) + ".");
  }

  Traits traits() const override { return traits_; }
  Interfaces interfaces() const override {
    return {{features_->weighted() ? this : nullptr}, {structure_->counted()}, {structure_->divisible()}};
  }
  int64_t parts(int64_t i) const override { return structure_->parts(i); }
  void score(int64_t i, const double* w, double* theta) const override { features_->score(i, w, theta); }
  void scatter(int64_t i, const double* mu, double c, double* g) const override { features_->scatter(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return features_->move(i, v, c, w); }
  void row(int64_t i, const double* v, Row& row) const override { features_->row(i, v, row); }
  double dot(const double* u, const double* v) const override { return features_->dot(u, v); }
  double radius(int64_t i) const override { return features_->radius(i); }
  int64_t gold(int64_t i, int64_t k, Output& y) const override {
    const int64_t n = structure_->gold_count(i);
    if (k < n) structure_->gold(i, k, y);
    return n;
  }
  double cost(int64_t i, double* delta) const override { return structure_->cost(i, delta); }
  void forbid(int64_t i, double* theta) const override { structure_->forbid(i, theta); }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    return structure_->argmax(i, constrain(i, theta, scratch), y, scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    return structure_->logsum(i, constrain(i, theta, scratch), mu, scratch);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    structure_->argmax_by_cost(i, constrain(i, theta, scratch), delta, needless, ys, scratch);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    structure_->kbest(i, constrain(i, theta, scratch), k, ys, scratch);
  }
  void sample(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
              Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    structure_->sample_many(i, constrain(i, theta, scratch), random, ys, scratch);
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const override {
    return structure_->entropy(i, mu, t, scratch);
  }
  double relaxed_argmax(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    Scratch::Frame frame(scratch);
    return structure_->relaxed_argmax(i, constrain(i, theta, scratch), mu, scratch);
  }
  std::unique_ptr<const LockStep> lock_step(const double* w, double beta, int64_t first) const override {
    return BoundLockStep::make(*structure_, *features_, w, beta, first);
  }

 private:
  WeightedParts weighted_parts(int64_t i) const override { return features_->weighted()->weighted_parts(i); }
  void score_weighted(int64_t i, const double* w, double* theta) const override {
    features_->weighted()->score_weighted(i, w, theta);
  }
  double move_weighted(int64_t i, const double* v, double c, double* w) const override {
    return features_->weighted()->move_weighted(i, v, c, w);
  }
  double logsum_weighted(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    const WeightedParts weighted = weighted_parts(i);
    Scratch::Frame frame(scratch);
    const WeightedSums* sums = constrained_ ? nullptr : structure_->weighted();
    return sums ? sums->logsum_weighted(i, weighted, theta, mu, scratch)
                : logsum_by_all_parts(*structure_, i, weighted, theta, mu, scratch);
  }

  // Scores stay linear in w; constraints apply only at inference.
  const double* constrain(int64_t i, const double* theta, Scratch& scratch) const {
    if (!constrained_) return theta;
    const int64_t n = parts(i);
    double* copy = scratch.take(n);
    std::copy(theta, theta + n, copy);
    structure_->forbid(i, copy);
    return copy;
  }

  std::shared_ptr<const Structure> structure_;
  std::shared_ptr<const Features> features_;
  Traits traits_;
  bool constrained_;
};

}  // namespace margrave
