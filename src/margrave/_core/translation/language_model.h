// N-gram language models with back-off.
//
// A node of the tree is an n-gram. Its parent is the n-gram without its last word (the context). Its suffix is the
// longest n-gram of the tree that remains after dropping words at the beginning. Scores are logarithms to base 10, as
// in ARPA files.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "rows/vocabulary.h"

namespace margrave {

// The tree of n-grams: their numbers by context and last word. Node 0 is the empty n-gram. All words are added in order
// before longer n-grams, so the single word w is node w + 1.
class NgramTree {
 public:
  static constexpr int32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  NgramTree() : parent_(1, kNone), word_(1, kNone), length_(1, 0), slots_(16, kNone) {}

  int64_t size() const { return static_cast<int64_t>(parent_.size()); }
  int32_t parent(int32_t v) const { return parent_[v]; }
  int32_t word(int32_t v) const { return word_[v]; }
  int length(int32_t v) const { return length_[v]; }
  int64_t bytes() const {
    return static_cast<int64_t>((parent_.capacity() + word_.capacity() + slots_.capacity()) * sizeof(int32_t) +
                                length_.capacity());
  }

  int32_t find(int32_t context, int32_t word) const {
    return context == kRoot ? word + 1 : slots_[locate(context, word)];
  }

  // The number of the n-gram. New ones are added.
  int32_t add(int32_t context, int32_t word) {
    if (context == kRoot && word + 1 < size()) return word + 1;
    size_t slot = context == kRoot ? 0 : locate(context, word);
    if (context != kRoot && slots_[slot] != kNone) return slots_[slot];
    if (size() >= std::numeric_limits<int32_t>::max() - 1)
      throw InputError("a language model can have at most two billion n-grams.");
    if (context != kRoot && slots_.size() < static_cast<size_t>(size()) + static_cast<size_t>(size()) / 2) {
      resize_slots(2 * slots_.size());
      slot = locate(context, word);
    }
    const auto v = static_cast<int32_t>(size());
    if (context != kRoot) slots_[slot] = v;
    parent_.push_back(context);
    word_.push_back(word);
    length_.push_back(static_cast<uint8_t>(length_[context] + 1));
    return v;
  }

  // Reserves memory for this many n-grams.
  void reserve(int64_t nodes) {
    size_t slots = slots_.size();
    while (slots < static_cast<size_t>(nodes) + static_cast<size_t>(nodes) / 2) slots *= 2;
    if (slots > slots_.size()) resize_slots(slots);
    parent_.reserve(nodes + 1);
    word_.reserve(nodes + 1);
    length_.reserve(nodes + 1);
  }

  // The suffix of each node. Shorter n-grams come first, since suffix(h w) = suffix(h) w, or a suffix of that.
  std::vector<int32_t> suffixes(int order) const {
    std::vector<int32_t> suffix(size(), kRoot);
    suffix[0] = kNone;
    for (int n = 2; n <= order; ++n)
      for (int32_t v = 1; v < size(); ++v) {
        if (length(v) != n) continue;
        int32_t context = suffix[parent(v)];
        int32_t found = kNone;
        while (context != kNone && (found = find(context, word(v))) == kNone) context = suffix[context];
        suffix[v] = found == kNone ? kRoot : found;
      }
    return suffix;
  }

 private:
  size_t locate(int32_t context, int32_t word) const {
    const size_t mask = slots_.size() - 1;
    uint64_t key = (static_cast<uint64_t>(static_cast<uint32_t>(context)) << 32) | static_cast<uint32_t>(word);
    key *= 0x9e3779b97f4a7c15u;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    for (size_t slot = (key ^ (key >> 32)) & mask;; slot = (slot + 1) & mask) {
      const int32_t v = slots_[slot];
      if (v == kNone || (parent_[v] == context && word_[v] == word)) return slot;
    }
  }

  void resize_slots(size_t slots) {
    slots_.assign(slots, kNone);
    for (int32_t v = 1; v < size(); ++v)
      if (parent_[v] != kRoot) slots_[locate(parent_[v], word_[v])] = v;
  }

  std::vector<int32_t> parent_;
  std::vector<int32_t> word_;
  std::vector<uint8_t> length_;
  std::vector<int32_t> slots_;
};

class LanguageModel {
 public:
  using State = int32_t;
  static constexpr int kMostOrder = 100;
  static constexpr double kUnlisted = -100;   // the score of <unk> in a model that does not list it
  static constexpr double kImpossible = -99;  // the score of <s>, which is never predicted, as in files
  static constexpr std::string_view kBegin = "<s>", kEnd = "</s>", kUnknown = "<unk>";

  // score, backoff: by node. A node whose score is NaN is only a context of others.
  LanguageModel(Vocabulary words, NgramTree tree, std::vector<double> score, std::vector<double> backoff)
      : words_(std::move(words)), tree_(std::move(tree)), score_(std::move(score)), backoff_(std::move(backoff)) {
    for (int32_t v = 0; v < tree_.size(); ++v) order_ = std::max(order_, tree_.length(v));
    begin_word_ = find(kBegin);
    end_word_ = find(kEnd);
    unknown_word_ = find(kUnknown);
    if (begin_word_ < 0 || end_word_ < 0 || unknown_word_ < 0)
      throw InputError("a language model must list <s>, </s> and <unk>.");
    suffix_ = tree_.suffixes(order_);
    score_contexts();
    find_states();
    begin_ = next_[begin_word_ + 1];
  }

