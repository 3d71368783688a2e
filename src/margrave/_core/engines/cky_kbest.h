// The k best derivations of a grammar, by a filled chart (engines/cky.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines/cky.h"

namespace margrave::cky {

// A filled chart as a hypergraph for LazyKbest. Nodes are tops and bottoms of cells, and the sentence.
class Ranked {
 public:
  explicit Ranked(const Chart<Max>& chart)
      : chart_(chart), symbols_(chart.grammar().symbols()), cells_(chart.parts().cells()) {
    const int n = chart.words();
    chart.parts().each_cell([&](int s, int e) { ends_.emplace_back(s, e); });
    stride_ = std::max<int64_t>({static_cast<int64_t>(chart.grammar().binary().size()) * (n + 1),
                                 static_cast<int64_t>(chart.grammar().labels().size()),
                                 static_cast<int64_t>(chart.grammar().lexical().size())});
  }

  int64_t nodes() const { return 2 * cells_ * symbols_ + 1; }
  int64_t sentence() const { return nodes() - 1; }
  double best(int64_t v) const {
    if (v == sentence()) return chart_.total();
    const auto [symbol, s, e, is_top] = node(v);
    return is_top ? chart_.top(symbol, s, e) : chart_.bottom(symbol, s, e);
  }
  int64_t best_edge(int64_t v) const {
    const Best best(chart_);
    if (v == sentence()) return code(kRoot, 0, best.root());
    const auto [symbol, s, e, is_top] = node(v);
    const int64_t cell = chart_.parts().cell(s, e);
    if (is_top) return code(kLabel, cell, best.label(symbol, s, e));
    const auto [rule, m] = best.rule(symbol, s, e);
    return m < 0 ? code(kLexical, cell, rule) : code(kBinary, cell, int64_t{rule} * (chart_.words() + 1) + m);
  }
  template <class Visit>
  void each_edge(int64_t v, const Visit& visit) const {
    const Grammar& g = chart_.grammar();
    if (v == sentence()) {
      for (size_t k = 0; k < g.roots().size(); ++k) visit(code(kRoot, 0, static_cast<int64_t>(k)));
      return;
    }
    const auto [symbol, s, e, is_top] = node(v);
    const int64_t cell = chart_.parts().cell(s, e);
    if (is_top) {
      for (const int32_t label : g.below(symbol, e - s == 1))
        if (chart_.uses(label)) visit(code(kLabel, cell, label));
      return;
    }
    if (e - s == 1) {
      if (chart_.terminals()[s] < 0) return;
      for (const int32_t rule : g.words_of(chart_.terminals()[s]))
        if (g.lexical()[rule].lhs == symbol) visit(code(kLexical, cell, rule));
      return;
    }
    chart_.each_rule(symbol, s, e, [&](int32_t rule, int m, double) {
      visit(code(kBinary, cell, int64_t{rule} * (chart_.words() + 1) + m));
    });
  }
  int64_t tail_count(int64_t edge) const {
    static constexpr int64_t kTails[] = {1, 1, 0, 2};
    return kTails[edge % 4];
  }
  int64_t tail(int64_t edge, int64_t j) const {
    const auto [kind, cell, payload] = decode(edge);
    const Grammar& g = chart_.grammar();
    if (kind == kRoot) return top(chart_.parts().cell(0, chart_.words()), g.roots()[payload]);
    if (kind == kLabel) return (cells_ + cell) * symbols_ + g.labels()[payload].bottom;
    const auto [s, e] = ends_[cell];
    const int m = static_cast<int>(payload % (chart_.words() + 1));
    const Grammar::Binary& of = g.binary()[payload / (chart_.words() + 1)];
    return j == 0 ? top(chart_.parts().cell(s, m), of.left) : top(chart_.parts().cell(m, e), of.right);
  }
  double score(int64_t edge) const {
    double sum = 0;
    const auto [kind, cell, payload] = decode(edge);
    if (kind == kBinary) sum = chart_.glue(static_cast<int32_t>(payload / (chart_.words() + 1)));
    each_part(edge, [&](int64_t part) { sum += chart_.theta()[part]; });
    return sum;
  }
  template <class Visit>
  void each_part(int64_t edge, const Visit& visit) const {
    const auto [kind, cell, payload] = decode(edge);
    const auto [s, e] = ends_[cell];
    const DerivationParts& parts = chart_.parts();
    if (kind == kRoot) visit(parts.root(static_cast<int32_t>(payload)));
    if (kind == kLabel) parts.each_of_label(chart_.grammar(), static_cast<int32_t>(payload), cell, visit);
    if (kind == kLexical) visit(parts.lexical(static_cast<int32_t>(payload), s));
    const int m = static_cast<int>(payload % (chart_.words() + 1));
    if (kind == kBinary) parts.each_of_rule(static_cast<int32_t>(payload / (chart_.words() + 1)), s, m, e, visit);
  }

 private:
  enum Kind { kRoot, kLabel, kLexical, kBinary };
  struct Item {
    int32_t symbol;
    int s, e;
    bool is_top;
  };
  struct Edge {
    Kind kind;
    int64_t cell, payload;
  };

  int64_t top(int64_t cell, int32_t symbol) const { return cell * symbols_ + symbol; }
  Item node(int64_t v) const {
    const bool is_top = v < cells_ * symbols_;
    const int64_t within = is_top ? v : v - cells_ * symbols_;
    const auto [s, e] = ends_[within / symbols_];
    return {static_cast<int32_t>(within % symbols_), s, e, is_top};
  }
  int64_t code(Kind kind, int64_t cell, int64_t payload) const { return (cell * stride_ + payload) * 4 + kind; }
  Edge decode(int64_t edge) const { return {static_cast<Kind>(edge % 4), edge / 4 / stride_, edge / 4 % stride_}; }

  const Chart<Max>& chart_;
  int64_t symbols_, cells_, stride_ = 1;
  std::vector<std::pair<int, int>> ends_;
};

}  // namespace margrave::cky
