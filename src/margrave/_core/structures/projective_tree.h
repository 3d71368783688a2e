// Projective dependency trees as a structure: the parts of a sentence of n words are its n * n arcs
// (engines/eisner.h).
#pragma once

#include <utility>
#include <vector>

#include "engines/eisner.h"
#include "structures/arc_trees.h"

namespace margrave {

class ProjectiveTreeStructure final : public ArcTrees {
 public:
  ProjectiveTreeStructure(const std::vector<int64_t>& words, std::vector<int32_t> heads, std::vector<bool> allowed,
                          bool single_root)
      : ArcTrees(projective(Treebank(words, std::move(heads), single_root, kLongest)), std::move(allowed)) {
    check_allowed();
  }

  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    y.clear();
    const double value = eisner::argmax(words(i), theta, single_root(), scratch, heads);
    if (value > -kInfinity) to_parts(words(i), heads.data(), y);
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_scores(i, theta);
    return eisner::logsum(words(i), theta, single_root(), scratch, mu);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, std::vector<CostedOutput>& ys,
                      Scratch&) const override {
    check_scores(i, theta);
    eisner::argmax_by_cost(words(i), theta, delta, single_root(), ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    check_scores(i, theta);
    eisner::kbest(words(i), theta, single_root(), k, scratch, ys);
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
    const auto take = [&](const std::vector<int32_t>& heads) { to_parts(words(i), heads.data(), *next++); };
    if (!eisner::sample(words(i), theta, single_root(), static_cast<int64_t>(ys.size()), random, scratch, take))
      throw InputError("every tree is forbidden.");
  }

 private:
  static constexpr int64_t kLongest = 4'000;  // twelve tables of n^2 numbers

  static Treebank projective(Treebank treebank) {
    treebank.check_projective();
    return treebank;
  }
};

}  // namespace margrave
