// Base of dependency trees without labels. Their first parts are arcs, as in engines/tree_arcs.h or those kept by
// pruning. Arcs can be forbidden or required.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engines/edmonds.h"
#include "engines/tree_arcs.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "structures/tree_structure.h"
#include "structures/treebank.h"

namespace margrave {

class TreesOfArcs : public TreeStructure {
 public:
  // left: for the n * n arcs of all sentences, whether they have parts; empty: all have. allowed: for the arcs with
  // parts, whether they may be used; empty: all may. A required arc is the only allowed one for its word.
  TreesOfArcs(Treebank treebank, const std::vector<bool>& left, bool listed, std::vector<bool> allowed)
      : treebank_(std::move(treebank)), arcs_(treebank_, left, listed), allowed_(std::move(allowed)) {
    if (!allowed_.empty() && static_cast<int64_t>(allowed_.size()) != arcs_.begin(size()))
      throw InputError("there must be one entry of allowed per arc: " + std::to_string(arcs_.begin(size())) + ", not " +
                       std::to_string(allowed_.size()) + ".");
  }

  int64_t size() const override { return treebank_.size(); }
  int words(int64_t i) const override { return treebank_.words(i); }
  int64_t arc_parts(int64_t i) const override { return arcs_.count(i); }
  LabeledArc arc(int64_t i, int64_t part) const override {
    const tree::Arc found = arcs_.at(i, part);
    return {found.head, found.word, -1};
  }
  int64_t first_arc(int64_t i) const { return arcs_.begin(i); }  // index among those of all sentences
  const int32_t* gold_heads(int64_t i) const { return treebank_.gold_heads(i); }
  bool has_gold() const override { return treebank_.has_gold(); }

  // Attachment errors: 1 for every word with a wrong head. Parts that are not arcs cost nothing.
  double cost(int64_t i, double* delta) const override {
    const int32_t* heads = treebank_.gold_heads(i);
    std::fill_n(delta, parts(i), 0.0);
    for (int64_t a = 0; a < arcs_.count(i); ++a) {
      const tree::Arc found = arcs_.at(i, a);
      delta[a] = heads[found.word - 1] == found.head ? 0.0 : 1.0;
    }
    return 0;
  }

  bool constrained() const override { return !allowed_.empty(); }
  void forbid(int64_t i, double* theta) const override {
    if (allowed_.empty()) return;
    for (int64_t a = 0; a < arcs_.count(i); ++a)
      if (!allows(i, a)) theta[a] = -kInfinity;
  }

  // The best output for each cost, if every arc has several versions: those of arc a are numbered begin[a] to begin[a +
  // 1], with their own scores and costs. Outputs consist of these numbers.
  virtual void argmax_by_cost_of(int64_t, const int32_t*, const double*, const double*,
                                 std::vector<CostedOutput>&) const {
    unsupported("argmax_by_cost");
  }

 protected:
  const Arcs& arcs() const { return arcs_; }
  bool single_root() const { return treebank_.single_root(); }
  void check_scores(int64_t i, const double* theta) const { check_tree_scores(i, theta, parts(i)); }

  // Whether there is a non-projective tree over the arcs for which has_arc(head, word) is true.
  template <class HasArc>
  static bool any_tree(int n, const HasArc& has_arc, bool single_root) {
    std::vector<double> theta(static_cast<size_t>(n) * static_cast<size_t>(n));
    for (size_t part = 0; part < theta.size(); ++part) {
      const tree::Arc arc = tree::arc_of(n, static_cast<int64_t>(part));
      theta[part] = has_arc(arc.head, arc.word) ? 0.0 : -kInfinity;
    }
    return tree::Arborescence().solve(n, theta.data(), single_root);
  }

