// Weighted context-free grammars, in the form used by engines/cky.h (000, example 2; 003, section 4.5).
//
// Rules are binary, A -> B C, or lexical, A -> a. Every node of a derivation has a label: a step from the symbol that
// its parent uses (top) to the symbol that its rule expands (bottom). A label collapses a chain of unary rules and is
// used exactly once per node, so unary rules cannot form cycles. A label covers one word (leaf) or several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

class Grammar {
 public:
  struct Binary {
    int32_t lhs, left, right;
  };
  struct Lexical {
    int32_t lhs, terminal;
  };
  struct Label {
    int32_t top, bottom;
    int32_t span;  // its labeled span; -1: none
    int32_t leaf;
  };
  // All rules with the same right-hand side: `begin` to `end` in by_pair().
  struct Pair {
    int32_t right;  // slot
    int32_t begin, end;
  };
  // The pairs of a slot, if vector loops apply: the symbols on the right are contiguous, and so are the left-hand sides
  // of each pair, with enough of them. Otherwise empty. begin: where the rules of each pair begin in by_pair(). lhs:
  // the slot of its first left-hand side.
  struct Dense {
    int64_t pairs = 0;
    int32_t first_right = 0;
    const int64_t* begin = nullptr;
    const int32_t* lhs = nullptr;
  };
  template <class T>
  struct Range {
    const T *first, *last;
    const T* begin() const { return first; }
    const T* end() const { return last; }
  };

  // overlaps: number of constituents that two labeled spans over the same words share, row by row. piece, pieces:
  // symbols that join the fragments of a sentence without a derivation; -1: none.
  Grammar(int32_t symbols, int32_t terminals, int32_t spans, std::vector<Binary> binary, std::vector<Lexical> lexical,
          int32_t unary, std::vector<int32_t> roots, std::vector<Label> labels, std::vector<int64_t> path_begin,
          std::vector<int32_t> paths, std::vector<int32_t> overlaps, int32_t piece, int32_t pieces)
      : symbols_(symbols),
        terminals_(terminals),
        spans_(spans),
        unary_(unary),
        binary_(std::move(binary)),
        lexical_(std::move(lexical)),
        roots_(std::move(roots)),
        labels_(std::move(labels)),
        path_begin_(std::move(path_begin)),
        paths_(std::move(paths)),
        overlaps_(std::move(overlaps)),
        piece_(piece),
        pieces_(pieces) {
    check();
    number();
  }

  int32_t symbols() const { return symbols_; }
  int32_t terminals() const { return terminals_; }
  int32_t spans() const { return spans_; }
  int32_t unary() const { return unary_; }
  int32_t piece() const { return piece_; }
  int32_t pieces() const { return pieces_; }
  const std::vector<Binary>& binary() const { return binary_; }
  const std::vector<Lexical>& lexical() const { return lexical_; }
  const std::vector<int32_t>& roots() const { return roots_; }
  const std::vector<Label>& labels() const { return labels_; }
  Range<int32_t> path(int32_t label) const {  // its unary rules
    return {paths_.data() + path_begin_[label], paths_.data() + path_begin_[label + 1]};
  }
  int64_t longest_path() const { return longest_path_; }
  int32_t overlap(int32_t a, int32_t b) const {
    return overlaps_[static_cast<size_t>(a) * static_cast<size_t>(spans_) + static_cast<size_t>(b)];
  }
  int32_t constituents(int32_t span) const { return overlap(span, span); }

  // Symbols on the left or on the right of a pair have slots; -1: none.
  int32_t left_slots() const { return left_slots_; }
  int32_t right_slots() const { return right_slots_; }
  int32_t bottom_slots() const { return bottom_slots_; }
  int32_t left_slot(int32_t symbol) const { return left_slot_[symbol]; }
  int32_t right_slot(int32_t symbol) const { return right_slot_[symbol]; }
  int32_t bottom_slot(int32_t symbol) const { return bottom_slot_[symbol]; }
  Range<Pair> pairs(int32_t left) const { return range(pairs_, pair_begin_, left); }  // of a slot
  bool any_dense() const { return std::find(is_dense_.begin(), is_dense_.end(), char{1}) != is_dense_.end(); }
  Dense dense(int32_t left) const {  // of a slot
    if (!is_dense_[left]) return {};
    const size_t first = pair_begin_[left];
    return {pair_begin_[left + 1] - pair_begin_[left], pairs_[first].right, rule_begin_.data() + first,
            first_lhs_.data() + first};
  }
  const std::vector<int32_t>& by_pair() const { return by_pair_; }          // rule numbers
  const std::vector<int32_t>& lhs_by_pair() const { return lhs_by_pair_; }  // bottom slots of their left-hand sides

