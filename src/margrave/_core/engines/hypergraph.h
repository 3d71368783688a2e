// Acyclic weighted hypergraphs with scores per part: inside-outside, Viterbi, Viterbi by cost, lazy k-best, sampling.
//
// A derivation of the last node is an output; the parts of its edges are the output's parts. Everything is in log space
// and exact with -inf. Structures without specialized inference use this engine. It is also the reference for the
// others.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engines/lazy_kbest.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"

namespace margrave {

// log(exp(a) + exp(b)), exact with -inf.
inline double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  if (a == -kInfinity) return a;
  return a + std::log1p(std::exp(b - a));
}

// Viterbi by cost needs integer costs.
inline std::vector<int64_t> whole_costs(const double* delta, int64_t n) {
  std::vector<int64_t> costs(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    if (!(std::fabs(delta[k]) <= 1e6) || delta[k] != std::floor(delta[k]))
      throw InputError("argmax_by_cost needs costs that are whole numbers up to 1000000, and part " +
                       std::to_string(k) + " costs " + std::to_string(delta[k]) + ".");
    costs[k] = static_cast<int64_t>(delta[k]);
  }
  return costs;
}

class Hypergraph {
 public:
  // How outputs list their parts: sorted, or depth first, each edge followed by its tails, the last tail first. Depth
  // first identifies the derivation even if it contains several edges of the same node.
  enum class PartOrder { kSorted, kDepthFirst };

  // Edges are sorted by head, and tails come before their head. The begin arrays mark where each list starts.
  Hypergraph(int64_t nodes, std::vector<int32_t> heads, std::vector<int64_t> tail_begin, std::vector<int32_t> tails,
             std::vector<int64_t> part_begin, std::vector<int32_t> parts, PartOrder order = PartOrder::kSorted)
      : nodes_(nodes),
        order_(order),
        heads_(std::move(heads)),
        tail_begin_(std::move(tail_begin)),
        tails_(std::move(tails)),
        part_begin_(std::move(part_begin)),
        parts_(std::move(parts)) {
    check();
  }

  int64_t nodes() const { return nodes_; }
  int64_t edges() const { return static_cast<int64_t>(heads_.size()); }
  int64_t parts() const { return part_count_; }  // one more than the largest part id

  // The largest number of parts of an output, with repeats; -inf if there is no output.
  double longest() const {
    std::vector<double> best;
    std::vector<int64_t> choice;
    viterbi(std::vector<double>(part_count_, 1.0).data(), best, choice);
    return best.back();
  }

  double argmax(const double* theta, Output& y) const {
    std::vector<double> best;
    std::vector<int64_t> choice;
    viterbi(theta, best, choice);
    y.clear();
    if (best.back() == -kInfinity) return -kInfinity;
    derive(y, [&](int64_t v) { return choice[v]; });
    return best.back();
  }

  double logsum(const double* theta, int64_t n, double* mu) const {
    const std::vector<double> in = inside(theta);
    std::fill(mu, mu + n, 0.0);
    const double log_z = in.back();
    if (log_z == -kInfinity) return log_z;
    std::vector<double> out(nodes_, -kInfinity);
    out.back() = 0;
    for (int64_t e = edges() - 1; e >= 0; --e) {
      const double above = out[heads_[e]];
      if (above == -kInfinity) continue;
      const double weight = edge_score(e, theta);
      const double total = edge_total(e, weight, in);
      if (total == -kInfinity) continue;
      const double posterior = std::exp(above + total - log_z);
      for (int64_t k = part_begin_[e]; k < part_begin_[e + 1]; ++k) mu[parts_[k]] += posterior;
      // The outside score of a tail combines everything in this edge except the tail. Subtracting the tail would give
      // -inf - -inf, which is NaN.
      for (int64_t k = tail_begin_[e]; k < tail_begin_[e + 1]; ++k) {
        double rest = above + weight;
        for (int64_t j = tail_begin_[e]; j < tail_begin_[e + 1]; ++j)
          if (j != k) rest += in[tails_[j]];
        double& score = out[tails_[k]];
        score = log_add(score, rest);
      }
    }
    return log_z;
  }

  // Samples from the root down, each node's edge in proportion to its share of the inside score.
  bool sample(const double* theta, Random& random, Output& y) const {
    const std::vector<double> in = inside(theta);
    y.clear();
    if (in.back() == -kInfinity) return false;
    std::vector<double> weights;
    derive(y, [&](int64_t v) {
      const int64_t first = edge_begin_[v];
      const int64_t count = edge_begin_[v + 1] - first;
      weights.resize(count);
      for (int64_t k = 0; k < count; ++k)
        weights[k] = std::exp(edge_total(first + k, edge_score(first + k, theta), in) - in[v]);
      return first + random.choose(weights.data(), count);
    });
    return true;
  }

