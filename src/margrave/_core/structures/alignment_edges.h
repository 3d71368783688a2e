// Alignments of two sequences with a part for every edge of the trellis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/alignment.h"
#include "engines/hypergraph.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "structures/alignments.h"
#include "structures/pair_parts.h"

namespace margrave {

// Every edge of the trellis is a part. Each cell, row by row, has a match after M, X and Y and one that begins the
// alignment, a letter of x after M and X, a letter of y after M, X and Y, and the end of the alignment. The last part
// is the alignment without matches. The scores of beginnings and ends make alignments global or local. The features use
// the layout, one of places, to map scores of places to edges.
class AlignmentEdges final : public Alignments, private Counted {
 public:
  static constexpr int64_t kEdges = 10;

  AlignmentEdges(PairParts layout, std::vector<int64_t> of_x, std::vector<int64_t> of_y, Matches gold, bool costs)
      : Alignments(std::move(of_x), std::move(of_y), std::move(gold)), layout_(layout), costs_(costs) {
    for (int64_t i = 0; i < size(); ++i) {
      if (n(i) > kMostEdges / kEdges / m(i))
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(kEdges) + " times " +
                         std::to_string(n(i)) + " times " + std::to_string(m(i)) +
                         " edges, and parts of edges are limited to " + std::to_string(kMostEdges) +
                         ": use edges=False.");
      graphs_.push_back(graph_of(n(i), m(i)));
    }
  }

  const PairParts& layout() const { return layout_; }
  SequencePair sequences(int64_t i) const { return {nullptr, nullptr, n(i), m(i)}; }

