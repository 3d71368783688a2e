// The k best derivations of a node of an acyclic hypergraph (Huang and Chiang 2005, Algorithm 3). The next best
// derivation of a node is computed only on demand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/outputs.h"

namespace margrave {

// A Graph may compute its edges on demand. It has
//
//   int64_t nodes()
//   double best(v), int64_t best_edge(v)     of the best derivation of a node; -inf: there is none
//   void each_edge(v, visit)                 calls visit(e) for every edge with head v; no two edges share a number
//   int64_t tail_count(e), tail(e, j)
//   double score(e)                          of the edge itself, without its tails
//
// A Graph may also have
//
//   int64_t string(e, keys)                  a key for the string of a derivation: the edge with the keys of its tails
//
// Then only distinct strings are returned: of the derivations of a node with the same string, only the best is kept.
// This loses nothing, since the others could only occur in worse derivations of the same strings.
template <class Graph>
class LazyKbest {
 public:
  explicit LazyKbest(const Graph& graph) : graph_(graph), place_(graph.nodes(), -1) {}

  // Finds the derivation of this rank, from 0; false if there are fewer. Uses an explicit stack: recursion over a chain
  // of a million nodes would overflow the call stack.
  bool request(int64_t v, int64_t rank) {
    std::vector<std::pair<int64_t, int64_t>> open{{v, rank}};
    while (!open.empty()) {
      const auto [u, r] = open.back();
      Node& node = of(u);
      if (node.exhausted || node.found.empty() || static_cast<int64_t>(node.found.size()) > r) {
        open.pop_back();
        continue;
      }
      if (!node.begun) begin(u);
      if (!node.expanded && !expand(node, open)) continue;  // the next derivations of the tails come first
      if (node.candidates.empty()) {
        node.exhausted = true;
        continue;
      }
      std::pop_heap(node.candidates.begin(), node.candidates.end());
      node.last = std::move(node.candidates.back());
      node.candidates.pop_back();
      node.expanded = false;
      keep(node);
    }
    return static_cast<int64_t>(of(v).found.size()) > rank;
  }

