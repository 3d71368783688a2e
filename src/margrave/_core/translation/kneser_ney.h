// N-gram models with modified Kneser-Ney smoothing, interpolated (Chen and Goodman 1998, section 5).
//
//   p(w | h) = (c(h w) - D(c(h w))) / c(h) + g(h) p(w | h'),    g(h) = sum_w D(c(h w)) / c(h)
//
// h' is h without its first word. c counts occurrences for n-grams of the highest order and for those that begin with
// <s>. For all others, it counts the distinct words before them. D is one of three discounts of the order, for counts
// of 1, 2, and more. Words interpolate with the uniform distribution over all words, </s> and <unk>.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "translation/language_model.h"

namespace margrave {

class KneserNey {
 public:
  explicit KneserNey(int order) : order_(order) {
    if (order < 1 || order > LanguageModel::kMostOrder) throw InputError("the order of a model is from 1 to 100.");
    for (const std::string_view word : {LanguageModel::kUnknown, LanguageModel::kBegin, LanguageModel::kEnd})
      add_word(word);
  }

  void add(const std::vector<std::string_view>& sentence) {
    for (const std::string_view word : sentence) {
      if (word == LanguageModel::kBegin || word == LanguageModel::kEnd)
        throw InputError("a sentence contains " + std::string(word) + ", which is added to every sentence.");
      if (word.empty() || word.find_first_of(kSeparators) != std::string_view::npos)
        throw InputError("a word of a sentence is empty or contains a blank.");
    }
    for (const std::string_view word : sentence) corpus_.push_back(add_word(word));
    corpus_.push_back(kEnd);
  }

  LanguageModel estimate() const {
    if (corpus_.empty()) throw InputError("a language model needs at least one sentence.");
    NgramTree tree;
    for (int32_t word = 0; word < words_.size(); ++word) tree.add(NgramTree::kRoot, word);
    const std::vector<double> counts = count(tree);
    const auto nodes = static_cast<size_t>(tree.size());
    std::vector<std::array<double, 3>> discounts;  // by length, from 1
    for (int n = 1; n <= order_; ++n) discounts.push_back(discounts_of(n, tree, counts));
    // By context: the sum of counts and of discounts.
    std::vector<double> total(nodes, 0.0);
    std::vector<double> spared(nodes, 0.0);
    for (int32_t v = 1; v < tree.size(); ++v) {
      if (!is_event(v)) continue;
      total[tree.parent(v)] += counts[v];
      spared[tree.parent(v)] += discount(discounts[tree.length(v) - 1], counts[v]);
    }
    const std::vector<int32_t> suffix = tree.suffixes(order_);
    std::vector<double> probability(nodes, 0.0);
    probability[0] = 1.0 / static_cast<double>(words_.size() - 1);  // uniform over all words except <s>
    for (int n = 1; n <= order_; ++n)
      for (int32_t v = 1; v < tree.size(); ++v) {
        if (tree.length(v) != n || v == kBegin + 1) continue;
        const size_t context = tree.parent(v);
        const double lower = probability[n == 1 ? 0 : static_cast<size_t>(suffix[v])];
        const double kept = counts[v] - discount(discounts[n - 1], counts[v]);
        probability[v] = (kept + spared[context] * lower) / total[context];
      }
    std::vector<double> score(nodes, 0.0);
    std::vector<double> backoff(nodes, 0.0);
    for (size_t v = 1; v < nodes; ++v) {
      score[v] = v == static_cast<size_t>(kBegin) + 1 ? LanguageModel::kImpossible : std::log10(probability[v]);
      if (total[v] > 0) backoff[v] = std::log10(spared[v] / total[v]);
    }
    return LanguageModel(words_, std::move(tree), std::move(score), std::move(backoff));
  }

 private:
  static constexpr int32_t kUnknown = 0, kBegin = 1, kEnd = 2;
  static constexpr std::string_view kSeparators = " \t\r\n\f\v";

  static bool is_event(int32_t v) { return v != kBegin + 1; }  // <s> is never predicted

  int32_t add_word(std::string_view word) { return words_.add(word, hash_bytes(word.data(), word.size())); }

  // Adds all n-grams to the tree and counts them according to the formula.
  std::vector<double> count(NgramTree& tree) const {
    std::vector<double> counts(tree.size(), 0.0);
    std::vector<int32_t> ending{kBegin + 1};  // by length, from 1: the n-grams that end here
    for (const int32_t word : corpus_) {
      // From short to long, so the suffix of an n-gram is added before it.
      std::vector<int32_t> next{word + 1};
      const size_t longest = std::min(ending.size() + 1, static_cast<size_t>(order_));
      for (size_t n = 1; n < longest; ++n) {
        const int32_t v = tree.add(ending[n - 1], word);
        if (static_cast<size_t>(v) == counts.size()) {
          counts.push_back(0);
          ++counts[next[n - 1]];  // its suffix has a new word before it
        }
        next.push_back(v);
      }
      // The longest n-gram has the highest order or begins with <s>.
      ++counts[next.back()];
      ending = std::move(next);
      if (word == kEnd) ending = {kBegin + 1};
    }
    return counts;
  }

  // D_k = k - (k + 1) Y n_{k+1} / n_k with Y = n_1 / (n_1 + 2 n_2), where n_k n-grams have a count of k. In small
  // texts, these can be undefined or out of range.
  std::array<double, 3> discounts_of(int n, const NgramTree& tree, const std::vector<double>& counts) const {
    std::array<double, 5> having{};
    for (int32_t v = 1; v < tree.size(); ++v)
      if (tree.length(v) == n && is_event(v) && counts[v] > 0 && counts[v] <= 4)
        ++having[static_cast<int64_t>(counts[v])];
    const double y = having[1] / (having[1] + 2 * having[2]);
    std::array<double, 3> found{};
    for (size_t k = 1; k <= 3; ++k) {
      const double d = static_cast<double>(k) - static_cast<double>(k + 1) * y * having[k + 1] / having[k];
      if (!(d > 0 && d < static_cast<double>(k))) return {0.5, 1.0, 1.5};
      found[k - 1] = d;
    }
    return found;
  }

  static double discount(const std::array<double, 3>& discounts, double count) {
    return count <= 0 ? 0.0 : discounts[std::min<int64_t>(static_cast<int64_t>(count), 3) - 1];
  }

  int order_;
  Vocabulary words_;
  std::vector<int32_t> corpus_;  // words, with </s> after every sentence
};

}  // namespace margrave