  Range<int32_t> rules_of(int32_t symbol) const { return range(by_lhs_, lhs_begin_, symbol); }
  Range<int32_t> words_of(int32_t terminal) const { return range(by_terminal_, terminal_begin_, terminal); }
  // The labels whose bottom is this symbol, and those whose top is.
  Range<int32_t> above(int32_t bottom, bool leaf) const { return range(above_[leaf], above_begin_[leaf], bottom); }
  Range<int32_t> below(int32_t top, bool leaf) const { return range(below_[leaf], below_begin_[leaf], top); }

 private:
  template <class T>
  static Range<T> range(const std::vector<T>& list, const std::vector<int32_t>& begin, int32_t k) {
    return {list.data() + begin[k], list.data() + begin[k + 1]};
  }

  void check() {
    const auto symbol = [&](int32_t s) {
      if (s < 0 || s >= symbols_) throw InputError("a rule of the grammar has a symbol that does not exist.");
    };
    if (symbols_ < 1 || terminals_ < 0 || spans_ < 0 || unary_ < 0) throw InputError("a grammar needs symbols.");
    if (roots_.empty()) throw InputError("the grammar has no start symbol.");
    for (const Binary& rule : binary_) symbol(rule.lhs), symbol(rule.left), symbol(rule.right);
    for (const Lexical& rule : lexical_) {
      symbol(rule.lhs);
      if (rule.terminal < 0 || rule.terminal >= terminals_) throw InputError("a lexical rule has an unknown terminal.");
    }
    for (const int32_t root : roots_) symbol(root);
    for (const Label& label : labels_) {
      symbol(label.top), symbol(label.bottom);
      if (label.span < -1 || label.span >= spans_) throw InputError("a label has an unknown span.");
      if (label.leaf != 0 && label.leaf != 1) throw InputError("a label must say whether it is over a word.");
    }
    if (path_begin_.size() != labels_.size() + 1 || path_begin_.front() != 0 ||
        path_begin_.back() != static_cast<int64_t>(paths_.size()) ||
        !std::is_sorted(path_begin_.begin(), path_begin_.end()))
      throw InputError("every label needs its unary rules.");
    for (const int32_t rule : paths_)
      if (rule < 0 || rule >= unary_) throw InputError("a label has an unknown unary rule.");
    if (overlaps_.size() != static_cast<size_t>(spans_) * static_cast<size_t>(spans_))
      throw InputError("overlaps must be a table of all labeled spans.");
    for (const int32_t count : overlaps_)
      if (count < 0 || count > 1000) throw InputError("a label has from 0 to 1000 constituents.");
    if (std::max(piece_, pieces_) >= symbols_) throw InputError("the symbols of pieces do not exist.");
  }

