// Projective dependency trees with parts of two arcs as a structure (engines/second_order.h).
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/second_order.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "structures/arc_trees.h"

namespace margrave {

class SecondOrderTreeStructure final : public TreesOfArcs {
 public:
  SecondOrderTreeStructure(const std::vector<int64_t>& words, std::vector<int32_t> heads, const std::vector<bool>& left,
                           std::vector<bool> allowed, bool grandparents, bool single_root)
      : TreesOfArcs(Treebank::projective(words, std::move(heads), single_root, kLongest), left, true,
                    std::move(allowed)),
        grandparents_(grandparents) {
    for (int64_t i = 0; i < size(); ++i) {
      parts_.push_back(layout(i).parts());
      if (parts(i) > std::numeric_limits<int32_t>::max())
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(parts(i)) +
                         " parts, which are too many: allow fewer arcs.");
    }
    check_arcs([&](int n, const auto& has_arc) { return eisner::any_tree(n, has_arc, single_root); });
  }

  int64_t parts(int64_t i) const override { return parts_[i]; }
  void tree_parts(int64_t i, std::vector<TreePart>& parts) const override {
    parts.clear();
    layout(i).each_part([&](int g, int h, int sibling, int word) { parts.push_back({g, h, sibling, word, -1}); });
  }
  unsigned offers() const override { return kArgmax | kLogsum | kKbest | kSample; }
  void gold(int64_t i, int64_t, Output& y) const override { layout(i).parts_of(gold_heads(i), y); }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    check_scores(i, theta);
    return grandparents_ ? second_order::argmax<true>(layout(i), theta, scratch, y)
                         : second_order::argmax<false>(layout(i), theta, scratch, y);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_scores(i, theta);
    return grandparents_ ? second_order::logsum<true>(layout(i), theta, scratch, mu)
                         : second_order::logsum<false>(layout(i), theta, scratch, mu);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    check_scores(i, theta);
    hypergraph(i).kbest(theta, k, ys);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    check_scores(i, theta);
    if (!hypergraph(i).sample(theta, random, y)) throw InputError("every tree is forbidden.");
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys, Scratch&) const override {
    check_scores(i, theta);
    const Hypergraph graph = hypergraph(i);
    for (Output& y : ys)
      if (!graph.sample(theta, random, y)) throw InputError("every tree is forbidden.");
  }

  second_order::Layout layout(int64_t i) const {
    return second_order::Layout({words(i), arcs().of(i), arcs().count(i), grandparents_, single_root()});
  }

 private:
  static constexpr int64_t kLongest = 4'000;  // word numbers must fit into 16 bits, and tables of n^2 numbers into
                                              // memory

  Hypergraph hypergraph(int64_t i) const {
    return grandparents_ ? second_order::hypergraph<true>(layout(i)) : second_order::hypergraph<false>(layout(i));
  }

  bool grandparents_;
  std::vector<int64_t> parts_;
};

}  // namespace margrave
