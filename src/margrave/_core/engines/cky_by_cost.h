// The best derivation of a grammar for each total cost, by a filled chart (engines/cky.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines/cky.h"
#include "engines/hypergraph.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"

namespace margrave::cky {

// The best derivation for each total cost (003, section 3.2). Tables list the possible costs of a node, with the best
// score. A rule combines the tables of its children by sums of costs. Only nodes of some derivation have tables.
// Derivations with scores below `least` are not needed. An entry's score plus the best score outside of its node bounds
// all derivations with the entry, so entries below `least` are left out. If costs count correct and wrong items, an
// entry is left out if another one of the same node is at least as good in all three. Substituting it in a derivation
// gives one that is at least as good.
class BestByCost {
 public:
  BestByCost(const Chart<Max>& chart, const std::vector<int64_t>& costs, const Needless& needless)
      : chart_(chart), costs_(costs), least_(needless.least), base_(needless.base) {
    const Grammar& g = chart.grammar();
    const int n = chart.words();
    tops_.resize(static_cast<size_t>(chart.parts().cells() * g.symbols()));
    bottoms_ = tops_;
    outside_.assign(2 * tops_.size(), -kInfinity);
    for (size_t k = 0; k < g.roots().size(); ++k)
      need(top_at(g.roots()[k], 0, n), chart.root_weight(k), chart.root_top(k));
    for (int width = n; width >= 1; --width)
      for (int s = 0; s + width <= n; ++s) mark(s, s + width);
    for (int width = 1; width <= n; ++width)
      for (int s = 0; s + width <= n; ++s) fill(s, s + width);
  }

  void outputs(std::vector<CostedOutput>& ys) {
    const Grammar& g = chart_.grammar();
    const int n = chart_.words();
    std::vector<Entry> all;
    open_window();
    for (size_t k = 0; k < g.roots().size(); ++k)
      for (const Entry& below : tops_[top_at(g.roots()[k], 0, n)])
        offer(below.cost + cost(chart_.parts().root(static_cast<int32_t>(k))), below.value + chart_.root_weight(k));
    close_window(all, least_);
    ys.clear();
    for (const Entry& entry : all) {
      CostedOutput found{entry.cost, entry.value, {}};
      backtrack(entry, found.y);
      std::sort(found.y.begin(), found.y.end());
      ys.push_back(std::move(found));
    }
  }

 private:
  struct Entry {
    int64_t cost;
    double value;
  };
  using Table = std::vector<Entry>;
  static constexpr int64_t kMostCosts = int64_t{1} << 24;

  size_t top_at(int32_t symbol, int s, int e) const {
    return static_cast<size_t>(chart_.parts().cell(s, e) * chart_.grammar().symbols() + symbol);
  }
  size_t bottom_at(int32_t symbol, int s, int e) const { return tops_.size() + top_at(symbol, s, e); }
  Table& bottoms(int32_t symbol, int s, int e) { return bottoms_[top_at(symbol, s, e)]; }
  int64_t cost(int64_t part) const { return costs_[part]; }
  int64_t label_cost(int32_t label, int64_t cell) const {
    int64_t sum = 0;
    chart_.parts().each_of_label(chart_.grammar(), label, cell, [&](int64_t part) { sum += cost(part); });
    return sum;
  }
  int64_t rule_cost(int32_t rule, int s, int m, int e) const {
    int64_t sum = 0;
    chart_.parts().each_of_rule(rule, s, m, e, [&](int64_t part) { sum += cost(part); });
    return sum;
  }

  // Marks a node with these scores outside and inside of it as needed, unless they are too low.
  void need(size_t node, double outside, double inside) {
    if (inside > -kInfinity && outside + inside >= least_) outside_[node] = std::max(outside_[node], outside);
  }
  bool needed(size_t node) const { return outside_[node] > -kInfinity; }