  // The best derivation at each total cost. best[v] is a convolution over the tails. Backtracking repeats the
  // convolution of the winning edge instead of storing every split.
  void argmax_by_cost(const double* theta, const double* delta, int64_t n, std::vector<CostedOutput>& ys) const {
    const std::vector<int64_t> costs = whole_costs(delta, n);
    std::vector<ByCost> best(nodes_);
    for (int64_t v = 0; v < nodes_; ++v)
      for (int64_t e = edge_begin_[v]; e < edge_begin_[v + 1]; ++e) {
        const std::vector<ByCost> tables = convolutions(e, theta, costs, best);
        for (const auto& [cost, value] : tables.back()) raise(best[v], cost, value);
      }
    ys.clear();
    for (const auto& [cost, value] : best.back()) {
      CostedOutput found{cost, value, {}};
      std::vector<std::pair<int64_t, int64_t>> open{{nodes_ - 1, cost}};
      while (!open.empty()) {
        const auto [v, left] = open.back();
        open.pop_back();
        backtrack(v, left, theta, costs, best, found.y, open);
      }
      put_in_order(found.y);
      ys.push_back(std::move(found));
    }
  }

  void kbest(const double* theta, int64_t k, std::vector<ScoredOutput>& ys) const {
    Ranked ranked{*this, theta, {}, {}};
    viterbi(theta, ranked.values, ranked.choice);
    kbest_outputs(ranked, nodes_ - 1, k, [&](int64_t e, Output& y) { append_parts(e, y); }, ys);
    for (ScoredOutput& each : ys) put_in_order(each.y);
  }

 private:
  // The graph under given scores, for LazyKbest.
  struct Ranked {
    const Hypergraph& graph;
    const double* theta;
    std::vector<double> values;  // by node: value of its best derivation
    std::vector<int64_t> choice;

    int64_t nodes() const { return graph.nodes_; }
    double best(int64_t v) const { return values[v]; }
    int64_t best_edge(int64_t v) const { return choice[v]; }
    template <class Visit>
    void each_edge(int64_t v, const Visit& visit) const {
      for (int64_t e = graph.edge_begin_[v]; e < graph.edge_begin_[v + 1]; ++e) visit(e);
    }
    int64_t tail_count(int64_t e) const { return graph.tail_count(e); }
    int64_t tail(int64_t e, int64_t j) const { return graph.tail(e, j); }
    double score(int64_t e) const { return graph.edge_score(e, theta); }
  };

  int64_t tail_count(int64_t e) const { return tail_begin_[e + 1] - tail_begin_[e]; }
  int64_t tail(int64_t e, int64_t j) const { return tails_[tail_begin_[e] + j]; }

  void append_parts(int64_t e, Output& y) const {
    y.insert(y.end(), parts_.begin() + part_begin_[e], parts_.begin() + part_begin_[e + 1]);
  }

  // y is listed depth first.
  void put_in_order(Output& y) const {
    if (order_ == PartOrder::kSorted) std::sort(y.begin(), y.end());
  }

  double edge_score(int64_t e, const double* theta) const {
    double score = 0;
    for (int64_t k = part_begin_[e]; k < part_begin_[e + 1]; ++k) score += theta[parts_[k]];
    return score;
  }

  double edge_total(int64_t e, double score, const std::vector<double>& value) const {
    for (int64_t k = tail_begin_[e]; k < tail_begin_[e + 1]; ++k) score += value[tails_[k]];
    return score;
  }

  std::vector<double> inside(const double* theta) const {
    std::vector<double> in(nodes_, -kInfinity);
    std::vector<double> totals;
    for (int64_t v = 0; v < nodes_; ++v) {
      totals.clear();
      for (int64_t e = edge_begin_[v]; e < edge_begin_[v + 1]; ++e)
        totals.push_back(edge_total(e, edge_score(e, theta), in));
      const double top = totals.empty() ? -kInfinity : *std::max_element(totals.begin(), totals.end());
      if (top == -kInfinity) continue;
      double sum = 0;
      for (const double total : totals) sum += std::exp(total - top);
      in[v] = top + std::log(sum);
    }
    return in;
  }

  void viterbi(const double* theta, std::vector<double>& best, std::vector<int64_t>& choice) const {
    best.assign(nodes_, -kInfinity);
    choice.assign(nodes_, -1);
    for (int64_t e = 0; e < edges(); ++e) {
      const double total = edge_total(e, edge_score(e, theta), best);
      const size_t v = heads_[e];
      if (total > best[v]) {
        best[v] = total;
        choice[v] = e;
      }
    }
  }