  // Groups 0..n-1 by key(k) in 0..keys-1. `begin` marks where each group starts in `list`.
  template <class Key>
  static void group(int64_t n, int32_t keys, const Key& key, std::vector<int32_t>& list, std::vector<int32_t>& begin) {
    begin.assign(keys + 1, 0);
    for (int64_t k = 0; k < n; ++k)
      if (key(k) >= 0) ++begin[key(k) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    list.resize(begin.back());
    std::vector<int32_t> next(begin.begin(), begin.end() - 1);
    for (int64_t k = 0; k < n; ++k)
      if (key(k) >= 0) list[next[key(k)]++] = static_cast<int32_t>(k);
  }

  void number() {
    const auto n = static_cast<int64_t>(binary_.size());
    left_slot_.assign(symbols_, -1);
    right_slot_ = bottom_slot_ = left_slot_;
    for (const Binary& rule : binary_) {
      if (left_slot_[rule.left] < 0) left_slot_[rule.left] = left_slots_++;
      if (right_slot_[rule.right] < 0) right_slot_[rule.right] = right_slots_++;
      if (bottom_slot_[rule.lhs] < 0) bottom_slot_[rule.lhs] = bottom_slots_++;
    }
    for (const Lexical& rule : lexical_)
      if (bottom_slot_[rule.lhs] < 0) bottom_slot_[rule.lhs] = bottom_slots_++;
    group(n, symbols_, [&](int64_t k) { return binary_[k].lhs; }, by_lhs_, lhs_begin_);
    group(
        static_cast<int64_t>(lexical_.size()), terminals_, [&](int64_t k) { return lexical_[k].terminal; },
        by_terminal_, terminal_begin_);
    for (const int leaf : {0, 1}) {
      const auto labels = static_cast<int64_t>(labels_.size());
      const auto of = [&](int64_t k, int32_t symbol) { return labels_[k].leaf == leaf ? symbol : -1; };
      group(labels, symbols_, [&](int64_t k) { return of(k, labels_[k].bottom); }, above_[leaf], above_begin_[leaf]);
      group(labels, symbols_, [&](int64_t k) { return of(k, labels_[k].top); }, below_[leaf], below_begin_[leaf]);
    }
    by_pair_.resize(n);
    std::iota(by_pair_.begin(), by_pair_.end(), 0);
    const auto key = [&](int32_t k) {
      const Binary& rule = binary_[k];
      return std::pair(left_slot_[rule.left], right_slot_[rule.right]);
    };
    const auto lhs = [&](int32_t k) { return bottom_slot_[binary_[k].lhs]; };
    std::stable_sort(by_pair_.begin(), by_pair_.end(),
                     [&](int32_t a, int32_t b) { return std::pair(key(a), lhs(a)) < std::pair(key(b), lhs(b)); });
    pair_begin_.assign(left_slots_ + 1, 0);
    for (int64_t k = 0; k < n; ++k) {
      const auto [left, right] = key(by_pair_[k]);
      lhs_by_pair_.push_back(lhs(by_pair_[k]));
      if (k == 0 || key(by_pair_[k - 1]) != std::pair(left, right)) {
        pairs_.push_back({right, static_cast<int32_t>(k), static_cast<int32_t>(k)});
        ++pair_begin_[left + 1];
      }
      ++pairs_.back().end;
    }
    std::partial_sum(pair_begin_.begin(), pair_begin_.end(), pair_begin_.begin());
    for (const Pair& pair : pairs_) {
      rule_begin_.push_back(pair.begin);
      first_lhs_.push_back(lhs_by_pair_[pair.begin]);
    }
    rule_begin_.push_back(n);
    for (int32_t slot = 0; slot < left_slots_; ++slot) {
      const auto side_by_side = [&](const Pair& pair) {
        for (int32_t k = pair.begin + 1; k < pair.end; ++k)
          if (lhs_by_pair_[k] != lhs_by_pair_[k - 1] + 1) return false;
        return true;
      };
      const Range<Pair> all = pairs(slot);
      const int64_t count = all.last - all.first;
      const bool many = count > 0 && (all.last - 1)->end - all.first->begin >= kDense * count &&
                        (all.last - 1)->right - all.first->right == count - 1;
      is_dense_.push_back(many && std::all_of(all.first, all.last, side_by_side));
    }
    for (size_t k = 0; k < labels_.size(); ++k)
      longest_path_ = std::max(longest_path_, path_begin_[k + 1] - path_begin_[k]);
  }

  int32_t symbols_, terminals_, spans_, unary_;
  std::vector<Binary> binary_;
  std::vector<Lexical> lexical_;
  std::vector<int32_t> roots_;
  std::vector<Label> labels_;
  std::vector<int64_t> path_begin_;
  std::vector<int32_t> paths_;
  std::vector<int32_t> overlaps_;
  int32_t piece_, pieces_;

  int64_t longest_path_ = 0;
  int32_t left_slots_ = 0, right_slots_ = 0, bottom_slots_ = 0;
  std::vector<int32_t> left_slot_, right_slot_, bottom_slot_;
  std::vector<Pair> pairs_;
  static constexpr int64_t kDense = 6;  // rules per pair from which vector loops pay off

  std::vector<int32_t> pair_begin_, by_pair_, lhs_by_pair_;
  std::vector<int64_t> rule_begin_;
  std::vector<int32_t> first_lhs_;
  std::vector<char> is_dense_;
  std::vector<int32_t> by_lhs_, lhs_begin_, by_terminal_, terminal_begin_;
  std::vector<int32_t> above_[2], above_begin_[2], below_[2], below_begin_[2];
};

// The numbering of the parts of a sentence of n words: rules, then labeled spans, splits and anchored rules.
//
//   tied      binary rules, lexical rules, unary rules, roots: one part each
//   untied    <A -> B C, s, m, e>, <A -> a, s>, <A -> B, s, e>, roots
//   spans     <label, s, e>, for each cell all labels
//   splits    <s, m, e>, optional
//   anchors   <rule, s>, <rule, m> and <rule, e> of binary rules, each optional
//
// A cell is a span from s to e. Cells are sorted by s, then e; the splits of a cell by m.
class DerivationParts {
 public:
  enum Anchors : unsigned { kBegin = 1, kSplit = 2, kEnd = 4 };

