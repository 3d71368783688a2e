// What dependency trees have in common whose parts are the n * n arcs of a sentence of n words
// (engines/arborescence.h): gold trees, costs, and arcs that are forbidden or required.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engines/arborescence.h"
#include "protocol/problem.h"

namespace margrave {

class ArcTrees : public Structure {
 public:
  // words (examples): the length of each sentence. heads: all gold heads one after another, or empty. allowed: for the
  // parts of all examples one after another, whether an arc may be used; empty: all may. A required arc is the only one
  // that is allowed for its word.
  ArcTrees(const std::vector<int64_t>& words, std::vector<int32_t> heads, std::vector<bool> allowed, bool single_root,
           int64_t longest)
      : heads_(std::move(heads)), allowed_(std::move(allowed)), single_root_(single_root) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string example = "example " + std::to_string(i);
      if (words[i] < 1) throw InputError(example + " has no words.");
      if (words[i] > longest)
        throw InputError(example + " has " + std::to_string(words[i]) + " words: at most " + std::to_string(longest) +
                         " are possible.");
      begin_.push_back(begin_.back() + words[i]);
      part_begin_.push_back(part_begin_.back() + words[i] * words[i]);
    }
    if (!heads_.empty() && static_cast<int64_t>(heads_.size()) != begin_.back())
      throw InputError("there must be one head per word.");
    if (!allowed_.empty() && static_cast<int64_t>(allowed_.size()) != part_begin_.back())
      throw InputError("there must be one entry of allowed per arc.");
    if (!heads_.empty())
      for (int64_t i = 0; i < size(); ++i) check_tree(i);
  }

  int64_t size() const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t parts(int64_t i) const override { return int64_t{words(i)} * words(i); }
  int64_t choice(int64_t i) const override { return words(i); }  // every word has one head
  bool has_gold() const override { return !heads_.empty() || begin_.back() == 0; }
  void gold(int64_t i, int64_t, Output& y) const override { to_parts(words(i), gold_heads(i), y); }

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
    const int64_t first = part_begin_[static_cast<size_t>(i)];
    for (int64_t k = 0; k < parts(i); ++k)
      if (!allowed_[static_cast<size_t>(first + k)]) theta[k] = -kInfinity;
  }

 protected:
  int words(int64_t i) const {
    return static_cast<int>(begin_[static_cast<size_t>(i) + 1] - begin_[static_cast<size_t>(i)]);
  }
  bool single_root() const { return single_root_; }
  const int32_t* gold_heads(int64_t i) const {
    if (heads_.empty()) throw InputError("this problem was bound without gold trees.");
    return heads_.data() + begin_[static_cast<size_t>(i)];
  }

  static void to_parts(int n, const int32_t* heads, Output& y) {
    y.clear();
    for (int m = 1; m <= n; ++m) y.push_back(static_cast<int32_t>(tree::part(n, heads[m - 1], m)));
  }

  // Inference would not end, or mean nothing, if a score were NaN or infinite.
  void check_scores(int64_t i, const double* theta) const {
    for (int64_t k = 0; k < parts(i); ++k)
      if (!(theta[k] < kInfinity))
        throw InputError("example " + std::to_string(i) + ": a score is " +
                         (std::isnan(theta[k]) ? "not a number" : "infinite") + "; scale the features, or lower C.");
  }

  // For the constructors of derived classes: refuses examples whose allowed arcs make no tree.
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
    }
  }

  [[noreturn]] static void refuse(int64_t i, int word, const std::string& what) {
    throw InputError("example " + std::to_string(i) + ", word " + std::to_string(word) + ": " + what + ".");
  }

 private:
  void check_tree(int64_t i) const {
    const tree::HeadCheck found = tree::check(words(i), gold_heads(i), single_root_);
    switch (found.error) {
      case tree::HeadError::none: break;
      case tree::HeadError::out_of_range: refuse(i, found.word, "its head is out of range");
      case tree::HeadError::self: refuse(i, found.word, "it is its own head");
      case tree::HeadError::cycle: refuse(i, found.word, "it is on a cycle");
      case tree::HeadError::several_roots:
        refuse(i, found.word, "it is a second child of the root, and single_root=True");
    }
    if (allowed_.empty()) return;
    const int64_t first = part_begin_[static_cast<size_t>(i)];
    for (int m = 1; m <= words(i); ++m) {
      const int head = gold_heads(i)[m - 1];
      if (!allowed_[static_cast<size_t>(first) + tree::part(words(i), head, m)])
        refuse(i, m, "its head " + std::to_string(head) + " is not allowed");
    }
  }

  std::vector<int64_t> begin_{0}, part_begin_{0};
  std::vector<int32_t> heads_;
  std::vector<bool> allowed_;
  bool single_root_;
};

}  // namespace margrave