  int64_t parts(int64_t i) const override { return kEdges * n(i) * m(i) + 1; }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | kUntied | kEntropy; }
  void gold(int64_t i, int64_t, Output& y) const override {
    alignment::Path path;
    gold_path(i, path);
    y.clear();
    if (path.empty()) y.push_back(static_cast<int32_t>(parts(i) - 1));
    int before = 3;
    for (const alignment::Step& step : path) {
      const int64_t first = kEdges * (step.i * m(i) + step.j);
      y.push_back(static_cast<int32_t>(first + kFirst[step.state] + before));
      before = step.state;
    }
    if (!path.empty()) y.push_back(static_cast<int32_t>(kEdges * (path.back().i * m(i) + path.back().j) + 9));
  }
  double cost(int64_t i, double* delta) const override {
    std::fill_n(delta, parts(i), 0.0);
    if (!costs_ || !has_gold()) return 0;
    for (int64_t cell = 0; cell < n(i) * m(i); ++cell) std::fill_n(delta + kEdges * cell, 4, 1.0);
    const int32_t* pairs = gold_matches().of(i);
    const int64_t count = gold_matches().count(i);
    for (int64_t q = 0; q < count; ++q) std::fill_n(delta + kEdges * (pairs[2 * q] * m(i) + pairs[2 * q + 1]), 4, -1.0);
    return static_cast<double>(count);
  }
  const Counted* counted() const override { return this; }
  void counts(int64_t i, double* right, double* predicted, int64_t& of_gold) const override {
    std::fill_n(right, parts(i), 0.0);
    std::fill_n(predicted, parts(i), 0.0);
    for (int64_t cell = 0; cell < n(i) * m(i); ++cell) std::fill_n(predicted + kEdges * cell, 4, 1.0);
    const int32_t* pairs = gold_matches().of(i);
    of_gold = gold_matches().count(i);
    for (int64_t q = 0; q < of_gold; ++q)
      std::fill_n(right + kEdges * (pairs[2 * q] * m(i) + pairs[2 * q + 1]), 4, 1.0);
  }

  // Maps the scores of places to those of edges; and the adjoint.
  void spread(int64_t i, const double* places, double* theta, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    const alignment::Scores s = layout_.scores(sequences(i), places, scratch);
    for (int64_t a = 0; a < s.n; ++a)
      for (int64_t b = 0; b < s.m; ++b) {
        const double pair = s.pair[a][b];
        for (const double score : {pair, pair, pair, pair + s.begin(a, b), s.x_open[a], s.x_extend[a], s.y_open[b],
                                   s.y_open[b], s.y_extend[b], s.end(a, b)})
          *theta++ = score;
      }
    *theta = s.empty;
  }
  void gather(int64_t i, const double* mu, double* places, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    std::fill_n(places, layout_.count(n(i), m(i)), 0.0);
    alignment::Posteriors q = layout_.posteriors(sequences(i), places, scratch);
    alignment::Scores shape;
    shape.n = n(i);
    shape.m = m(i);
    shape.shorter = layout_.semi_global();
    for (int64_t a = 0; a < n(i); ++a)
      for (int64_t b = 0; b < m(i); ++b, mu += kEdges) {
        q.pair[a][b] += mu[0] + mu[1] + mu[2] + mu[3];
        q.x_open[a] += mu[4];
        q.x_extend[a] += mu[5];
        q.y_open[b] += mu[6] + mu[7];
        q.y_extend[b] += mu[8];
        q.add_outside(shape, a, b, mu[3], mu[9]);
      }
    q.empty = *mu;
    layout_.add(sequences(i), q, places);
  }
  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    return graph(i).argmax(theta, y);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    return graph(i).logsum(theta, parts(i), mu);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    graph(i).argmax_by_cost(theta, delta, parts(i), ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    graph(i).kbest(theta, k, ys);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch&) const override {
    if (!graph(i).sample(theta, random, y)) throw InputError("every output is forbidden.");
  }
  // Backwards from the end, alignments are a Markov chain: each edge has its share of the edges to the same state.
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    double sum = 0;
    const auto share = [&](int64_t part, double total) {
      t[part] = mu[part] > 0 ? std::log(mu[part] / total) : -kInfinity;
      if (mu[part] > 0) sum -= mu[part] * t[part];
    };
    constexpr int kLast[] = {4, 6, 9};
    const int64_t cells = n(i) * m(i);
    double ends = mu[parts(i) - 1];
    for (int64_t cell = 0; cell < cells; ++cell) {
      const int64_t first = kEdges * cell;
      for (int state = 0; state < 3; ++state) {
        double total = 0;
        for (int64_t k = first + kFirst[state]; k < first + kLast[state]; ++k) total += mu[k];
        for (int64_t k = first + kFirst[state]; k < first + kLast[state]; ++k) share(k, total);
      }
      ends += mu[first + 9];
    }
    for (int64_t cell = 0; cell < cells; ++cell) share(kEdges * cell + 9, ends);
    share(parts(i) - 1, ends);
    return sum;
  }

  void matches(int64_t i, const int32_t* parts, int64_t size, std::vector<int32_t>& found) const override {
    std::vector<int64_t> cells;
    for (int64_t k = 0; k < size; ++k) {
      if (parts[k] < 0 || parts[k] >= this->parts(i))
        throw InputError("there is no part " + std::to_string(parts[k]) + " of " + std::to_string(this->parts(i)) +
                         ".");
      if (parts[k] + 1 < this->parts(i) && parts[k] % kEdges < 4) cells.push_back(parts[k] / kEdges);
    }
    std::sort(cells.begin(), cells.end());
    for (const int64_t cell : cells) {
      found.push_back(static_cast<int32_t>(cell / m(i)));
      found.push_back(static_cast<int32_t>(cell % m(i)));
    }
  }
  void match_table(int64_t i, const double* mu, double* table) const override {
    for (int64_t cell = 0; cell < n(i) * m(i); ++cell) {
      const double* of = mu + kEdges * cell;
      table[cell] = of[0] + of[1] + of[2] + of[3];
    }
  }

 private:
  static constexpr int64_t kMostEdges = 50'000'000;  // limit of the hypergraph engine: about 50 bytes each
  static constexpr int kFirst[] = {0, 4, 6};         // the first part of each state

  const Hypergraph& graph(int64_t i) const { return *graphs_[i]; }

  static std::shared_ptr<const Hypergraph> graph_of(int64_t n, int64_t m) {
    std::vector<int32_t> heads, tails, parts;
    std::vector<int64_t> tail_begin{0}, part_begin{0};
    const auto edge = [&](int64_t head, int64_t tail, int64_t part) {
      heads.push_back(static_cast<int32_t>(head));
      if (tail >= 0) tails.push_back(static_cast<int32_t>(tail));
      parts.push_back(static_cast<int32_t>(part));
      tail_begin.push_back(static_cast<int64_t>(tails.size()));
      part_begin.push_back(static_cast<int64_t>(parts.size()));
    };
    const auto node = [&](int state, int64_t i, int64_t j) { return 3 * (i * m + j) + state; };
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) {
        const int64_t part = kEdges * (i * m + j);
        for (int q = 0; q < 3 && i > 0 && j > 0; ++q) edge(node(0, i, j), node(q, i - 1, j - 1), part + q);
        edge(node(0, i, j), -1, part + 3);
        for (int q = 0; q < 2 && i > 0; ++q) edge(node(1, i, j), node(q, i - 1, j), part + 4 + q);
        for (int q = 0; q < 3 && j > 0; ++q) edge(node(2, i, j), node(q, i, j - 1), part + 6 + q);
      }
    for (int64_t cell = 0; cell < n * m; ++cell) edge(3 * n * m, 3 * cell, kEdges * cell + 9);
    edge(3 * n * m, -1, kEdges * n * m);
    return std::make_shared<Hypergraph>(3 * n * m + 1, std::move(heads), std::move(tail_begin), std::move(tails),
                                        std::move(part_begin), std::move(parts));
  }

  PairParts layout_;
  std::vector<std::shared_ptr<const Hypergraph>> graphs_;
  bool costs_;
};

}  // namespace margrave