  // For the constructors of derived classes: rejects sentences whose arcs do not form a tree, or not the gold tree.
  // any_tree(n, has_arc) returns whether there is a tree over the arcs for which has_arc(head, word) is true.
  template <class AnyTree>
  void check_arcs(const AnyTree& any_tree) const {
    if (arcs_.all() && allowed_.empty()) return;
    std::vector<char> every;  // whether a sentence has each of its n * n arcs
    for (int64_t i = 0; i < size(); ++i) {
      const int n = words(i);
      every.assign(static_cast<size_t>(n) * static_cast<size_t>(n), 0);
      for (int64_t a = 0; a < arcs_.count(i); ++a) {
        const tree::Arc found = arcs_.at(i, a);
        if (allowed_.empty() || allows(i, a)) every[tree::part(n, found.head, found.word)] = 1;
      }
      const auto has_arc = [&](int head, int word) { return every[tree::part(n, head, word)] != 0; };
      if (!has_gold()) {
        if (!has_chain(n, has_arc) && !any_tree(n, has_arc))
          throw InputError("example " + std::to_string(i) + ": its allowed arcs make no tree" +
                           (single_root() ? " with a single root." : "."));
        continue;
      }
      const int32_t* heads = treebank_.gold_heads(i);
      for (int m = 1; m <= n; ++m)
        if (!has_arc(heads[m - 1], m))
          Treebank::refuse(i, m, "its head " + std::to_string(heads[m - 1]) + " is not allowed");
    }
  }

 private:
  // Whether every word can have the word before it as head, and the first one the root. This is a valid tree of every
  // kind, always kept by pruning by length, and the fastest one to check.
  template <class HasArc>
  static bool has_chain(int n, const HasArc& has_arc) {
    for (int m = 1; m <= n; ++m)
      if (!has_arc(m - 1, m)) return false;
    return true;
  }

  bool allows(int64_t i, int64_t arc) const { return allowed_[arcs_.begin(i) + arc]; }

  Treebank treebank_;
  Arcs arcs_;
  std::vector<bool> allowed_;
};

// Trees whose only parts are arcs. Engines take scores of all n * n arcs.
class ArcTrees : public TreesOfArcs {
 public:
  ArcTrees(Treebank treebank, const std::vector<bool>& left, std::vector<bool> allowed)
      : TreesOfArcs(std::move(treebank), left, false, std::move(allowed)) {}

  int64_t parts(int64_t i) const override { return arcs().count(i); }
  // Every word has one head. After pruning, groups of arcs differ in size.
  int64_t choice(int64_t i) const override { return arcs().all() ? words(i) : 1; }
  void gold(int64_t i, int64_t, Output& y) const override { to_parts(i, gold_heads(i), y); }

 protected:
  void to_parts(int64_t i, const int32_t* heads, Output& y) const {
    y.clear();
    for (int m = 1; m <= words(i); ++m) y.push_back(static_cast<int32_t>(arcs().find(i, heads[m - 1], m)));
  }
  // Maps values of the parts to those of all arcs, with `missing` for arcs without a part, and back.
  const double* spread(int64_t i, const double* values, double missing, Scratch& scratch) const {
    if (arcs().all()) return values;
    const int n = words(i);
    double* every = scratch.take(int64_t{n} * n);
    std::fill_n(every, int64_t{n} * n, missing);
    const tree::Arc* const list = arcs().of(i);
    for (int64_t a = 0; a < arcs().count(i); ++a) every[tree::part(n, list[a].head, list[a].word)] = values[a];
    return every;
  }
  void gather(int64_t i, const double* every, double* values) const {
    const int n = words(i);
    const tree::Arc* const list = arcs().of(i);
    for (int64_t a = 0; a < arcs().count(i); ++a) values[a] = every[tree::part(n, list[a].head, list[a].word)];
  }
  // Maps an output of arc numbers to parts.
  void renumber(int64_t i, Output& y) const {
    if (arcs().all()) return;
    for (int32_t& part : y) {
      const tree::Arc found = tree::arc_of(words(i), part);
      part = static_cast<int32_t>(arcs().find(i, found.head, found.word));
    }
  }
};

}  // namespace margrave