  DerivationParts(const Grammar& grammar, int n, bool tied, bool splits, unsigned anchors)
      : n_(n), tied_(tied), splits_(splits), anchors_(anchors) {
    split_begin_.reserve(static_cast<size_t>(cells()) + 1);
    int64_t triples = 0;
    for (int s = 0; s < n; ++s)
      for (int e = s + 1; e <= n; ++e) {
        split_begin_.push_back(triples);
        triples += e - s - 1;
      }
    split_begin_.push_back(triples);
    const auto binary = static_cast<int64_t>(grammar.binary().size());
    lexical_ = binary * (tied ? 1 : triples);
    unary_ = lexical_ + static_cast<int64_t>(grammar.lexical().size()) * (tied ? 1 : n);
    roots_ = unary_ + grammar.unary() * (tied ? 1 : cells());
    spans_ = roots_ + static_cast<int64_t>(grammar.roots().size());
    labels_ = grammar.spans();
    split_ = spans_ + cells() * labels_;
    anchor_[0] = split_ + (splits ? triples : 0);
    for (int k = 0; k < 3; ++k) anchor_[k + 1] = anchor_[k] + ((anchors >> k & 1) ? binary * n : 0);
  }

  int words() const { return n_; }
  bool tied() const { return tied_; }
  bool splits() const { return splits_; }
  unsigned anchors() const { return anchors_; }
  int64_t size() const { return anchor_[3]; }
  int64_t cells() const { return int64_t{n_} * (n_ + 1) / 2; }
  int64_t triples() const { return split_begin_.back(); }
  int64_t cell(int s, int e) const { return int64_t{s} * n_ - int64_t{s} * (s - 1) / 2 + e - s - 1; }
  int64_t triple(int s, int m, int e) const { return split_begin_[cell(s, e)] + m - s - 1; }

  int64_t rules() const { return spans_; }  // number of parts that are rules
  int64_t binary(int32_t rule, int s, int m, int e) const { return tied_ ? rule : rule * triples() + triple(s, m, e); }
  int64_t lexical(int32_t rule, int s) const { return lexical_ + (tied_ ? rule : int64_t{rule} * n_ + s); }
  int64_t unary(int32_t rule, int64_t cell) const { return unary_ + (tied_ ? rule : rule * cells() + cell); }
  int64_t root(int32_t k) const { return roots_ + k; }
  int64_t span(int64_t cell, int32_t label) const { return spans_ + cell * labels_ + label; }
  int64_t first_span() const { return spans_; }
  int64_t first_split() const { return split_; }
  int64_t split(int s, int m, int e) const { return split_ + triple(s, m, e); }
  int64_t anchor(int which, int32_t rule, int place) const { return anchor_[which] + int64_t{rule} * n_ + place; }

  template <class Visit>
  void each_cell(const Visit& visit) const {  // visit(s, e)
    for (int s = 0; s < n_; ++s)
      for (int e = s + 1; e <= n_; ++e) visit(s, e);
  }

  // The parts of a node's rule and of its label.
  template <class Visit>
  void each_of_rule(int32_t rule, int s, int m, int e, const Visit& visit) const {
    visit(binary(rule, s, m, e));
    if (splits_) visit(split(s, m, e));
    if (anchors_ & kBegin) visit(anchor(0, rule, s));
    if (anchors_ & kSplit) visit(anchor(1, rule, m));
    if (anchors_ & kEnd) visit(anchor(2, rule, e - 1));
  }
  template <class Visit>
  void each_of_label(const Grammar& grammar, int32_t label, int64_t cell, const Visit& visit) const {
    for (const int32_t rule : grammar.path(label)) visit(unary(rule, cell));
    const int32_t named = grammar.labels()[label].span;
    if (named >= 0) visit(span(cell, named));
  }

 private:
  int n_;
  bool tied_, splits_;
  unsigned anchors_;
  int64_t lexical_, unary_, roots_, spans_, labels_, split_;
  int64_t anchor_[4];
  std::vector<int64_t> split_begin_;
};

}  // namespace margrave
