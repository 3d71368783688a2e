// Non-projective dependency trees as a structure: the parts of a sentence of n words are its n * n arcs
// (engines/arborescence.h).
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engines/arborescence.h"
#include "protocol/problem.h"

namespace margrave {

class TreeStructure final : public Structure {
 public:
  // words (examples): the length of each sentence. heads: all gold heads one after another, or empty.
  TreeStructure(std::vector<int64_t> words, const std::vector<int32_t>& heads, bool single_root)
      : heads_(heads), single_root_(single_root) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] < 1) throw InputError("example " + std::to_string(i) + " has no words.");
      if (words[i] > kLongest)
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(words[i]) + " words: at most " +
                         std::to_string(kLongest) + " are possible.");
      begin_.push_back(begin_.back() + words[i]);
    }
    if (!heads_.empty() && static_cast<int64_t>(heads_.size()) != begin_.back())
      throw InputError("there must be one head per word.");
    if (heads_.empty()) return;
    for (int64_t i = 0; i < size(); ++i) check_tree(i);
  }

  int64_t size() const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t parts(int64_t i) const override { return int64_t{words(i)} * words(i); }
  int64_t choice(int64_t i) const override { return words(i); }  // every word has one head
  unsigned offers() const override { return kArgmax | kLogsum | kKbest | kSample; }
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

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    y.clear();
    const double value = tree::argmax(words(i), theta, single_root_, workspace(), heads);
    if (value > -kInfinity) to_parts(words(i), heads.data(), y);
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    check_scores(i, theta);
    return tree::logsum(words(i), theta, single_root_, workspace(), mu);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    std::vector<double> values;
    const int wanted = static_cast<int>(std::min<int64_t>(k, std::numeric_limits<int>::max()));
    const int found = tree::kbest(words(i), theta, single_root_, wanted, workspace(), heads, values);
    ys.clear();
    for (int r = 0; r < found; ++r) {
      ys.push_back({values[static_cast<size_t>(r)], {}});
      to_parts(words(i), heads.data() + int64_t{r} * words(i), ys.back().y);
    }
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    check_scores(i, theta);
    std::vector<int32_t> heads;
    if (!tree::sample(words(i), theta, single_root_, random, workspace(), heads))
      throw InputError("every tree is forbidden.");
    to_parts(words(i), heads.data(), y);
  }

 private:
  static constexpr int64_t kLongest = 10'000;  // n^2 parts must stay countable in 32 bits

  int words(int64_t i) const {
    return static_cast<int>(begin_[static_cast<size_t>(i) + 1] - begin_[static_cast<size_t>(i)]);
  }
  const int32_t* gold_heads(int64_t i) const {
    if (heads_.empty()) throw InputError("this problem was bound without gold trees.");
    return heads_.data() + begin_[static_cast<size_t>(i)];
  }
  static tree::Workspace& workspace() {
    thread_local tree::Workspace ws;
    return ws;
  }
  static void to_parts(int n, const int32_t* heads, Output& y) {
    y.clear();
    for (int m = 1; m <= n; ++m) y.push_back(static_cast<int32_t>(tree::part(n, heads[m - 1], m)));
  }

  // The searches end only if no score is NaN or infinite.
  void check_scores(int64_t i, const double* theta) const {
    for (int64_t k = 0; k < parts(i); ++k)
      if (!(theta[k] < kInfinity))
        throw InputError("example " + std::to_string(i) + ": a score is " +
                         (std::isnan(theta[k]) ? "not a number" : "infinite") + "; scale the features, or lower C.");
  }

  void check_tree(int64_t i) const {
    const tree::HeadCheck found = tree::check(words(i), gold_heads(i), single_root_);
    const char* what = nullptr;
    switch (found.error) {
      case tree::HeadError::none: return;
      case tree::HeadError::out_of_range: what = "its head is out of range"; break;
      case tree::HeadError::self: what = "it is its own head"; break;
      case tree::HeadError::cycle: what = "it is on a cycle"; break;
      case tree::HeadError::several_roots: what = "it is a second child of the root, and single_root=True"; break;
    }
    throw InputError("example " + std::to_string(i) + ", word " + std::to_string(found.word) + ": " + what + ".");
  }

  std::vector<int64_t> begin_{0};
  std::vector<int32_t> heads_;
  bool single_root_;
};

}  // namespace margrave
