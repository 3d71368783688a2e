// CKY+ parsing of a source sentence by a synchronous grammar into a forest (Chappelier and Rajman 1998; Chiang 2007).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "translation/synchronous_grammar.h"

namespace margrave {

// The sources of rules as a trie, so rules with a common prefix are matched together.
class RuleTree {
 public:
  struct Node {
    std::vector<std::pair<Symbol, int32_t>> children;  // sorted by symbol
    std::vector<int32_t> rules;                        // rules whose source ends here
    int32_t limit = 0;                                 // the largest limit of the rules below
  };

  explicit RuleTree(const SynchronousGrammar& grammar) : nodes_(1) {
    for (int64_t r = 0; r < grammar.size(); ++r) {
      const SynchronousRule& rule = grammar.rule(r);
      size_t v = 0;
      for (const Symbol symbol : rule.source) {
        nodes_[v].limit = std::max(nodes_[v].limit, rule.limit);
        v = static_cast<size_t>(add(v, symbol));
      }
      nodes_[v].limit = std::max(nodes_[v].limit, rule.limit);
      nodes_[v].rules.push_back(static_cast<int32_t>(r));
    }
  }

  const Node& node(int32_t v) const { return nodes_[v]; }
  int32_t child(int32_t v, Symbol symbol) const {
    const auto& children = node(v).children;
    const auto place = std::lower_bound(children.begin(), children.end(), std::pair(symbol, int32_t{-1}));
    return place == children.end() || place->first != symbol ? -1 : place->second;
  }

 private:
  int32_t add(size_t v, Symbol symbol) {
    auto& children = nodes_[v].children;
    const auto place = std::lower_bound(children.begin(), children.end(), std::pair(symbol, int32_t{-1}));
    if (place != children.end() && place->first == symbol) return place->second;
    const auto number = static_cast<int32_t>(nodes_.size());
    children.insert(place, {symbol, number});
    nodes_.emplace_back();
    return number;
  }

  std::vector<Node> nodes_;
};

// A parsed sentence: nodes are labels over spans, edges are rules. Tails come before their heads.
struct SourceForest {
  struct Edge {
    int32_t rule;  // or -1 - w: source word w is copied
    int32_t tail_begin;
    int32_t tail_count;
  };
  struct Node {
    int32_t label, begin, end;
    std::vector<int32_t> edges;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<int32_t> tails;
  int32_t goal = -1;  // the node of the whole sentence; -1: no derivation
};

class SynchronousChart {
 public:
  // words: the source, -1 for words in no rule. passes: whether each word may be copied, as `label`.
  static SourceForest parse(const SynchronousGrammar& grammar, const RuleTree& tree,
                            const std::vector<int32_t>& unary_order, const std::vector<int32_t>& words,
                            const std::vector<uint8_t>& passes, int32_t label, int32_t goal) {
    SynchronousChart chart(grammar, tree, unary_order, words, passes, label);
    for (int32_t i = chart.n_ - 1; i >= 0; --i) chart.from(i);
    return chart.trimmed(goal);
  }

 private:
  struct Item {
    int32_t node;  // of the tree of rules
    std::vector<int32_t> tails;
  };
  using Cell = std::map<int32_t, int32_t>;  // nodes by label

  SynchronousChart(const SynchronousGrammar& grammar, const RuleTree& tree, const std::vector<int32_t>& unary_order,
                   const std::vector<int32_t>& words, const std::vector<uint8_t>& passes, int32_t label)
      : grammar_(grammar),
        tree_(tree),
        unary_order_(unary_order),
        words_(words),
        passes_(passes),
        label_(label),
        n_(static_cast<int32_t>(words.size())),
        cells_(words.size() * (words.size() + 1)) {}

  Cell& cell(int32_t i, int32_t j) {
    return cells_[static_cast<size_t>(i) * (words_.size() + 1) + static_cast<size_t>(j)];
  }

