// Spanning forests of a graph that contain each of its edges at least once, for reweighted bounds (Wainwright, Jaakkola
// and Willsky 2005). The shares of the forests that contain each edge are a point of the forest polytope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace margrave {

struct Forest {
  struct Step {
    int32_t edge;
    int32_t child, parent;
    bool child_first;  // the child is the first end of the edge
  };
  std::vector<Step> steps;     // parents before children
  std::vector<int32_t> roots;  // one per tree, including vertices without edges
};

class SpanningForests {
 public:
  using Edges = std::vector<std::pair<int32_t, int32_t>>;

  SpanningForests() = default;
  // Makes at least one forest. Least recently used edges come first, so all edges are used about equally often.
  SpanningForests(int64_t vertices, const Edges& edges) : share_(edges.size(), 0.0) {
    std::vector<int32_t> order(edges.size()), group(static_cast<size_t>(vertices));
    std::iota(order.begin(), order.end(), 0);
    size_t covered = 0;
    do {
      std::iota(group.begin(), group.end(), 0);
      const auto root = [&](int32_t v) {
        while (group[v] != v) v = group[v] = group[group[v]];
        return v;
      };
      std::vector<int32_t> used, left;
      for (const int32_t e : order) {
        const auto [first, second] = edges[e];
        const int32_t a = root(first), b = root(second);
        (a == b ? left : used).push_back(e);
        if (a == b) continue;
        group[a] = b;
        double& times = share_[e];
        if (times == 0) ++covered;
        times += 1;
      }
      forests_.push_back(directed(vertices, edges, used));
      order = std::move(left);
      order.insert(order.end(), used.begin(), used.end());
    } while (covered < edges.size());
    for (double& times : share_) times /= static_cast<double>(forests_.size());
  }

  const std::vector<Forest>& forests() const { return forests_; }
  // The share of the forests that contain an edge.
  double share(int64_t edge) const { return share_[edge]; }

 private:
  static Forest directed(int64_t vertices, const Edges& edges, const std::vector<int32_t>& used) {
    std::vector<std::vector<int32_t>> around(static_cast<size_t>(vertices));
    for (const int32_t e : used) {
      around[edges[e].first].push_back(e);
      around[edges[e].second].push_back(e);
    }
    Forest forest;
    std::vector<char> seen(static_cast<size_t>(vertices), 0);
    for (int32_t start = 0; start < vertices; ++start) {
      if (seen[start]) continue;
      forest.roots.push_back(start);
      seen[start] = 1;
      std::vector<int32_t> path{start};
      while (!path.empty()) {
        const int32_t v = path.back();
        path.pop_back();
        for (const int32_t e : around[v]) {
          const auto [first, second] = edges[e];
          const int32_t other = first == v ? second : first;
          if (seen[other]) continue;
          seen[other] = 1;
          forest.steps.push_back({e, other, v, first == other});
          path.push_back(other);
        }
      }
    }
    return forest;
  }

  std::vector<Forest> forests_;
  std::vector<double> share_;
};

}  // namespace margrave
