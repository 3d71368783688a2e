// Sets of nodes of a forest that contain, with each node, its parent: hierarchical multi-label classification. Parts
// are the nodes, and the empty set is an output.
//
// Given its parent, a node is chosen independently of its siblings. With s_v = theta_v + sum_c best_c over the children
// c, best_v = max(0, s_v), or log(1 + exp(s_v)) for the log partition function. This is linear in the number of nodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"

namespace margrave {

class NodeSetStructure final : public Structure {
 public:
  // parents: the parent of each node, or -1. gold: the nodes of each example from begin[i] on, without repeats; unknown
  // if begin is empty. counted: whether every missing and every superfluous node costs 1; otherwise the cost is 0.
  NodeSetStructure(std::vector<int32_t> parents, int64_t size, std::vector<int64_t> begin, std::vector<int32_t> gold,
                   bool counted)
      : parents_(std::move(parents)), size_(size), begin_(std::move(begin)), gold_(std::move(gold)), counted_(counted) {
    if (size_ < 0) throw InputError("the number of examples must not be negative.");
    sort_nodes();
    check_gold();
    make_graph();
  }

  int64_t size() const override { return size_; }
  int64_t parts(int64_t) const override { return nodes(); }
  int64_t columns() const override { return nodes(); }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  bool has_gold() const override { return !begin_.empty(); }
  void gold(int64_t i, int64_t, Output& y) const override {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
    y.assign(gold_.begin() + begin_[i], gold_.begin() + begin_[i + 1]);
  }
  // The empty set misses all gold nodes; each one found subtracts 1.
  double cost(int64_t i, double* delta) const override {
    std::fill(delta, delta + nodes(), counted_ ? 1.0 : 0.0);
    if (!counted_) return 0.0;
    Output y;
    gold(i, 0, y);
    for (const int32_t v : y) delta[v] = -1.0;
    return static_cast<double>(y.size());
  }

  double argmax(int64_t, const double* theta, Output& y, Scratch& scratch) const override {
    double* s = scratch.take(nodes());
    const double value = upwards(theta, s, [](double gain) { return std::max(gain, 0.0); });
    choose(y, [s](int32_t v) { return s[v] > 0; });
    return value;
  }
  double logsum(int64_t, const double* theta, double* mu, Scratch& scratch) const override {
    double* s = scratch.take(nodes());
    const double value = upwards(theta, s, softplus);
    for (const int32_t v : downwards_) mu[v] = (parents_[v] < 0 ? 1.0 : mu[parents_[v]]) * sigmoid(s[v]);
    return value;
  }
  void sample(int64_t, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    double* s = scratch.take(nodes());
    upwards(theta, s, softplus);
    choose(y, [s, &random](int32_t v) { return random.uniform() < sigmoid(s[v]); });
  }
  void argmax_by_cost(int64_t, const double* theta, const double* delta, const Needless&, std::vector<CostedOutput>& ys,
                      Scratch&) const override {
    graph_->argmax_by_cost(theta, delta, nodes(), ys);
  }
  void kbest(int64_t, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    graph_->kbest(theta, k, ys);
  }

 private:
  int64_t nodes() const { return static_cast<int64_t>(parents_.size()); }
  static double softplus(double s) { return std::max(s, 0.0) + std::log1p(std::exp(-std::fabs(s))); }
  static double sigmoid(double s) {
    const double e = std::exp(-std::fabs(s));
    return (s > 0 ? 1.0 : e) / (1.0 + e);
  }

  // s_v for every node, from the leaves up. Returns the sum of worth(s_v) over the roots.
  template <typename Worth>
  double upwards(const double* theta, double* s, const Worth& worth) const {
    std::copy(theta, theta + nodes(), s);
    double total = 0;
    for (auto v = downwards_.rbegin(); v != downwards_.rend(); ++v) {
      const int32_t parent = parents_[*v];
      (parent < 0 ? total : s[parent]) += worth(s[*v]);
    }
    return total;
  }

