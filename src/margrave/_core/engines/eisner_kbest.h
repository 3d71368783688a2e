// The k best projective trees, found lazily over the items of eisner.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/eisner.h"
#include "engines/lazy_kbest.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"

namespace margrave::eisner {

// The items as a hypergraph for LazyKbest. Split t of node v is edge v * positions + t.
struct ItemGraph {
  Chart<double> chart;

  int64_t nodes() const { return kKinds * chart.shape.cells(); }
  int64_t node(const Item& item) const { return item.kind * chart.shape.cells() + chart.shape.cell(item.i, item.j); }
  Item item(int64_t v) const {
    const int64_t cell = v % chart.shape.cells();
    const auto i = static_cast<int>(cell % chart.shape.stride);
    return {static_cast<Kind>(v / chart.shape.cells()), i, i + static_cast<int>(cell / chart.shape.stride)};
  }
  Item head(int64_t e) const { return item(e / chart.shape.size); }

  double best(int64_t v) const { return chart.tables[v]; }
  int64_t best_edge(int64_t v) const {
    const Item top = item(v);
    const bool splits = top.i < top.j && !is_arc(top.kind);
    return v * chart.shape.size + (splits ? best_split(chart, rule_of(top.kind), top) : 0);
  }
  template <class Visit>
  void each_edge(int64_t v, const Visit& visit) const {
    const Item top = item(v);
    const int splits = top.i == top.j || is_arc(top.kind) ? 1 : top.j - top.i;
    for (int t = 0; t < splits; ++t) visit(v * chart.shape.size + t);
  }
  int64_t tail_count(int64_t e) const {
    const Item top = head(e);
    return top.i == top.j ? 0 : is_arc(top.kind) ? 1 : 2;
  }
  int64_t tail(int64_t e, int64_t j) const {
    const Item top = head(e);
    if (is_arc(top.kind)) return node({kJoin, top.i, top.j});
    const auto t = static_cast<int>(e % chart.shape.size);
    const Rule& rule = rule_of(top.kind);
    return node(j == 0 ? rule.left_of(top.i, t) : rule.right_of(top.i, top.j, t));
  }
  double score(int64_t e) const {
    const Item top = head(e);
    return is_arc(top.kind) ? chart.at({weight_of(top.kind), top.i, top.j}) : 0.0;
  }
};

// The k best distinct trees as lists of parts, best first; fewer if fewer exist.
inline void kbest(int n, const double* theta, bool single_root, int64_t k, Scratch& scratch,
                  std::vector<ScoredOutput>& ys) {
  const ItemGraph graph{best_items(n, theta, single_root, scratch)};
  const int64_t goal = graph.node({kRight, 0, n});
  const auto add = [&](int64_t e, Output& y) {
    const Item top = graph.head(e);
    if (is_arc(top.kind)) y.push_back(static_cast<int32_t>(part_of(n, top)));
  };
  kbest_outputs(graph, goal, k, add, ys);
  for (ScoredOutput& each : ys) std::sort(each.y.begin(), each.y.end());
}

}  // namespace margrave::eisner