  // All spans that begin at i. Those that begin later are complete.
  void from(int32_t i) {
    std::vector<std::vector<Item>> items(static_cast<size_t>(n_) + 1);  // by end: partly matched rules
    items[i].push_back({0, {}});
    for (int32_t j = i + 1; j <= n_; ++j) {
      std::vector<Item>& here = items[j];
      if (words_[j - 1] >= 0)
        for (const Item& item : items[j - 1]) advance(item, words_[j - 1], -1, j - i, here);
      for (int32_t m = i + 1; m < j; ++m)
        for (const auto& [label, node] : cell(m, j))
          for (const Item& item : items[m]) advance(item, gap(label), node, j - i, here);
      for (const Item& item : here) complete(item, i, j);
      if (j == i + 1 && passes_[i]) add_edge(label_, i, j, -1 - i, {});
      for (const int32_t label : unary_order_) {
        const auto place = cell(i, j).find(label);
        const int32_t v = place == cell(i, j).end() ? -1 : tree_.child(0, gap(label));
        if (v >= 0) complete({v, {place->second}}, i, j);
      }
      for (const auto& [label, node] : cell(i, j)) advance({0, {}}, gap(label), node, j - i, here);
    }
  }

  void advance(const Item& item, Symbol symbol, int32_t tail, int32_t width, std::vector<Item>& to) const {
    const int32_t v = tree_.child(item.node, symbol);
    if (v < 0 || tree_.node(v).limit < width) return;
    to.push_back({v, item.tails});
    if (tail >= 0) to.back().tails.push_back(tail);
  }

  void complete(const Item& item, int32_t i, int32_t j) {
    for (const int32_t r : tree_.node(item.node).rules)
      if (grammar_.rule(r).limit >= j - i) add_edge(grammar_.rule(r).label, i, j, r, item.tails);
  }

  void add_edge(int32_t label, int32_t i, int32_t j, int32_t rule, const std::vector<int32_t>& tails) {
    const auto [place, added] = cell(i, j).try_emplace(label, static_cast<int32_t>(parse_.nodes.size()));
    if (added) parse_.nodes.push_back({label, i, j, {}});
    parse_.nodes[place->second].edges.push_back(static_cast<int32_t>(parse_.edges.size()));
    parse_.edges.push_back({rule, static_cast<int32_t>(parse_.tails.size()), static_cast<int32_t>(tails.size())});
    parse_.tails.insert(parse_.tails.end(), tails.begin(), tails.end());
  }

  // The part of the forest that the whole sentence uses, with tails before their heads.
  SourceForest trimmed(int32_t goal) {
    const auto top = cell(0, n_).find(goal);
    if (top == cell(0, n_).end()) return {};
    SourceForest kept;
    std::vector<int32_t> number(parse_.nodes.size(), -1);
    std::vector<std::pair<int32_t, size_t>> open{{top->second, 0}};  // a node, and its next tail, over all edges
    std::vector<std::vector<int32_t>> below(parse_.nodes.size());
    const auto gather = [&](int32_t v) {
      for (const int32_t e : parse_.nodes[v].edges) {
        const SourceForest::Edge& edge = parse_.edges[e];
        below[v].insert(below[v].end(), parse_.tails.begin() + edge.tail_begin,
                        parse_.tails.begin() + edge.tail_begin + edge.tail_count);
      }
    };
    gather(top->second);
    number[top->second] = -2;  // open
    while (!open.empty()) {
      auto& [v, next] = open.back();
      const std::vector<int32_t>& tails = below[v];
      if (next < tails.size()) {
        const int32_t u = tails[next++];
        if (number[u] != -1) continue;
        number[u] = -2;
        gather(u);
        open.emplace_back(u, 0);
        continue;
      }
      number[v] = static_cast<int32_t>(kept.nodes.size());
      const SourceForest::Node& old = parse_.nodes[v];
      kept.nodes.push_back({old.label, old.begin, old.end, {}});
      for (const int32_t e : old.edges) {
        const SourceForest::Edge& edge = parse_.edges[e];
        kept.nodes.back().edges.push_back(static_cast<int32_t>(kept.edges.size()));
        kept.edges.push_back({edge.rule, static_cast<int32_t>(kept.tails.size()), edge.tail_count});
        for (int32_t k = 0; k < edge.tail_count; ++k) kept.tails.push_back(number[parse_.tails[edge.tail_begin + k]]);
      }
      open.pop_back();
    }
    kept.goal = static_cast<int32_t>(kept.nodes.size()) - 1;
    return kept;
  }

  const SynchronousGrammar& grammar_;
  const RuleTree& tree_;
  const std::vector<int32_t>& unary_order_;
  const std::vector<int32_t>& words_;
  const std::vector<uint8_t>& passes_;
  int32_t label_;
  int32_t n_;
  std::vector<Cell> cells_;
  SourceForest parse_;
};

}  // namespace margrave