  int order() const { return order_; }
  int64_t size() const { return tree_.size() - 1; }  // number of n-grams
  const Vocabulary& words() const { return words_; }
  int32_t find(std::string_view word) const { return words_.find(word, hash_bytes(word.data(), word.size())); }
  // The number of a word; that of <unk> for unknown words.
  int32_t number(std::string_view word) const {
    const int32_t found = find(word);
    return found < 0 ? unknown_word_ : found;
  }
  int32_t begin_word() const { return begin_word_; }
  int32_t end_word() const { return end_word_; }
  int32_t unknown_word() const { return unknown_word_; }

  State begin() const { return begin_; }            // after <s>
  State empty() const { return NgramTree::kRoot; }  // no context

  // The score of a word after a state. `next` is the state after the word: the longest relevant context. Contexts with
  // the same state give all continuations the same scores.
  double step(State state, int32_t word, State& next) const {
    double total = 0;
    const int32_t v = predict(state, word, total);
    next = next_[v];
    return total;
  }
  double step(State state, int32_t word) const {
    double total = 0;
    predict(state, word, total);
    return total;
  }
  double end(State state) const { return step(state, end_word_); }

  // The score of a whole sentence between <s> and </s>.
  double score(const std::vector<int32_t>& words) const {
    State state = begin();
    double total = 0;
    for (const int32_t word : words) total += step(state, word, state);
    return total + end(state);
  }

  // The words of a state or of any n-gram, in order.
  std::vector<int32_t> context(State state) const {
    std::vector<int32_t> words;
    for (int32_t v = state; v != NgramTree::kRoot; v = tree_.parent(v)) words.push_back(tree_.word(v));
    std::reverse(words.begin(), words.end());
    return words;
  }
  int length(State state) const { return tree_.length(state); }

  int64_t bytes() const {
    const size_t by_node = score_.capacity() * sizeof(double) + backoff_.capacity() * sizeof(double) +
                           (suffix_.capacity() + next_.capacity()) * sizeof(int32_t);
    const size_t names = words_.bytes().capacity() + words_.offsets().capacity() * sizeof(int64_t);
    return tree_.bytes() + static_cast<int64_t>(by_node + names);
  }

  // The n-grams by length, from 1, in the order in which they were added.
  std::vector<std::vector<int32_t>> by_length() const {
    std::vector<std::vector<int32_t>> nodes(order_);
    for (int32_t v = 1; v < tree_.size(); ++v) nodes[tree_.length(v) - 1].push_back(v);
    return nodes;
  }

  // The line of an n-gram in an ARPA file, with enough digits to restore the same numbers.
  void spell(int32_t v, std::string& line) const {
    append_number(score_[v], line);
    char separator = '\t';
    for (const int32_t word : context(v)) {
      line += separator;
      line += words_.name(word);
      separator = ' ';
    }
    if (backoff_[v] != 0) {
      line += '\t';
      append_number(backoff_[v], line);
    }
  }

 private:
  static void append_number(double value, std::string& text) {
    char digits[32];  // long enough for every number
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }

  // The longest n-gram that ends in the word, and its score with the back-off weights. The search ends because every
  // word is a 1-gram.
  int32_t predict(State state, int32_t word, double& total) const {
    int32_t v;
    for (; (v = tree_.find(state, word)) == NgramTree::kNone; state = suffix_[state]) total += backoff_[state];
    total += score_[v];
    return v;
  }

  // The score of a context that is not listed itself, by back-off like any unlisted sequence.
  void score_contexts() {
    for (int n = 2; n < order_; ++n)
      for (int32_t v = 1; v < tree_.size(); ++v) {
        if (tree_.length(v) != n || !std::isnan(score_[v])) continue;
        const int32_t context = tree_.parent(v);
        double total = backoff_[context];
        predict(suffix_[context], tree_.word(v), total);
        score_[v] = total;
      }
  }
  // The state after an n-gram: its longest suffix with continuations or a back-off weight.
  void find_states() {
    std::vector<uint8_t> matters(tree_.size(), 0);
    matters[0] = 1;
    for (int32_t v = 1; v < tree_.size(); ++v) {
      matters[tree_.parent(v)] = 1;
      if (backoff_[v] != 0) matters[v] = 1;
    }
    next_.assign(tree_.size(), NgramTree::kRoot);
    for (int n = 1; n <= order_; ++n)
      for (int32_t v = 1; v < tree_.size(); ++v)
        if (tree_.length(v) == n) next_[v] = matters[v] ? v : next_[suffix_[v]];
  }

  Vocabulary words_;
  NgramTree tree_;
  std::vector<double> score_;
  std::vector<double> backoff_;
  std::vector<int32_t> suffix_;
  std::vector<State> next_;  // by n-gram: the state after it
  int order_ = 0;
  int32_t begin_word_ = -1;
  int32_t end_word_ = -1;
  int32_t unknown_word_ = -1;
  State begin_ = NgramTree::kRoot;
};

}  // namespace margrave
