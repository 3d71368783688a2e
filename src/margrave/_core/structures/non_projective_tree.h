// Non-projective dependency trees as a structure: the parts of a sentence of n words are its n * n arcs
// (engines/arborescence.h).
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engines/arborescence.h"
#include "structures/arc_trees.h"

namespace margrave {

class TreeStructure final : public ArcTrees {
 public:
  TreeStructure(const std::vector<int64_t>& words, std::vector<int32_t> heads, std::vector<bool> allowed,
                bool single_root)
      : ArcTrees(Treebank(words, std::move(heads), single_root, kLongest), std::move(allowed)) {
    check_allowed();
  }

  unsigned offers() const override { return kArgmax | kLogsum | kKbest | kSample; }

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    y.clear();
    const double value = tree::argmax(words(i), theta, single_root(), workspace(), heads);
    if (value > -kInfinity) to_parts(words(i), heads.data(), y);
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    return tree::logsum(words(i), theta, single_root(), workspace(), mu);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    std::vector<double> values;
    const int wanted = static_cast<int>(std::min<int64_t>(k, std::numeric_limits<int>::max()));
    const int found = tree::kbest(words(i), theta, single_root(), wanted, workspace(), heads, values);
    ys.clear();
    for (int r = 0; r < found; ++r) {
      ys.push_back({values[static_cast<size_t>(r)], {}});
      to_parts(words(i), heads.data() + int64_t{r} * words(i), ys.back().y);
    }
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    if (!tree::sample(words(i), theta, single_root(), random, workspace(), heads))
      throw InputError("every tree is forbidden.");
    to_parts(words(i), heads.data(), y);
  }

 private:
  static constexpr int64_t kLongest = 10'000;  // n^2 parts must stay countable in 32 bits

  static tree::Workspace& workspace() {
    thread_local tree::Workspace ws;
    return ws;
  }
};

}  // namespace margrave