  // Marks the nodes of derivations, with the best score outside of each, from the top down.
  void mark(int s, int e) {
    const Grammar& g = chart_.grammar();
    const int64_t cell = chart_.parts().cell(s, e);
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      const double outside = outside_[top_at(symbol, s, e)];
      if (outside == -kInfinity) continue;
      for (const int32_t label : g.below(symbol, e - s == 1)) {
        const int32_t bottom = g.labels()[label].bottom;
        if (chart_.uses(label))
          need(bottom_at(bottom, s, e), outside + chart_.label_weight(label, cell), chart_.bottom(bottom, s, e));
      }
    }
    if (e - s == 1) return;
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      const double outside = outside_[bottom_at(symbol, s, e)];
      if (outside == -kInfinity) continue;
      chart_.each_rule(symbol, s, e, [&](int32_t rule, int m, double value) {
        const Grammar::Binary& of = g.binary()[rule];
        const double left = chart_.top(of.left, s, m), right = chart_.top(of.right, m, e);
        need(top_at(of.left, s, m), outside + value - left, left);
        need(top_at(of.right, m, e), outside + value - right, right);
      });
    }
  }

  // A window of costs that keeps the best value of each; offers widen it.
  void open_window() {
    low_ = 0;
    window_.clear();
  }
  void reserve(int64_t low, int64_t high) {  // costs from low to high will be offered
    if (window_.empty()) {
      low_ = low;
      window_.assign(static_cast<size_t>(high - low + 1), -kInfinity);
      return;
    }
    const int64_t end = low_ + static_cast<int64_t>(window_.size()) - 1;
    if (std::max(end, high) - std::min(low_, low) > kMostCosts)
      throw InputError("the costs of one sentence take too many different values.");
    if (low < low_) {
      window_.insert(window_.begin(), static_cast<size_t>(low_ - low), -kInfinity);
      low_ = low;
    }
    if (high > end) window_.resize(static_cast<size_t>(high - low_ + 1), -kInfinity);
  }
  void offer(int64_t cost, double value) {
    reserve(cost, cost);
    double& best = window_[cost - low_];
    best = std::max(best, value);
  }
  void close_window(Table& table, double least) {
    table.clear();
    if (base_ > 0) drop_worse();
    for (size_t k = 0; k < window_.size(); ++k)
      if (window_[k] > -kInfinity && window_[k] >= least) table.push_back({low_ + static_cast<int64_t>(k), window_[k]});
  }

  // Drops a value of the window if another one is as large, with no more correct items and no fewer wrong ones.
  void drop_worse() {
    best_.assign(static_cast<size_t>(base_), -kInfinity);  // by correct items: the largest value with as many wrong
                                                           // ones
    int64_t cost = low_ + static_cast<int64_t>(window_.size()) - 1;
    while (cost >= low_) {  // the most wrong items first
      const int64_t row = cost / base_ * base_, first = std::max(row, low_);
      double largest = -kInfinity;
      for (int64_t right = 0; right < first - row; ++right) largest = std::max(largest, best_[right]);
      for (int64_t k = first; k <= cost; ++k) {
        double& of_right = best_[k - row];
        double& value = window_[k - low_];
        largest = std::max(largest, of_right);
        if (value <= largest) {
          value = -kInfinity;
        } else {
          largest = of_right = value;
        }
      }
      cost = first - 1;
    }
  }

  void fill(int s, int e) {
    const Grammar& g = chart_.grammar();
    const int64_t cell = chart_.parts().cell(s, e);
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      if (!needed(bottom_at(symbol, s, e))) continue;
      const double least = least_ - outside_[bottom_at(symbol, s, e)];  // of the entries of this node
      open_window();
      if (e - s == 1) {
        for (const int32_t rule : g.words_of(chart_.terminals()[s]))
          if (g.lexical()[rule].lhs == symbol)
            offer(cost(chart_.parts().lexical(rule, s)), chart_.lexical_weight(rule, s));
      } else {
        chart_.each_rule(symbol, s, e, [&](int32_t rule, int m, double value) {
          const Grammar::Binary& of = g.binary()[rule];
          const Table& left = tops_[top_at(of.left, s, m)];
          const Table& right = tops_[top_at(of.right, m, e)];
          if (value < least || left.empty() || right.empty()) return;
          const double least_left = least - (value - chart_.top(of.left, s, m));
          const int64_t own = rule_cost(rule, s, m, e);
          const double score = chart_.rule_score(rule, s, m, e);
          reserve(own + left.front().cost + right.front().cost, own + left.back().cost + right.back().cost);
          for (const Entry& a : left) {
            if (a.value < least_left) continue;
            double* const at = window_.data() + (own + a.cost - low_);
            const double of_left = score + a.value;
            for (const Entry& b : right) at[b.cost] = std::max(at[b.cost], of_left + b.value);
          }
        });
      }
      close_window(bottoms(symbol, s, e), least);
    }
    for (int32_t symbol = 0; symbol < g.symbols(); ++symbol) {
      if (!needed(top_at(symbol, s, e))) continue;
      open_window();
      for (const int32_t label : g.below(symbol, e - s == 1)) {
        if (!chart_.uses(label)) continue;
        const double score = chart_.label_weight(label, cell);
        if (score == -kInfinity) continue;
        const int64_t own = label_cost(label, cell);
        for (const Entry& below : bottoms(g.labels()[label].bottom, s, e)) offer(own + below.cost, score + below.value);
      }
      close_window(tops_[top_at(symbol, s, e)], least_ - outside_[top_at(symbol, s, e)]);
    }
  }

  static const Entry* find(const Table& table, int64_t cost) {
    const auto place = std::lower_bound(table.begin(), table.end(), cost,
                                        [](const Entry& entry, int64_t wanted) { return entry.cost < wanted; });
    return place != table.end() && place->cost == cost ? &*place : nullptr;
  }

  // Repeats the sums of `fill` to find those that gave the values.
  void backtrack(const Entry& whole, Output& y) {
    struct Open {
      int32_t symbol;
      int s, e;
      Entry entry;
    };
    const Grammar& g = chart_.grammar();
    const DerivationParts& parts = chart_.parts();
    const auto add = [&](int64_t part) { y.push_back(static_cast<int32_t>(part)); };
    std::vector<Open> open;
    for (size_t k = 0; k < g.roots().size() && open.empty(); ++k) {
      const int64_t part = parts.root(static_cast<int32_t>(k));
      const Entry* below = find(tops_[top_at(g.roots()[k], 0, parts.words())], whole.cost - cost(part));
      if (!below || below->value + chart_.root_weight(k) != whole.value) continue;
      add(part);
      open.push_back({g.roots()[k], 0, parts.words(), *below});
    }
    while (!open.empty()) {
      const auto [symbol, s, e, entry] = open.back();
      open.pop_back();
      const int64_t cell = parts.cell(s, e);
      int32_t bottom = -1;
      Entry inner{};
      for (const int32_t label : g.below(symbol, e - s == 1)) {
        if (!chart_.uses(label)) continue;
        const int32_t of = g.labels()[label].bottom;
        const Entry* below = find(bottoms(of, s, e), entry.cost - label_cost(label, cell));
        if (!below || chart_.label_weight(label, cell) + below->value != entry.value) continue;
        parts.each_of_label(g, label, cell, add);
        bottom = of;
        inner = *below;
        break;
      }
      if (e - s == 1) {
        for (const int32_t rule : g.words_of(chart_.terminals()[s]))
          if (g.lexical()[rule].lhs == bottom && cost(parts.lexical(rule, s)) == inner.cost &&
              chart_.lexical_weight(rule, s) == inner.value) {
            add(parts.lexical(rule, s));
            break;
          }
        continue;
      }
      bool done = false;
      chart_.each_rule(bottom, s, e, [&](int32_t rule, int m, double) {
        if (done) return;
        const Grammar::Binary& of = g.binary()[rule];
        const int64_t left_over = inner.cost - rule_cost(rule, s, m, e);
        const double score = chart_.rule_score(rule, s, m, e);
        for (const Entry& a : tops_[top_at(of.left, s, m)]) {
          const Entry* b = find(tops_[top_at(of.right, m, e)], left_over - a.cost);
          if (!b || (score + a.value) + b->value != inner.value) continue;
          parts.each_of_rule(rule, s, m, e, add);
          open.push_back({of.left, s, m, a});
          open.push_back({of.right, m, e, *b});
          done = true;
          return;
        }
      });
    }
  }

  const Chart<Max>& chart_;
  const std::vector<int64_t>& costs_;
  double least_;
  int64_t base_;
  std::vector<double> best_;
  std::vector<Table> tops_, bottoms_;
  std::vector<double> outside_;  // the best score outside of each top and bottom; -inf if not needed
  std::vector<double> window_;
  int64_t low_ = 0;
};

}  // namespace margrave::cky
