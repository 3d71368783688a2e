// Projective dependency trees as a structure: the parts of a sentence are its arcs (engines/eisner.h).
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "engines/eisner.h"
#include "engines/eisner_by_cost.h"
#include "engines/eisner_kbest.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "structures/arc_trees.h"

namespace margrave {

class ProjectiveTreeStructure final : public ArcTrees {
 public:
  ProjectiveTreeStructure(const std::vector<int64_t>& words, std::vector<int32_t> heads, const std::vector<bool>& left,
                          std::vector<bool> allowed, bool single_root)
      : ArcTrees(Treebank::projective(words, std::move(heads), single_root, kLongest), left, std::move(allowed)) {
    check_arcs([&](int n, const auto& has_arc) { return eisner::any_tree(n, has_arc, single_root); });
  }

  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    y.clear();
    const double value = eisner::argmax(words(i), scores(i, theta, scratch), single_root(), scratch, heads);
    if (value > -kInfinity) to_parts(i, heads.data(), y);
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_scores(i, theta);
    const double* every = scores(i, theta, scratch);
    if (every == theta) return eisner::logsum(words(i), every, single_root(), scratch, mu);
    double* of_all = scratch.take(int64_t{words(i)} * words(i));
    const double value = eisner::logsum(words(i), every, single_root(), scratch, of_all);
    gather(i, of_all, mu);
    return value;
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> begin(static_cast<size_t>(parts(i) + 1));
    std::iota(begin.begin(), begin.end(), 0);
    argmax_by_cost_of(i, begin.data(), theta, delta, ys);
  }
  void argmax_by_cost_of(int64_t i, const int32_t* begin, const double* theta, const double* delta,
                         std::vector<CostedOutput>& ys) const override {
    const int n = words(i);
    const std::vector<int64_t> costs = whole_costs(delta, begin[arcs().count(i)]);
    std::vector<eisner::Versions> versions(static_cast<size_t>(n) * static_cast<size_t>(n));
    for (int64_t a = 0; a < arcs().count(i); ++a) {
      const tree::Arc arc = arcs().at(i, a);
      versions[tree::part(n, arc.head, arc.word)] = {begin[a], begin[a + 1]};
    }
    eisner::BestByCost(n, versions, theta, costs, single_root()).outputs(ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    check_scores(i, theta);
    eisner::kbest(words(i), scores(i, theta, scratch), single_root(), k, scratch, ys);
    for (ScoredOutput& each : ys) renumber(i, each.y);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  // All draws share the sums over spans.
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    check_scores(i, theta);
    auto next = ys.begin();
    const auto take = [&](const std::vector<int32_t>& heads) { to_parts(i, heads.data(), *next++); };
    if (!eisner::sample(words(i), scores(i, theta, scratch), single_root(), static_cast<int64_t>(ys.size()), random,
                        scratch, take))
      throw InputError("every tree is forbidden.");
  }

 private:
  static constexpr int64_t kLongest = 4'000;  // limit of twelve tables of n^2 numbers

  const double* scores(int64_t i, const double* theta, Scratch& scratch) const {
    return spread(i, theta, -kInfinity, scratch);
  }
};

}  // namespace margrave
