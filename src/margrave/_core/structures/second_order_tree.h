// Projective dependency trees with parts of two arcs as a structure (engines/second_order.h).
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/second_order.h"
#include "structures/tree_layout.h"
#include "structures/treebank.h"

namespace margrave {

class SecondOrderTreeStructure final : public Structure, public TreeLayout {
 public:
  // allowed: for the n * n arcs of all sentences one after another, whether an arc may be used; empty: all may.
  SecondOrderTreeStructure(Treebank treebank, const std::vector<bool>& allowed, bool grandparents)
      : treebank_(std::move(treebank)), grandparents_(grandparents) {
    treebank_.check_projective();
    int64_t next = 0;
    for (int64_t i = 0; i < size(); ++i) {
      const int n = treebank_.words(i);
      if (!allowed.empty() && next + int64_t{n} * n > static_cast<int64_t>(allowed.size())) break;
      for (int m = 1; m <= n; ++m)
        for (int h = 0; h <= n; ++h) {
          if (h == m || (!allowed.empty() && !allowed[static_cast<size_t>(next++)])) continue;
          arcs_.push_back({static_cast<int16_t>(h), static_cast<int16_t>(m)});
        }
      arc_begin_.push_back(static_cast<int64_t>(arcs_.size()));
    }
    if (static_cast<int64_t>(arc_begin_.size()) != size() + 1 ||
        (!allowed.empty() && next != to_signed(allowed.size())))
      throw InputError("there must be one entry of allowed per arc.");
    for (int64_t i = 0; i < size(); ++i) check_parts(i);
  }

  int64_t size() const override { return treebank_.size(); }
  int64_t parts(int64_t i) const override { return parts_[static_cast<size_t>(i)]; }
  int words(int64_t i) const override { return treebank_.words(i); }
  void tree_parts(int64_t i, std::vector<TreePart>& parts) const override {
    parts.clear();
    layout(i).each_part([&](int g, int h, int sibling, int word) { parts.push_back({g, h, sibling, word, -1}); });
  }
  unsigned offers() const override { return kArgmax | kLogsum | kKbest | kSample; }
  bool has_gold() const override { return treebank_.has_gold(); }
  void gold(int64_t i, int64_t, Output& y) const override { layout(i).parts_of(treebank_.gold_heads(i), y); }

  // Attachment errors: 1 for every word with a wrong head, and nothing for other parts.
  double cost(int64_t i, double* delta) const override {
    const second_order::Arc* arcs = arcs_of(i);
    const int32_t* heads = treebank_.gold_heads(i);
    std::fill_n(delta, parts(i), 0.0);
    for (int64_t a = 0; a < arcs_in(i); ++a) delta[a] = heads[arcs[a].word - 1] == arcs[a].head ? 0.0 : 1.0;
    return 0;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    check_tree_scores(i, theta, parts(i));
    return grandparents_ ? second_order::argmax<true>(layout(i), theta, scratch, y)
                         : second_order::argmax<false>(layout(i), theta, scratch, y);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_tree_scores(i, theta, parts(i));
    return grandparents_ ? second_order::logsum<true>(layout(i), theta, scratch, mu)
                         : second_order::logsum<false>(layout(i), theta, scratch, mu);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    check_tree_scores(i, theta, parts(i));
    hypergraph(i).kbest(theta, k, ys);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    check_tree_scores(i, theta, parts(i));
    if (!hypergraph(i).sample(theta, random, y)) throw InputError("every tree is forbidden.");
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys, Scratch&) const override {
    check_tree_scores(i, theta, parts(i));
    const Hypergraph graph = hypergraph(i);
    for (Output& y : ys)
      if (!graph.sample(theta, random, y)) throw InputError("every tree is forbidden.");
  }

  second_order::Layout layout(int64_t i) const {
    return second_order::Layout({treebank_.words(i), arcs_of(i), arcs_in(i), grandparents_, treebank_.single_root()});
  }

 private:
  static int64_t to_signed(size_t k) { return static_cast<int64_t>(k); }
  const second_order::Arc* arcs_of(int64_t i) const { return arcs_.data() + arc_begin_[static_cast<size_t>(i)]; }
  int64_t arcs_in(int64_t i) const {
    return arc_begin_[static_cast<size_t>(i) + 1] - arc_begin_[static_cast<size_t>(i)];
  }
  Hypergraph hypergraph(int64_t i) const {
    return grandparents_ ? second_order::hypergraph<true>(layout(i)) : second_order::hypergraph<false>(layout(i));
  }

  // Counts the parts of an example, and refuses allowed arcs that make no tree, or not the gold tree.
  void check_parts(int64_t i) {
    const std::string example = "example " + std::to_string(i);
    const second_order::Layout parts_of_example = layout(i);
    parts_.push_back(parts_of_example.parts());
    if (parts(i) > std::numeric_limits<int32_t>::max())
      throw InputError(example + " has " + std::to_string(parts(i)) + " parts, which are too many: allow fewer arcs.");
    if (!treebank_.has_gold()) {
      if (arcs_in(i) == int64_t{treebank_.words(i)} * treebank_.words(i)) return;
      Scratch scratch;
      Output y;
      if (argmax(i, std::vector<double>(static_cast<size_t>(parts(i)), 0.0).data(), y, scratch) == -kInfinity)
        throw InputError(example + ": its allowed arcs make no tree.");
      return;
    }
    const int32_t* heads = treebank_.gold_heads(i);
    for (int m = 1; m <= treebank_.words(i); ++m)
      if (parts_of_example.find(heads[m - 1], m) < 0)
        Treebank::refuse(i, m, "its head " + std::to_string(heads[m - 1]) + " is not allowed");
  }

  Treebank treebank_;
  bool grandparents_;
  std::vector<second_order::Arc> arcs_;
  std::vector<int64_t> arc_begin_{0}, parts_;
};

}  // namespace margrave
