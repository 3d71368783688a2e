// What dependency trees have in common whose parts are the n * n arcs of a sentence of n words
// (engines/arborescence.h): costs, and arcs that are forbidden or required.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engines/arborescence.h"
#include "protocol/problem.h"
#include "structures/tree_layout.h"
#include "structures/treebank.h"

namespace margrave {

class ArcTrees : public Structure, public TreeLayout {
 public:
  // allowed: for the parts of all examples one after another, whether an arc may be used; empty: all may. A required
  // arc is the only one that is allowed for its word.
  ArcTrees(Treebank treebank, std::vector<bool> allowed)
      : treebank_(std::move(treebank)), allowed_(std::move(allowed)) {
    for (int64_t i = 0; i < size(); ++i) part_begin_.push_back(part_begin_.back() + parts(i));
    if (!allowed_.empty() && static_cast<int64_t>(allowed_.size()) != part_begin_.back())
      throw InputError("there must be one entry of allowed per arc.");
  }

  int64_t size() const override { return treebank_.size(); }
  int64_t parts(int64_t i) const override { return int64_t{words(i)} * words(i); }
  int64_t choice(int64_t i) const override { return words(i); }  // every word has one head
  int words(int64_t i) const override { return treebank_.words(i); }
  void tree_parts(int64_t i, std::vector<TreePart>& parts) const override {
    parts.clear();
    for (int m = 1; m <= words(i); ++m)
      for (int h = 0; h <= words(i); ++h)
        if (h != m) parts.push_back({-1, h, -1, m, -1});
  }
  bool has_gold() const override { return treebank_.has_gold(); }
  void gold(int64_t i, int64_t, Output& y) const override { to_parts(words(i), treebank_.gold_heads(i), y); }

  // Attachment errors: 1 for every word with a wrong head.
  double cost(int64_t i, double* delta) const override {
    std::fill(delta, delta + parts(i), 1.0);
    Output y;
    gold(i, 0, y);
    for (const int32_t part : y) delta[part] = 0;
    return 0;
  }

  bool constrained() const override { return !allowed_.empty(); }
  void forbid(int64_t i, double* theta) const override {
    if (allowed_.empty()) return;
    for (int64_t k = 0; k < parts(i); ++k)
      if (!allows(i, k)) theta[k] = -kInfinity;
  }

 protected:
  bool single_root() const { return treebank_.single_root(); }

  static void to_parts(int n, const int32_t* heads, Output& y) {
    y.clear();
    for (int m = 1; m <= n; ++m) y.push_back(static_cast<int32_t>(tree::part(n, heads[m - 1], m)));
  }

  void check_scores(int64_t i, const double* theta) const { check_tree_scores(i, theta, parts(i)); }

  // For the constructors of derived classes: refuses examples whose allowed arcs make no tree, or not the gold tree.
  void check_allowed() const {
    if (allowed_.empty()) return;
    Scratch scratch;
    Output y;
    for (int64_t i = 0; i < size(); ++i) {
      const Scratch::Frame frame(scratch);
      double* theta = scratch.take(parts(i));
      std::fill_n(theta, parts(i), 0.0);
      forbid(i, theta);
      if (argmax(i, theta, y, scratch) == -kInfinity)
        throw InputError("example " + std::to_string(i) + ": its allowed arcs make no tree.");
      if (!has_gold()) continue;
      gold(i, 0, y);
      for (int m = 1; m <= words(i); ++m)
        if (!allows(i, y[static_cast<size_t>(m - 1)]))
          Treebank::refuse(i, m, "its head " + std::to_string(treebank_.gold_heads(i)[m - 1]) + " is not allowed");
    }
  }

 private:
  bool allows(int64_t i, int64_t part) const {
    return allowed_[static_cast<size_t>(part_begin_[static_cast<size_t>(i)] + part)];
  }

  Treebank treebank_;
  std::vector<bool> allowed_;
  std::vector<int64_t> part_begin_{0};
};

}  // namespace margrave