  template <typename Chosen>
  void choose(Output& y, const Chosen& chosen) const {
    std::vector<uint8_t> in(nodes(), 0);
    y.clear();
    for (const int32_t v : downwards_) {
      if (parents_[v] >= 0 && !in[parents_[v]]) continue;
      if (!chosen(v)) continue;
      in[v] = 1;
      y.push_back(v);
    }
    std::sort(y.begin(), y.end());
  }

  // Sorts parents before children.
  void sort_nodes() {
    std::vector<int32_t> way;
    std::vector<uint8_t> placed(nodes(), 0);
    for (int32_t node = 0; node < nodes(); ++node) {
      way.clear();
      for (int32_t v = node; v >= 0 && !placed[v]; v = parents_[v]) {
        if (parents_[v] < -1 || parents_[v] >= nodes())
          throw InputError("node " + std::to_string(v) + ": its parent is out of range.");
        if (static_cast<int64_t>(way.size()) == nodes())
          throw InputError("node " + std::to_string(v) + " is its own ancestor.");
        way.push_back(v);
      }
      for (auto v = way.rbegin(); v != way.rend(); ++v) {
        placed[*v] = 1;
        downwards_.push_back(*v);
      }
    }
  }

  void check_gold() const {
    if (begin_.empty()) return;
    if (static_cast<int64_t>(begin_.size()) != size_ + 1 || begin_.front() != 0 ||
        begin_.back() != static_cast<int64_t>(gold_.size()) || !std::is_sorted(begin_.begin(), begin_.end()))
      throw InputError("the bounds of gold sets must ascend from 0 to the number of their nodes.");
    std::vector<int64_t> owner(nodes(), -1);
    for (int64_t i = 0; i < size_; ++i) {
      for (int64_t k = begin_[i]; k < begin_[i + 1]; ++k) {
        const int32_t v = gold_[k];
        if (v < 0 || v >= nodes()) throw InputError("example " + std::to_string(i) + ": a node is out of range.");
        if (owner[v] == i) throw InputError("example " + std::to_string(i) + ": a node occurs twice.");
        owner[v] = i;
      }
      for (int64_t k = begin_[i]; k < begin_[i + 1]; ++k) {
        const int32_t parent = parents_[gold_[k]];
        if (parent >= 0 && owner[parent] != i)
          throw InputError("example " + std::to_string(i) + ": a node occurs without its parent.");
      }
    }
  }

  // For k-best and for costs: each node is an item, which is left out or has its part and its children as tails.
  void make_graph() {
    const int64_t n = nodes();
    std::vector<int32_t> item(n);  // children first
    for (int64_t k = 0; k < n; ++k) item[downwards_[k]] = static_cast<int32_t>(n - 1 - k);
    std::vector<std::vector<int32_t>> tails_of(n + 1);  // by item; the last one is the root
    for (int32_t v = 0; v < n; ++v) tails_of[parents_[v] < 0 ? n : item[parents_[v]]].push_back(item[v]);
    std::vector<int32_t> heads, tails, parts;
    std::vector<int64_t> tail_begin{0}, part_begin{0};
    const auto edge = [&](int64_t head, const std::vector<int32_t>& below) {
      heads.push_back(static_cast<int32_t>(head));
      tails.insert(tails.end(), below.begin(), below.end());
      tail_begin.push_back(static_cast<int64_t>(tails.size()));
      part_begin.push_back(static_cast<int64_t>(parts.size()));
    };
    for (int64_t k = 0; k < n; ++k) {
      edge(k, {});
      parts.push_back(downwards_[n - 1 - k]);
      edge(k, tails_of[k]);
    }
    edge(n, tails_of[n]);
    graph_ = std::make_unique<Hypergraph>(n + 1, std::move(heads), std::move(tail_begin), std::move(tails),
                                          std::move(part_begin), std::move(parts));
  }

  std::vector<int32_t> parents_;
  int64_t size_;
  std::vector<int64_t> begin_;
  std::vector<int32_t> gold_;
  bool counted_;
  std::vector<int32_t> downwards_;
  std::unique_ptr<const Hypergraph> graph_;
};

}  // namespace margrave
