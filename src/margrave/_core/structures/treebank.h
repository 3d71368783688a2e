// The sentences of a dataset of dependency trees: their lengths, their gold heads, and the arcs that have parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/tree_arcs.h"
#include "protocol/checks.h"

namespace margrave {

class Treebank {
 public:
  // words (examples): the length of each sentence. heads: all gold heads, concatenated, or empty.
  Treebank(const std::vector<int64_t>& words, std::vector<int32_t> heads, bool single_root, int64_t longest)
      : heads_(std::move(heads)), single_root_(single_root) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string example = "example " + std::to_string(i);
      if (words[i] < 1) throw InputError(example + " has no words.");
      if (words[i] > longest)
        throw InputError(example + " has " + std::to_string(words[i]) + " words: at most " + std::to_string(longest) +
                         " are possible.");
      begin_.push_back(begin_.back() + words[i]);
    }
    if (!heads_.empty() && static_cast<int64_t>(heads_.size()) != begin_.back())
      throw InputError("there must be one head per word.");
    if (!heads_.empty())
      for (int64_t i = 0; i < size(); ++i) check_tree(i);
  }

  int64_t size() const { return static_cast<int64_t>(begin_.size()) - 1; }
  int words(int64_t i) const { return static_cast<int>(begin_[i + 1] - begin_[i]); }
  bool single_root() const { return single_root_; }
  bool has_gold() const { return !heads_.empty() || begin_.back() == 0; }
  const int32_t* gold_heads(int64_t i) const {
    if (heads_.empty()) throw InputError("this problem was bound without gold trees.");
    return heads_.data() + begin_[i];
  }

  // The same, but rejects gold trees with crossing arcs: there, a word under an arc has its head outside of it.
  static Treebank projective(const std::vector<int64_t>& words, std::vector<int32_t> heads, bool single_root,
                             int64_t longest) {
    Treebank treebank(words, std::move(heads), single_root, longest);
    if (treebank.heads_.empty()) return treebank;
    for (int64_t i = 0; i < treebank.size(); ++i)
      for (int m = 1; m <= treebank.words(i); ++m) treebank.check_arc(i, m);
    return treebank;
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
  }

  void check_arc(int64_t i, int m) const {
    const int32_t* heads = gold_heads(i);
    const int low = std::min(m, heads[m - 1]), high = std::max(m, heads[m - 1]);
    for (int between = low + 1; between < high; ++between) {
      const int head = heads[between - 1];
      if (head < low || head > high)
        refuse(i, m,
               "the arc from its head " + std::to_string(heads[m - 1]) + " crosses that from " + std::to_string(head) +
                   " to " + std::to_string(between) + "; use NonProjectiveTree, or margrave.data.projectivize");
    }
  }

  std::vector<int64_t> begin_{0};
  std::vector<int32_t> heads_;
  bool single_root_;
};

// The arcs of every sentence that have parts, i.e. those kept by pruning, by word, then by head.
class Arcs {
 public:
  // left: for the n * n arcs of all sentences, whether they have parts; empty: all have. Arcs are stored only if some
  // are missing, or if `listed`.
  Arcs(const Treebank& treebank, const std::vector<bool>& left, bool listed) : treebank_(treebank) {
    int64_t every = 0;
    for (int64_t i = 0; i < treebank.size(); ++i) every += int64_t{treebank.words(i)} * treebank.words(i);
    if (!left.empty() && static_cast<int64_t>(left.size()) != every)
      throw InputError("there must be one entry of arcs per arc: " + std::to_string(every) + ", not " +
                       std::to_string(left.size()) + ".");
    all_ = std::find(left.begin(), left.end(), false) == left.end();
    stored_ = listed || !all_;
    if (stored_) arcs_.reserve(static_cast<size_t>(all_ ? every : std::count(left.begin(), left.end(), true)));
    int64_t next = 0;
    auto stays = left.begin();
    for (int64_t i = 0; i < treebank.size(); ++i) {
      const int n = treebank.words(i);
      if (stored_)
        for (int m = 1; m <= n; ++m)
          for (int h = 0; h <= n; ++h)
            if (h != m && (all_ || *stays++)) arcs_.push_back({static_cast<int16_t>(h), static_cast<int16_t>(m)});
      next += int64_t{n} * n;
      begin_.push_back(stored_ ? static_cast<int64_t>(arcs_.size()) : next);
    }
  }

  bool all() const { return all_; }  // for every sentence
  int64_t begin(int64_t i) const { return begin_[i]; }
  int64_t count(int64_t i) const { return begin(i + 1) - begin(i); }
  const tree::Arc* of(int64_t i) const { return arcs_.data() + begin(i); }  // only if they are stored
  tree::Arc at(int64_t i, int64_t arc) const { return stored_ ? of(i)[arc] : tree::arc_of(treebank_.words(i), arc); }

  // The index of an arc in its sentence, or -1.
  int64_t find(int64_t i, int head, int word) const {
    const int n = treebank_.words(i);
    const auto number = static_cast<int64_t>(tree::part(n, head, word));
    if (all_) return number;
    const tree::Arc *first = of(i), *last = first + count(i);
    const tree::Arc* found = std::lower_bound(first, last, number, [n](const tree::Arc& arc, int64_t wanted) {
      return static_cast<int64_t>(tree::part(n, arc.head, arc.word)) < wanted;
    });
    return found != last && found->head == head && found->word == word ? found - first : -1;
  }

 private:
  const Treebank& treebank_;
  bool all_ = true, stored_ = false;
  std::vector<tree::Arc> arcs_;
  std::vector<int64_t> begin_{0};
};

// With NaN or infinite scores, inference might not terminate or be meaningless.
inline void check_tree_scores(int64_t i, const double* theta, int64_t parts) {
  for (int64_t k = 0; k < parts; ++k)
    if (!(theta[k] < kInfinity))
      throw InputError("example " + std::to_string(i) + ": a score is " +
                       (std::isnan(theta[k]) ? "not a number" : "infinite") + "; scale the features, or lower C.");
}

}  // namespace margrave
