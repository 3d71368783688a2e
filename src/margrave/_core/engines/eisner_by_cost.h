// The best projective tree for each total cost, over the items of eisner.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engines/eisner.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"

namespace margrave::eisner {

// An arc may have several versions, such as labels, each with its score and cost. This is the range of their numbers.
struct Versions {
  int64_t first = 0, last = 0;
};

// The best value of every item for each cost that it can have. If arcs cost 0 or 1, an item has at most as many costs
// as words. With n^3 splits, this takes O(n^5). Outputs consist of versions of arcs.
class BestByCost {
 public:
  // versions: by part of an arc. theta, costs: by version.
  BestByCost(int n, const std::vector<Versions>& versions, const double* theta, const std::vector<int64_t>& costs,
             bool single_root)
      : n_(n), versions_(versions), theta_(theta), costs_(costs), shape_(n) {
    lists_.resize(static_cast<size_t>(kKinds * shape_.cells()));
    for (int i = 0; i <= n; ++i) of({kRight, i, i}) = of({kLeft, i, i}) = {{0, 0.0}};
    for (int width = 1; width <= n; ++width) {
      for (int i = 0; i + width <= n; ++i) {
        const int j = i + width;
        fill(kJoinRule, i, j);
        add_arc({kRightArc, i, j});
        if (i > 0) add_arc({kLeftArc, i, j});
        if (!(single_root && i == 0 && j < n)) fill(kRightRule, i, j);
        fill(kLeftRule, i, j);
      }
    }
  }

  void outputs(std::vector<CostedOutput>& ys) {
    ys.clear();
    for (const Costed& found : of({kRight, 0, n_})) {
      ys.push_back({found.cost, found.value, {}});
      trace(found, ys.back().y);
      std::sort(ys.back().y.begin(), ys.back().y.end());
    }
  }

 private:
  struct Costed {
    int64_t cost;
    double value;
  };
  using List = std::vector<Costed>;  // by ascending cost

  List& of(const Item& item) { return lists_[item.kind * shape_.cells() + shape_.cell(item.i, item.j)]; }

  static const Costed* find(const List& list, int64_t cost) {
    const auto place =
        std::lower_bound(list.begin(), list.end(), cost, [](const Costed& a, int64_t c) { return a.cost < c; });
    return place == list.end() || place->cost != cost ? nullptr : &*place;
  }

  // Calls visit(version, cost, score) for the allowed versions of an arc.
  template <class Visit>
  void each_version(const Item& arc, const Visit& visit) const {
    const Versions& range = versions_[part_of(n_, arc)];
    for (int64_t v = range.first; v < range.last; ++v)
      if (theta_[v] > -kInfinity) visit(v, costs_[v], theta_[v]);
  }

  void add_arc(const Item& arc) {
    const List& join = of({kJoin, arc.i, arc.j});
    List& list = of(arc);
    each_version(arc, [&](int64_t, int64_t cost, double score) {
      for (const Costed& each : join) list.push_back({each.cost + cost, each.value + score});
    });
    keep_best(list);
  }

  // Keeps the best value of each cost, by ascending cost.
  static void keep_best(List& list) {
    std::sort(list.begin(), list.end(),
              [](const Costed& a, const Costed& b) { return a.cost != b.cost ? a.cost < b.cost : a.value > b.value; });
    const auto same = [](const Costed& a, const Costed& b) { return a.cost == b.cost; };
    list.erase(std::unique(list.begin(), list.end(), same), list.end());
  }

  // Combines all pairs of costs of all splits. Uses a window over the costs if they are close together, sorting
  // otherwise.
  void fill(const Rule& rule, int i, int j) {
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min(), pairs = 0;
    const auto each_split = [&](const auto& visit) {
      for (int t = 0; t < j - i; ++t) {
        const List& left = of(rule.left_of(i, t));
        const List& right = of(rule.right_of(i, j, t));
        if (!left.empty() && !right.empty()) visit(left, right);
      }
    };
    each_split([&](const List& left, const List& right) {
      low = std::min(low, left.front().cost + right.front().cost);
      high = std::max(high, left.back().cost + right.back().cost);
      pairs += static_cast<int64_t>(left.size() * right.size());
    });
    List& list = of({rule.whole, i, j});
    if (pairs == 0) return;
    if (high - low < kCloseTogether * (pairs + 8)) {
      window_.assign(static_cast<size_t>(high - low + 1), -kInfinity);
      each_split([&](const List& left, const List& right) {
        for (const Costed& a : left) {
          for (const Costed& b : right) {
            double& best = window_[a.cost + b.cost - low];
            best = std::max(best, a.value + b.value);
          }
        }
      });
      for (size_t c = 0; c < window_.size(); ++c)
        if (window_[c] > -kInfinity) list.push_back({low + static_cast<int64_t>(c), window_[c]});
      return;
    }
    each_split([&](const List& left, const List& right) {
      for (const Costed& a : left)
        for (const Costed& b : right) list.push_back({a.cost + b.cost, a.value + b.value});
    });
    keep_best(list);
  }

  // The arcs of the best tree of this cost. Follows a split whose parts add up to this cost and this value.
  void trace(const Costed& goal, Output& y) {
    std::vector<std::pair<Item, Costed>> open{{{kRight, 0, n_}, goal}};
    while (!open.empty()) {
      auto [item, wanted] = open.back();
      open.pop_back();
      if (item.i == item.j) continue;
      if (is_arc(item.kind)) {
        const Item join{kJoin, item.i, item.j};
        int64_t chosen = -1;
        Costed below = wanted;
        each_version(item, [&](int64_t v, int64_t cost, double score) {
          const Costed* found = find(of(join), wanted.cost - cost);
          if (chosen >= 0 || !found || found->value + score != wanted.value) return;
          chosen = v;
          below = *found;
        });
        y.push_back(static_cast<int32_t>(chosen));
        item = join;
        wanted = below;
      }
      const Rule& rule = rule_of(item.kind);
      bool found = false;
      for (int t = 0; !found; ++t) {
        const Item left = rule.left_of(item.i, t), right = rule.right_of(item.i, item.j, t);
        for (const Costed& a : of(left)) {
          const Costed* b = find(of(right), wanted.cost - a.cost);
          if (!b || a.value + b->value != wanted.value) continue;
          open.emplace_back(left, a);
          open.emplace_back(right, *b);
          found = true;
          break;
        }
      }
    }
  }

  static constexpr int64_t kCloseTogether = 4;  // a cell of the window costs less than sorting a pair

  int n_;
  const std::vector<Versions>& versions_;
  const double* theta_;
  const std::vector<int64_t>& costs_;
  Shape shape_;
  std::vector<List> lists_;  // by kind and cell
  std::vector<double> window_;
};

}  // namespace margrave::eisner
