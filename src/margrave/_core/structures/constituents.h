// Derivations of a grammar as a structure: constituent trees (000, example 2; 003, section 4.5).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/cky.h"
#include "engines/cky_by_cost.h"
#include "engines/cky_kbest.h"
#include "engines/cky_samples.h"
#include "engines/grammar.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "structures/treebank.h"

namespace margrave {

class ConstituentStructure final : public Structure, private Counted {
 public:
  // A node of a gold derivation, in preorder. rule: binary, or lexical if split is -1.
  struct Node {
    int32_t label, begin, end, rule, split;
  };
  struct Settings {
    bool tied = true;
    bool splits = false;
    unsigned anchors = 0;  // DerivationParts::Anchors
  };

  // begin (examples + 1), terminals: the sentences. node_begin (examples + 1), nodes: their derivations, or empty.
  // left: whether pruning keeps each cell of each sentence, or empty. Cells of gold derivations are always kept, and
  // sentences that would have no derivation are not pruned.
  ConstituentStructure(std::shared_ptr<const Grammar> grammar, std::vector<int64_t> begin,
                       std::vector<int32_t> terminals, std::vector<int64_t> node_begin, const std::vector<Node>& nodes,
                       std::vector<char> left, Settings settings)
      : grammar_(std::move(grammar)),
        begin_(std::move(begin)),
        terminals_(std::move(terminals)),
        left_(std::move(left)),
        settings_(settings),
        has_gold_(!node_begin.empty()) {
    check_bounds(begin_, static_cast<int64_t>(terminals_.size()), "sentences");
    for (const int32_t terminal : terminals_)
      if (terminal < -1 || terminal >= grammar_->terminals()) throw InputError("there is no such terminal.");
    for (int64_t i = 0; i < size(); ++i) {
      const std::string example = "example " + std::to_string(i);
      const int n = words(i);
      if (n < 1) throw InputError(example + " has no words.");
      const int longest = settings_.tied ? kLongest : kLongestUntied;
      if (n > longest)
        throw InputError(example + " has " + std::to_string(n) + " words: at most " + std::to_string(longest) +
                         " are possible" + (settings_.tied ? "." : " with tied=False."));
      if (!layouts_.contains(n))
        layouts_.emplace(n, DerivationParts(*grammar_, n, settings_.tied, settings_.splits, settings_.anchors));
      if (layout(i).size() >= INT32_MAX)
        throw InputError(example + " has more than 2147483646 parts: use a smaller grammar, or leave it out.");
    }
    if (!left_.empty()) {
      for (int64_t i = 0; i < size(); ++i) left_begin_.push_back(left_begin_.back() + layout(i).cells());
      if (left_begin_.back() != static_cast<int64_t>(left_.size()))
        throw InputError("pruning must say of each cell whether it is left.");
    }
    if (!has_gold_) {
      for (int64_t i = 0; i < size() && !left_.empty(); ++i)
        if (!has_derivation(i)) std::fill(left_.begin() + left_begin_[i], left_.begin() + left_begin_[i + 1], char{1});
      return;
    }
    check_bounds(node_begin, static_cast<int64_t>(nodes.size()), "derivations");
    if (node_begin.size() != begin_.size()) throw InputError("there must be one derivation per sentence.");
    for (int64_t i = 0; i < size(); ++i) {
      const Node* const first = nodes.data() + node_begin[i];
      add_gold(i, {first, nodes.data() + node_begin[i + 1]});
    }
  }

