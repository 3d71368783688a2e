// Selects the arcs of a sentence that get parts: by the tags of their ends, and by the posterior of a simpler model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inputs/tree_templates.h"
#include "protocol/checks.h"
#include "structures/tree_structure.h"

namespace margrave {

// Statistics of gold trees for each pair of tags of head and word: the longest arcs, and the labels.
class TagPairs {
 public:
  struct Seen {
    int32_t left = 0, right = 0;  // the longest arcs from the head to the left and to the right; 0: none
    std::vector<int32_t> labels;  // ascending
  };

  static uint64_t key(uint64_t head, uint64_t word) { return mix_bits(head) + word; }
  // Besides pairs of tags, the labels of all arcs from the root and of all other arcs are stored, under these keys.
  static constexpr uint64_t kFromRoot = 1, kFromWord = 2;

  // heads, labels: by word, sentence by sentence; null labels: arcs have none.
  void learn(const TreeAttributes& words, const int32_t* heads, const int32_t* labels) {
    for (int64_t i = 0; i < words.examples(); ++i)
      for (int m = 1; m <= words.words(i); ++m, ++heads) {
        if (*heads < 0 || *heads > words.words(i)) throw InputError("a head is out of range.");
        Seen& seen = seen_[key(words.tag(i, *heads), words.tag(i, m))];
        int32_t& longest = *heads < m ? seen.right : seen.left;
        longest = std::max(longest, static_cast<int32_t>(std::abs(*heads - m)));
        if (!labels) continue;
        add(seen.labels, *labels);
        add(seen_[*heads == 0 ? kFromRoot : kFromWord].labels, *labels++);
      }
  }

  const Seen* find(uint64_t head, uint64_t word) const {
    const auto found = seen_.find(key(head, word));
    return found == seen_.end() ? nullptr : &found->second;
  }

  // For the n * n arcs of every sentence: whether an arc is no longer than the longest one seen with its tags. Arcs
  // from the root and between neighbors are always kept, so a projective tree remains.
  std::vector<bool> arcs(const TreeAttributes& words) const {
    std::vector<bool> left;
    for (int64_t i = 0; i < words.examples(); ++i) {
      const int n = words.words(i);
      for (int m = 1; m <= n; ++m)
        for (int h = 0; h <= n; ++h)
          if (h != m) left.push_back(leaves(words, i, h, m));
    }
    return left;
  }

  // More labels than any treebank has; a list of all of them must fit into memory.
  static constexpr int64_t kMostLabels = int64_t{1} << 20;

  // The labels that arcs can have, as sets. The first two sets are for pairs of tags that were not seen, for arcs from
  // words and from the root. They have all labels; but where all arcs from the root had one label, only they can have
  // it, and no other (unless other arcs had it, too).
  struct Sets {
    std::vector<int32_t> of_arc;  // of the kept arcs, in order
    std::vector<int64_t> begin{0};
    std::vector<int32_t> members;
  };
  Sets labels_of(const TreeAttributes& words, const std::vector<bool>& left, int32_t labels) const {
    Sets sets;
    const std::vector<int32_t>*from_root = labels_from(kFromRoot), *from_word = labels_from(kFromWord);
    const bool one = from_root && from_root->size() == 1;
    const bool apart =
        one && from_word && !std::binary_search(from_word->begin(), from_word->end(), from_root->front());
    for (const bool root : {false, true}) {
      for (int32_t label = 0; label < labels; ++label)
        if (root ? !one || label == from_root->front() : !apart || label != from_root->front())
          sets.members.push_back(label);
      sets.begin.push_back(static_cast<int64_t>(sets.members.size()));
    }
    std::unordered_map<const Seen*, int32_t> numbers;
    size_t next = 0;
    for (int64_t i = 0; i < words.examples(); ++i) {
      const int n = words.words(i);
      for (int m = 1; m <= n; ++m)
        for (int h = 0; h <= n; ++h) {
          if (h == m) continue;
          if (!left.empty() && next == left.size()) throw InputError("there must be one entry of left per arc.");
          if (!left.empty() && !left[next++]) continue;
          const Seen* seen = find(words.tag(i, h), words.tag(i, m));
          if (!seen || seen->labels.empty()) {
            sets.of_arc.push_back(h == 0);
            continue;
          }
          const auto [at, is_new] = numbers.emplace(seen, static_cast<int32_t>(numbers.size()) + 2);
          if (is_new) {
            sets.members.insert(sets.members.end(), seen->labels.begin(), seen->labels.end());
            sets.begin.push_back(static_cast<int64_t>(sets.members.size()));
          }
          sets.of_arc.push_back(at->second);
        }
    }
    if (next != left.size()) throw InputError("there must be one entry of left per arc.");
    return sets;
  }

  const std::unordered_map<uint64_t, Seen>& seen() const { return seen_; }
  void restore(uint64_t key, Seen seen) { seen_[key] = std::move(seen); }

 private:
  static void add(std::vector<int32_t>& labels, int32_t label) {
    const auto at = std::lower_bound(labels.begin(), labels.end(), label);
    if (at == labels.end() || *at != label) labels.insert(at, label);
  }
  const std::vector<int32_t>* labels_from(uint64_t key) const {
    const auto found = seen_.find(key);
    return found == seen_.end() ? nullptr : &found->second.labels;
  }

  bool leaves(const TreeAttributes& words, int64_t i, int h, int m) const {
    if (h == 0 || std::abs(h - m) == 1) return true;
    const Seen* seen = find(words.tag(i, h), words.tag(i, m));
    return seen && std::abs(h - m) <= (h < m ? seen->right : seen->left);
  }

  std::unordered_map<uint64_t, Seen> seen_;
};

// For the n * n arcs of every sentence: whether its posterior is at least `ratio` times that of the best head of its
// word, and among the `most` best ones. mu: marginals of the parts of all sentences. kept: trees whose arcs are always
// kept, as the heads of all words.
inline std::vector<bool> pruned(const TreeStructure& trees, const double* mu, double ratio, int64_t most,
                                const std::vector<const int32_t*>& kept) {
  std::vector<bool> left;
  std::vector<double> table, best;
  int64_t first = 0;
  for (int64_t i = 0; i < trees.size(); ++i) {
    const int n = trees.words(i);
    table.resize(static_cast<size_t>(n) * static_cast<size_t>(n + 1));
    trees.head_table(i, mu, table.data());
    mu += trees.parts(i);
    for (int m = 1; m <= n; ++m, ++first) {
      const double* const of = table.data() + static_cast<size_t>(m - 1) * static_cast<size_t>(n + 1);
      best.assign(of, of + n + 1);
      const auto rank = static_cast<size_t>(std::min<int64_t>(most, n) - 1);
      std::nth_element(best.begin(), best.begin() + static_cast<int64_t>(rank), best.end(), std::greater<>());
      const double least = std::max(best[rank], ratio * *std::max_element(best.begin(), best.end()));
      for (int h = 0; h <= n; ++h) {
        if (h == m) continue;
        bool stays = of[h] >= least && of[h] > 0;
        for (const int32_t* heads : kept) stays = stays || heads[first] == h;
        left.push_back(stays);
      }
    }
  }
  return left;
}

}  // namespace margrave
