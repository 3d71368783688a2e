// The k best derivations of a node of an acyclic hypergraph (Huang and Chiang 2005, Algorithm 3): the next best
// derivation of a node is sought only when somebody asks for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace margrave {

// A Graph may compute its edges on demand. It has
//
//   int64_t nodes()
//   double best(v), int64_t best_edge(v)     of the best derivation of a node; -inf: there is none
//   void each_edge(v, visit)                 calls visit(e) for every edge with head v; no two edges share a number
//   int64_t tail_count(e), tail(e, j)
//   double score(e)                          of the edge itself, without its tails
template <class Graph>
class LazyKbest {
 public:
  explicit LazyKbest(const Graph& graph) : graph_(graph), place_(at(graph.nodes()), -1) {}

  // Seeks the derivation of this rank, from 0; false if there are fewer. The recursion is an explicit stack, since a
  // chain of a million nodes must not overflow the machine's.
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
      if (!node.expanded && !expand(node, open)) continue;  // the tails' next ones come first
      if (node.candidates.empty()) {
        node.exhausted = true;
        continue;
      }
      std::pop_heap(node.candidates.begin(), node.candidates.end());
      node.found.push_back(std::move(node.candidates.back()));
      node.candidates.pop_back();
      node.expanded = false;
    }
    return static_cast<int64_t>(of(v).found.size()) > rank;
  }

  // Of a derivation that request() has found: its value, and visit(e) for all its edges from the top down.
  double value(int64_t v, int64_t rank) { return of(v).found[at(rank)].value; }
  template <class Visit>
  void each_edge(int64_t v, int64_t rank, const Visit& visit) {
    std::vector<std::pair<int64_t, int64_t>> open{{v, rank}};
    while (!open.empty()) {
      const auto [u, r] = open.back();
      open.pop_back();
      const Derivation& d = of(u).found[at(r)];
      visit(d.edge);
      for (size_t j = 0; j < d.ranks.size(); ++j)
        open.emplace_back(graph_.tail(d.edge, static_cast<int64_t>(j)), d.ranks[j]);
    }
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  struct Derivation {
    double value;
    int64_t edge;
    std::vector<int32_t> ranks;  // which of each tail's derivations
    bool operator<(const Derivation& other) const { return value < other.value; }
  };

  struct Node {
    std::vector<Derivation> found;       // best first
    std::vector<Derivation> candidates;  // a heap
    std::set<std::pair<int64_t, std::vector<int32_t>>> seen;
    bool begun = false;
    bool expanded = false;  // the successors of found.back() are among the candidates
    bool exhausted = false;
  };

  static size_t at(int64_t k) { return static_cast<size_t>(k); }

  // A node as far as it has been asked for: at first with its best derivation.
  Node& of(int64_t v) {
    int64_t& place = place_[at(v)];
    if (place < 0) {
      place = static_cast<int64_t>(nodes_.size());
      nodes_.emplace_back();
      if (graph_.best(v) > kNone) {
        const int64_t e = graph_.best_edge(v);
        nodes_.back().found.push_back({graph_.best(v), e, std::vector<int32_t>(at(graph_.tail_count(e)), 0)});
      }
    }
    return nodes_[at(place)];
  }

  void push(Node& node, int64_t e, std::vector<int32_t> ranks) {
    double value = graph_.score(e);
    for (size_t j = 0; j < ranks.size(); ++j)
      value += of(graph_.tail(e, static_cast<int64_t>(j))).found[at(ranks[j])].value;
    if (value == kNone || !node.seen.emplace(e, ranks).second) return;
    node.candidates.push_back({value, e, std::move(ranks)});
    std::push_heap(node.candidates.begin(), node.candidates.end());
  }

  // The other edges' best derivations become candidates when a second-best is first asked for.
  void begin(int64_t v) {
    Node& node = of(v);
    node.begun = true;
    const Derivation& first = node.found.front();
    node.seen.emplace(first.edge, first.ranks);
    graph_.each_edge(v, [&](int64_t e) {
      bool alive = true;
      for (int64_t j = 0; j < graph_.tail_count(e); ++j) alive = alive && graph_.best(graph_.tail(e, j)) > kNone;
      if (alive) push(node, e, std::vector<int32_t>(at(graph_.tail_count(e)), 0));
    });
  }

  // Adds the successors of the latest derivation, one tail's rank raised at a time; false if a tail must be asked
  // first.
  bool expand(Node& node, std::vector<std::pair<int64_t, int64_t>>& open) {
    const Derivation last = node.found.back();
    const auto tails = static_cast<int64_t>(last.ranks.size());
    for (int64_t j = 0; j < tails; ++j) {
      const int64_t u = graph_.tail(last.edge, j);
      const int64_t wanted = last.ranks[at(j)] + 1;
      if (!of(u).exhausted && static_cast<int64_t>(of(u).found.size()) <= wanted) {
        open.emplace_back(u, wanted);
        return false;
      }
    }
    for (int64_t j = 0; j < tails; ++j) {
      std::vector<int32_t> ranks = last.ranks;
      if (static_cast<int64_t>(of(graph_.tail(last.edge, j)).found.size()) <= ++ranks[at(j)]) continue;
      push(node, last.edge, std::move(ranks));
    }
    node.expanded = true;
    return true;
  }

  const Graph& graph_;
  std::vector<int64_t> place_;  // by node: where it is in nodes_, or -1
  std::deque<Node> nodes_;      // references to nodes stay valid while others are added
};

}  // namespace margrave