  int64_t size() const override { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t parts(int64_t i) const override { return layout(i).size(); }
  // A rule occurs at most once per node, times its repeats in a chain of unary rules.
  int64_t repeats(int64_t i) const override {
    return settings_.tied ? (2 * int64_t{words(i)} - 1) * std::max<int64_t>(1, grammar_->longest_path())
                          : std::max<int64_t>(1, grammar_->longest_path());
  }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  bool has_gold() const override { return has_gold_; }
  void gold(int64_t i, int64_t, Output& y) const override {
    if (!has_gold_) throw InputError("this problem was bound without gold trees.");
    y = golds_[i].y;
  }

  // 1 for every constituent that is not in the gold tree (000, section 2).
  double cost(int64_t i, double* delta) const override {
    std::fill_n(delta, parts(i), 0.0);
    each_count(i, [&](int64_t part, int32_t right, int32_t predicted) { delta[part] = predicted - right; });
    return 0;
  }
  const Counted* counted() const override { return this; }
  void counts(int64_t i, double* right, double* predicted, int64_t& of_gold) const override {
    std::fill_n(right, parts(i), 0.0);
    std::fill_n(predicted, parts(i), 0.0);
    each_count(i, [&](int64_t part, int32_t r, int32_t p) {
      right[part] = r;
      predicted[part] = p;
    });
    of_gold = golds_[i].constituents;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    const cky::Chart<cky::Max>& chart = best_chart(i, theta);
    const double value = chart.total();
    y.clear();
    if (value > -kInfinity) {
      cky::Best best(chart);
      cky::derive(*grammar_, layout(i), best, y);
    }
    return value;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    std::fill_n(mu, parts(i), 0.0);
    double value = -kInfinity;
    inside(i, theta, [&](auto& chart) {
      value = chart.log_total();
      chart.outside(mu);
    });
    return value;
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless& needless,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    const std::vector<int64_t> costs = whole_costs(delta, parts(i));
    const cky::Chart<cky::Max>& chart = best_chart(i, theta);
    ys.clear();
    if (chart.total() > -kInfinity) cky::BestByCost(chart, costs, needless).outputs(ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    const cky::Chart<cky::Max>& chart = best_chart(i, theta);
    const cky::Ranked ranked(chart);
    const auto add = [&](int64_t edge, Output& y) {
      ranked.each_part(edge, [&](int64_t part) { y.push_back(static_cast<int32_t>(part)); });
    };
    kbest_outputs(ranked, ranked.sentence(), k, add, ys);
    for (ScoredOutput& each : ys) std::sort(each.y.begin(), each.y.end());
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys, Scratch&) const override {
    bool any = false;
    inside(i, theta, [&](auto& chart) {
      any = true;
      cky::Draw draw(chart, random);
      for (Output& y : ys) cky::derive(*grammar_, layout(i), draw, y);
    });
    if (!any) throw InputError("every tree is forbidden.");
  }

  int words(int64_t i) const { return static_cast<int>(begin_[i + 1] - begin_[i]); }
  const Grammar& grammar() const { return *grammar_; }
  // By cell, whether pruning keeps it; null if nothing was pruned.
  const char* cells_left(int64_t i) const { return left_.empty() ? nullptr : left_.data() + left_begin_[i]; }
  const DerivationParts& layout(int64_t i) const { return layouts_.at(words(i)); }

  // The labeled spans of an output: visit(span, s, e). Returns whether it consists of several fragments.
  template <class Visit>
  bool each_span(int64_t i, const int32_t* y, int64_t size, const Visit& visit) const {
    const DerivationParts& parts = layout(i);
    const int64_t labels = grammar_->spans();
    bool pieces = false;
    for (int64_t k = 0; k < size; ++k) {
      if (y[k] < 0 || y[k] >= parts.size())
        throw InputError("example " + std::to_string(i) + ": there is no part " + std::to_string(y[k]) + ".");
      if (y[k] >= parts.root(0) && y[k] < parts.first_span()) {
        const int32_t root = grammar_->roots()[y[k] - parts.root(0)];
        pieces = pieces || root == grammar_->piece() || root == grammar_->pieces();
      }
      if (y[k] < parts.first_span() || y[k] >= parts.first_split()) continue;
      const int64_t cell = (y[k] - parts.first_span()) / labels;
      const auto [s, e] = ends(words(i), cell);
      visit(static_cast<int32_t>((y[k] - parts.first_span()) % labels), s, e);
    }
    return pieces;
  }

 private:
  static constexpr int kLongest = 400, kLongestUntied = 15;
  static constexpr double kLargestScore = 1e15;

  struct Gold {
    Output y;
    std::vector<std::pair<int64_t, int32_t>> spans;  // cells with their labeled spans
    int64_t constituents = 0;
  };
  struct Nodes {
    const Node *first, *last;
  };

  const int32_t* terminals(int64_t i) const { return terminals_.data() + begin_[i]; }

  static std::pair<int, int> ends(int n, int64_t cell) {
    int s = 0;
    while (cell >= n - s) cell -= n - s++;
    return {s, s + 1 + static_cast<int>(cell)};
  }

  static void check_bounds(const std::vector<int64_t>& begin, int64_t end, const char* what) {
    if (begin.empty() || begin.front() != 0 || begin.back() != end || !std::is_sorted(begin.begin(), begin.end()))
      throw InputError(std::string("the bounds of ") + what + " must ascend from 0 to their end.");
  }

  // Checks a derivation and stores its parts.
  void add_gold(int64_t i, Nodes nodes) {
    struct Open {
      int32_t top;
      int s, e;
    };
    const auto refuse = [&] {
      throw InputError("example " + std::to_string(i) + ": the gold tree is not a derivation of the grammar.");
    };
    const Grammar& g = *grammar_;
    const DerivationParts& parts = layout(i);
    Gold gold;
    const auto add = [&](int64_t part) { gold.y.push_back(static_cast<int32_t>(part)); };
    const auto number = [&](int32_t k, size_t size) {
      if (k < 0 || static_cast<size_t>(k) >= size) refuse();
      return static_cast<size_t>(k);
    };
    if (nodes.first == nodes.last) refuse();
    const int32_t top = g.labels()[number(nodes.first->label, g.labels().size())].top;
    const auto root = std::find(g.roots().begin(), g.roots().end(), top);
    if (root == g.roots().end()) refuse();
    add(parts.root(static_cast<int32_t>(root - g.roots().begin())));
    std::vector<Open> open{{top, 0, words(i)}};
    for (const Node* node = nodes.first; node != nodes.last; ++node) {
      if (open.empty()) refuse();
      const auto [symbol, s, e] = open.back();
      open.pop_back();
      const Grammar::Label& label = g.labels()[number(node->label, g.labels().size())];
      if (node->begin != s || node->end != e || label.top != symbol || label.leaf != (e - s == 1)) refuse();
      const int64_t cell = parts.cell(s, e);
      if (!left_.empty()) left_[left_begin_[i] + cell] = 1;
      parts.each_of_label(g, node->label, cell, add);
      if (label.span >= 0) {
        gold.spans.emplace_back(cell, label.span);
        gold.constituents += g.constituents(label.span);
      }
      if (e - s == 1) {
        const Grammar::Lexical& rule = g.lexical()[number(node->rule, g.lexical().size())];
        if (node->split != -1 || rule.lhs != label.bottom || rule.terminal != terminals(i)[s]) refuse();
        add(parts.lexical(node->rule, s));
        continue;
      }
      const Grammar::Binary& rule = g.binary()[number(node->rule, g.binary().size())];
      if (node->split <= s || node->split >= e || rule.lhs != label.bottom) refuse();
      parts.each_of_rule(node->rule, s, node->split, e, add);
      open.push_back({rule.right, node->split, e});
      open.push_back({rule.left, s, node->split});
    }
    if (!open.empty()) refuse();
    std::sort(gold.y.begin(), gold.y.end());
    golds_.push_back(std::move(gold));
  }

  // Calls visit(part, right, predicted) for the labeled spans that have constituents.
  template <class Visit>
  void each_count(int64_t i, const Visit& visit) const {
    if (!has_gold_) throw InputError("this problem was bound without gold trees.");
    const DerivationParts& parts = layout(i);
    for (int64_t cell = 0; cell < parts.cells(); ++cell)
      for (int32_t span = 0; span < grammar_->spans(); ++span)
        if (const int32_t n = grammar_->constituents(span); n > 0) visit(parts.span(cell, span), 0, n);
    for (const auto& [cell, gold] : golds_[i].spans)
      for (int32_t span = 0; span < grammar_->spans(); ++span)
        if (const int32_t right = grammar_->overlap(span, gold); right > 0)
          visit(parts.span(cell, span), right, grammar_->constituents(span));
  }

  // Charts are large, so a thread keeps them between examples.
  const cky::Chart<cky::Max>& best_chart(int64_t i, const double* theta) const {
    check_tree_scores(i, theta, parts(i));
    thread_local cky::Chart<cky::Max> chart;
    fill(chart, i, theta, false);
    if (chart.total() == -kInfinity && in_pieces(i)) fill(chart, i, theta, true);
    return chart;
  }

  // Calls use(chart) with the inside values of a sentence, unless it has no derivation.
  template <class Use>
  void inside(int64_t i, const double* theta, const Use& use) const {
    check_tree_scores(i, theta, parts(i));
    for (int64_t k = 0; k < parts(i); ++k)  // the exponents of their products would overflow
      if (theta[k] > kLargestScore)
        throw InputError("example " + std::to_string(i) +
                         ": a score is above 1e15, which is too large for sums; scale the features, or lower C.");
    if (!inside_with(i, theta, false, use) && in_pieces(i)) inside_with(i, theta, true, use);
  }
  template <class Use>
  bool inside_with(int64_t i, const double* theta, bool pieces, const Use& use) const {
    thread_local cky::Chart<cky::Sum> chart;
    if (fill(chart, i, theta, pieces)) {
      if (!(chart.total() > 0)) return false;
      use(chart);
      return true;
    }
    cky::Chart<cky::WideSum> wide;
    fill(wide, i, theta, pieces);
    if (wide.total().zero()) return false;
    use(wide);
    return true;
  }
  template <class A>
  bool fill(cky::Chart<A>& chart, int64_t i, const double* theta, bool pieces) const {
    chart.begin(*grammar_, layout(i), terminals(i), theta, cells_left(i), pieces);
    return chart.inside();
  }

  // Whether a sentence has no derivation, regardless of the scores, and is parsed in fragments.
  bool in_pieces(int64_t i) const { return grammar_->piece() >= 0 && !has_derivation(i); }
  bool has_derivation(int64_t i) const {
    const std::vector<double> zeros(parts(i), 0.0);
    cky::Chart<cky::Max> chart;
    fill(chart, i, zeros.data(), false);
    return chart.total() > -kInfinity;
  }

  std::shared_ptr<const Grammar> grammar_;
  std::vector<int64_t> begin_;
  std::vector<int32_t> terminals_;
  std::vector<char> left_;              // by sentence and cell
  std::vector<int64_t> left_begin_{0};  // where those of each sentence begin
  Settings settings_;
  bool has_gold_;
  std::map<int, DerivationParts> layouts_;  // by number of words
  std::vector<Gold> golds_;
};

}  // namespace margrave