  template <typename Choose>
  void derive(Output& y, const Choose& choose) const {
    std::vector<int64_t> open{nodes_ - 1};
    while (!open.empty()) {
      const int64_t v = open.back();
      open.pop_back();
      const int64_t e = choose(v);
      append_parts(e, y);
      for (int64_t j = 0; j < tail_count(e); ++j) open.push_back(tail(e, j));
    }
    put_in_order(y);
  }

  using ByCost = std::map<int64_t, double>;  // the best score at each attainable cost

  static void raise(ByCost& table, int64_t cost, double value) {
    if (!(value > -kInfinity)) return;
    const auto [place, added] = table.emplace(cost, value);
    if (!added) place->second = std::max(place->second, value);
  }

  // tables[j]: the best scores of the edge's own parts and its first j tails.
  std::vector<ByCost> convolutions(int64_t e, const double* theta, const std::vector<int64_t>& costs,
                                   const std::vector<ByCost>& best) const {
    int64_t own = 0;
    for (int64_t k = part_begin_[e]; k < part_begin_[e + 1]; ++k) own += costs[parts_[k]];
    std::vector<ByCost> tables(1);
    raise(tables[0], own, edge_score(e, theta));
    for (int64_t j = 0; j < tail_count(e); ++j) {
      ByCost sum;
      for (const auto& [a, left] : tables.back())
        for (const auto& [b, right] : best[tail(e, j)]) raise(sum, a + b, left + right);
      tables.push_back(std::move(sum));
    }
    return tables;
  }

  void backtrack(int64_t v, int64_t cost, const double* theta, const std::vector<int64_t>& costs,
                 const std::vector<ByCost>& best, Output& y, std::vector<std::pair<int64_t, int64_t>>& open) const {
    const double value = best[v].at(cost);
    for (int64_t e = edge_begin_[v]; e < edge_begin_[v + 1]; ++e) {
      const std::vector<ByCost> tables = convolutions(e, theta, costs, best);
      const auto found = tables.back().find(cost);
      if (found == tables.back().end() || found->second != value) continue;
      append_parts(e, y);
      const size_t waiting = open.size();
      int64_t left = cost;
      for (int64_t j = tail_count(e) - 1; j >= 0; --j)
        for (const auto& [b, right] : best[tail(e, j)]) {
          const auto before = tables[j].find(left - b);
          if (before == tables[j].end() || before->second + right != tables[j + 1].at(left)) continue;
          open.emplace_back(tail(e, j), b);
          left -= b;
          break;
        }
      std::reverse(open.begin() + static_cast<int64_t>(waiting), open.end());  // the last tail comes next
      return;
    }
  }

  void check() {
    const int64_t n = edges();
    const auto ragged = [n](const std::vector<int64_t>& begin, size_t total) {
      return static_cast<int64_t>(begin.size()) == n + 1 && begin.front() == 0 &&
             begin.back() == static_cast<int64_t>(total) && std::is_sorted(begin.begin(), begin.end());
    };
    checked_count(nodes_, "nodes of a hypergraph", 1);
    if (!ragged(tail_begin_, tails_.size()) || !ragged(part_begin_, parts_.size()))
      throw InputError("a hypergraph's ragged lists must have one more bound than edges, from 0 to the list's length.");
    edge_begin_.assign(nodes_ + 1, 0);
    for (int64_t e = 0; e < n; ++e) {
      const int32_t head = heads_[e];
      if (head < 0 || head >= nodes_ || (e > 0 && head < heads_[e - 1]))
        throw InputError("edge " + std::to_string(e) + ": heads must be nodes, in ascending order.");
      for (int64_t j = 0; j < tail_count(e); ++j)
        if (tail(e, j) < 0 || tail(e, j) >= head)
          throw InputError("edge " + std::to_string(e) + ": a tail must come before its head.");
      ++edge_begin_[head + 1];
    }
    std::partial_sum(edge_begin_.begin(), edge_begin_.end(), edge_begin_.begin());
    for (const int32_t part : parts_) {
      if (part < 0) throw InputError("a part id must not be negative.");
      part_count_ = std::max<int64_t>(part_count_, part + 1);
    }
  }

  int64_t nodes_;
  PartOrder order_;
  int64_t part_count_ = 0;
  std::vector<int32_t> heads_;
  std::vector<int64_t> tail_begin_;
  std::vector<int32_t> tails_;
  std::vector<int64_t> part_begin_;
  std::vector<int32_t> parts_;
  std::vector<int64_t> edge_begin_;  // by head
};

}  // namespace margrave