  // For a derivation found by request(): its value, and visit(e) for all its edges depth first, the last tail first.
  double value(int64_t v, int64_t rank) { return of(v).found[rank].value; }
  int64_t key(int64_t v, int64_t rank) { return of(v).keys[rank]; }  // only for graphs with strings
  template <class Visit>
  void each_edge(int64_t v, int64_t rank, const Visit& visit) {
    std::vector<std::pair<int64_t, int64_t>> open{{v, rank}};
    while (!open.empty()) {
      const auto [u, r] = open.back();
      open.pop_back();
      const Derivation& d = of(u).found[r];
      visit(d.edge);
      for (size_t j = 0; j < d.ranks.size(); ++j)
        open.emplace_back(graph_.tail(d.edge, static_cast<int64_t>(j)), d.ranks[j]);
    }
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  static constexpr bool kSpells =
      requires(const Graph& graph, const std::vector<int64_t>& keys) { graph.string(int64_t{}, keys); };

  struct Derivation {
    double value = 0;
    int64_t edge = -1;
    std::vector<int32_t> ranks;  // rank of each tail's derivation
    bool operator<(const Derivation& other) const { return value < other.value; }
  };

  struct Node {
    std::vector<Derivation> found;       // best first
    std::vector<int64_t> keys;           // of their strings
    Derivation last;                     // its successors come next
    std::vector<Derivation> candidates;  // a heap
    std::set<std::pair<int64_t, std::vector<int32_t>>> seen;
    std::set<int64_t> spelled;
    bool begun = false;
    bool expanded = false;  // the successors of `last` are among the candidates
    bool exhausted = false;
  };

  // A node, created with its best derivation. The key of its string requires the nodes below, which are created first.
  Node& of(int64_t v) {
    if (place_[v] < 0) {
      std::vector<int64_t> open{v};
      while (!open.empty()) {
        const int64_t u = open.back();
        const size_t waiting = open.size();
        if constexpr (kSpells)
          if (place_[u] < 0 && graph_.best(u) > kNone) {
            const int64_t e = graph_.best_edge(u);
            for (int64_t j = 0; j < graph_.tail_count(e); ++j)
              if (place_[graph_.tail(e, j)] < 0) open.push_back(graph_.tail(e, j));
          }
        if (open.size() > waiting) continue;
        open.pop_back();
        if (place_[u] < 0) make(u);
      }
    }
    return nodes_[place_[v]];
  }

  void make(int64_t v) {
    place_[v] = static_cast<int64_t>(nodes_.size());
    Node& node = nodes_.emplace_back();
    if (graph_.best(v) == kNone) return;
    const int64_t e = graph_.best_edge(v);
    node.last = {graph_.best(v), e, std::vector<int32_t>(graph_.tail_count(e), 0)};
    keep(node);
  }

  // Adds the latest derivation to those found, unless one has the same string.
  void keep(Node& node) {
    if constexpr (kSpells) {
      std::vector<int64_t> keys;
      for (size_t j = 0; j < node.last.ranks.size(); ++j)
        keys.push_back(of(graph_.tail(node.last.edge, static_cast<int64_t>(j))).keys[node.last.ranks[j]]);
      const int64_t key = graph_.string(node.last.edge, keys);
      if (!node.spelled.insert(key).second) return;
      node.keys.push_back(key);
    }
    node.found.push_back(node.last);
  }

  void push(Node& node, int64_t e, std::vector<int32_t> ranks) {
    double value = graph_.score(e);
    for (size_t j = 0; j < ranks.size(); ++j)
      value += of(graph_.tail(e, static_cast<int64_t>(j))).found[ranks[j]].value;
    if (value == kNone || !node.seen.emplace(e, ranks).second) return;
    node.candidates.push_back({value, e, std::move(ranks)});
    std::push_heap(node.candidates.begin(), node.candidates.end());
  }

  // The best derivations of the other edges become candidates when a second-best is first requested.
  void begin(int64_t v) {
    Node& node = of(v);
    node.begun = true;
    node.seen.emplace(node.last.edge, node.last.ranks);
    graph_.each_edge(v, [&](int64_t e) {
      bool alive = true;
      for (int64_t j = 0; j < graph_.tail_count(e); ++j) alive = alive && graph_.best(graph_.tail(e, j)) > kNone;
      if (alive) push(node, e, std::vector<int32_t>(graph_.tail_count(e), 0));
    });
  }

  // Adds the successors of the latest derivation, each with the rank of one tail raised. False if a tail must be
  // expanded first.
  bool expand(Node& node, std::vector<std::pair<int64_t, int64_t>>& open) {
    const Derivation last = node.last;
    const auto tails = static_cast<int64_t>(last.ranks.size());
    for (int64_t j = 0; j < tails; ++j) {
      const int64_t u = graph_.tail(last.edge, j);
      const int64_t wanted = last.ranks[j] + 1;
      if (!of(u).exhausted && static_cast<int64_t>(of(u).found.size()) <= wanted) {
        open.emplace_back(u, wanted);
        return false;
      }
    }
    for (int64_t j = 0; j < tails; ++j) {
      std::vector<int32_t> ranks = last.ranks;
      if (static_cast<int64_t>(of(graph_.tail(last.edge, j)).found.size()) <= ++ranks[j]) continue;
      push(node, last.edge, std::move(ranks));
    }
    node.expanded = true;
    return true;
  }

  const Graph& graph_;
  std::vector<int64_t> place_;  // by node: index in nodes_, or -1
  std::deque<Node> nodes_;      // references to nodes stay valid while others are added
};

// The k best derivations of a node as outputs, the best one first. add(e, y) appends the parts of an edge.
template <class Graph, class Add>
void kbest_outputs(const Graph& graph, int64_t root, int64_t k, const Add& add, std::vector<ScoredOutput>& ys) {
  ys.clear();
  if (graph.best(root) == -kInfinity) return;
  LazyKbest<Graph> lazy(graph);
  for (int64_t rank = 0; rank < k && lazy.request(root, rank); ++rank) {
    ys.push_back({lazy.value(root, rank), {}});
    lazy.each_edge(root, rank, [&](int64_t e) { add(e, ys.back().y); });
  }
}

}  // namespace margrave
