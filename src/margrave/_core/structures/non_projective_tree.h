// Non-projective dependency trees as a structure: the parts of a sentence are its arcs (engines/arborescence.h).
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engines/arborescence.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "structures/arc_trees.h"

namespace margrave {

class NonProjectiveTreeStructure final : public ArcTrees {
 public:
  NonProjectiveTreeStructure(const std::vector<int64_t>& words, std::vector<int32_t> heads,
                             const std::vector<bool>& left, std::vector<bool> allowed, bool single_root)
      : ArcTrees(Treebank(words, std::move(heads), single_root, kLongest), left, std::move(allowed)) {
    check_arcs([&](int n, const auto& has_arc) { return any_tree(n, has_arc, single_root); });
  }

  unsigned offers() const override { return kArgmax | kLogsum | kKbest | kSample; }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    y.clear();
    const double value = tree::argmax(words(i), scores(i, theta, scratch), single_root(), workspace(), heads);
    if (value > -kInfinity) to_parts(i, heads.data(), y);
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_scores(i, theta);
    const double* every = scores(i, theta, scratch);
    if (every == theta) return tree::logsum(words(i), every, single_root(), workspace(), mu);
    double* of_all = scratch.take(int64_t{words(i)} * words(i));
    const double value = tree::logsum(words(i), every, single_root(), workspace(), of_all);
    gather(i, of_all, mu);
    return value;
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    std::vector<double> values;
    const int wanted = static_cast<int>(std::min<int64_t>(k, std::numeric_limits<int>::max()));
    const int found =
        tree::kbest(words(i), scores(i, theta, scratch), single_root(), wanted, workspace(), heads, values);
    ys.clear();
    for (int r = 0; r < found; ++r) {
      ys.push_back({values[r], {}});
      to_parts(i, heads.data() + int64_t{r} * words(i), ys.back().y);
    }
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    if (!tree::sample(words(i), scores(i, theta, scratch), single_root(), random, workspace(), heads))
      throw InputError("every tree is forbidden.");
    to_parts(i, heads.data(), y);
  }

 private:
  static constexpr int64_t kLongest = 10'000;  // n^2 parts must fit into 32 bits, and word numbers into 16

  const double* scores(int64_t i, const double* theta, Scratch& scratch) const {
    return spread(i, theta, -kInfinity, scratch);
  }
  static tree::Workspace& workspace() {
    thread_local tree::Workspace ws;
    return ws;
  }
};

}  // namespace margrave
