// Alignments of two sequences as a structure (engines/alignment.h), with tied parts, with parts at their places
// (pair_parts.h), or with a part for every edge of the trellis. Also the choice of a candidate together with its
// alignment (003, section 4.4).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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
#include "simd/loops.h"
#include "structures/pair_parts.h"

namespace margrave {

// Concatenated sequences of letters.
struct Sequences {
  std::vector<int64_t> begin;
  std::vector<int32_t> letters;

  int64_t size() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t length(int64_t k) const { return begin[k + 1] - begin[k]; }
  const int32_t* of(int64_t k) const { return letters.data() + begin[k]; }

  void check(int64_t alphabet, const char* what) const {
    if (begin.empty() || begin.front() != 0 || begin.back() != static_cast<int64_t>(letters.size()) ||
        !std::is_sorted(begin.begin(), begin.end()))
      throw InputError(std::string("the bounds of ") + what + " must ascend from 0 to the number of letters.");
    for (int64_t k = 0; k < size(); ++k) {
      if (length(k) == 0) throw InputError(std::string(what) + " " + std::to_string(k) + " is empty.");
      if (length(k) > std::numeric_limits<int32_t>::max() / 4)
        throw InputError(std::string(what) + " " + std::to_string(k) + " is too long.");
    }
    for (const int32_t letter : letters)
      if (letter < 0 || letter >= alphabet) throw InputError("a letter is not in the alphabet.");
  }
};

// Known alignments: for each example its matched pairs (i, j), flat.
struct Matches {
  std::vector<int64_t> begin;  // in pairs; empty: unknown
  std::vector<int32_t> pairs;

  bool known() const { return !begin.empty(); }
  int64_t count(int64_t k) const { return begin[k + 1] - begin[k]; }
  const int32_t* of(int64_t k) const { return pairs.data() + 2 * begin[k]; }

  void check(int64_t examples) const {
    if (!known()) return;
    if (static_cast<int64_t>(begin.size()) != examples + 1 || begin.front() != 0 || pairs.size() % 2 != 0 ||
        begin.back() != static_cast<int64_t>(pairs.size() / 2) || !std::is_sorted(begin.begin(), begin.end()))
      throw InputError("there must be one list of matched pairs per example.");
  }
  void check(int64_t k, int64_t n, int64_t m) const {
    const auto refuse = [&](const std::string& what) {
      throw InputError("example " + std::to_string(k) + ": " + what + ".");
    };
    const int32_t* p = of(k);
    int64_t i = -1, j = -1;
    for (int64_t q = 0; q < count(k); ++q, p += 2) {
      if (p[0] < 0 || p[1] < 0 || p[0] >= n || p[1] >= m)
        refuse("the pair (" + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ") is outside of sequences of " +
               std::to_string(n) + " and " + std::to_string(m) + " letters");
      if (p[0] <= i || p[1] <= j) refuse("matched pairs must ascend in both sequences");
      i = p[0];
      j = p[1];
    }
  }
  // The steps of an alignment: unmatched letters of x come before those of y.
  void path(int64_t k, alignment::Path& path) const {
    path.clear();
    const int32_t* p = of(k);
    for (int64_t q = 0; q < count(k); ++q, p += 2) {
      if (q > 0) {
        for (int32_t i = p[-2] + 1; i < p[0]; ++i) path.push_back({alignment::kX, i, p[-1]});
        for (int32_t j = p[-1] + 1; j < p[1]; ++j) path.push_back({alignment::kY, p[0] - 1, j});
      }
      path.push_back({alignment::kM, p[0], p[1]});
    }
  }
};

inline constexpr int64_t kMostPlaces = int64_t{1} << 27;  // parts, or cells of tables: 1 GB per array

inline void check_cells(int64_t example, int64_t n, int64_t m) {
  if (n > kMostPlaces / m)
    throw InputError("example " + std::to_string(example) + " has " + std::to_string(n) + " times " +
                     std::to_string(m) + " places, more than " + std::to_string(kMostPlaces) +
                     ": only the best alignment of tied parts takes so little memory that it can be found.");
}

// Base of all structures of alignments.
class Alignments : public Structure {
 public:
  Alignments(std::vector<int64_t> of_x, std::vector<int64_t> of_y, Matches gold)
      : n_(std::move(of_x)), m_(std::move(of_y)), gold_(std::move(gold)) {
    if (n_.size() != m_.size()) throw InputError("there must be as many sequences x as sequences y.");
    gold_.check(size());
    for (int64_t i = 0; i < size(); ++i) {
      if (n(i) < 1 || m(i) < 1) throw InputError("example " + std::to_string(i) + " has an empty sequence.");
      if (has_gold()) gold_.check(i, n(i), m(i));
    }
  }

  int64_t size() const override { return static_cast<int64_t>(n_.size()); }
  int64_t n(int64_t i) const { return n_[i]; }
  int64_t m(int64_t i) const { return m_[i]; }
  int64_t longest(int64_t i) const { return std::max(n(i), m(i)); }
  bool has_gold() const override { return gold_.known(); }
  const Matches& gold_matches() const { return gold_; }

  // The matched pairs of an output. Tied parts must be in the order in which inference returns them.
  virtual void matches(int64_t i, const int32_t* parts, int64_t size, std::vector<int32_t>& found) const = 0;
  // The posterior probabilities of all pairs of places, from marginals of the parts.
  virtual void match_table(int64_t i, const double* mu, double* table) const = 0;

 protected:
  void gold_path(int64_t i, alignment::Path& path) const {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
    gold_.path(i, path);
  }

 private:
  std::vector<int64_t> n_, m_;
  Matches gold_;
};

// Parts by letter, or by place.
class AlignmentStructure final : public Alignments, private Counted {
 public:
  AlignmentStructure(PairParts layout, std::vector<int64_t> of_x, std::vector<int64_t> of_y, Sequences x, Sequences y,
                     Matches gold, bool costs)
      : Alignments(std::move(of_x), std::move(of_y), std::move(gold)),
        layout_(layout),
        x_(std::move(x)),
        y_(std::move(y)),
        costs_(costs) {
    if (layout_.tied()) {
      x_.check(layout_.letters(), "sequence x");
      y_.check(layout_.letters(), "sequence y");
      if (x_.size() != size() || y_.size() != size()) throw InputError("there must be letters for every sequence.");
      for (int64_t i = 0; i < size(); ++i)
        if (x_.length(i) != n(i) || y_.length(i) != m(i))
          throw InputError("example " + std::to_string(i) + ": there must be one letter for every position.");
      return;
    }
    for (int64_t i = 0; i < size(); ++i)
      if (n(i) > kMostPlaces / m(i))
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(n(i)) + " times " +
                         std::to_string(m(i)) + " pairs of places, and parts at their places are limited to " +
                         std::to_string(kMostPlaces) + ": use tied=True.");
  }

  const PairParts& layout() const { return layout_; }
  SequencePair sequences(int64_t i) const {
    return {layout_.tied() ? x_.of(i) : nullptr, layout_.tied() ? y_.of(i) : nullptr, n(i), m(i)};
  }

  int64_t parts(int64_t i) const override { return layout_.count(n(i), m(i)); }
  int64_t repeats(int64_t i) const override { return layout_.tied() ? longest(i) : 1; }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  void gold(int64_t i, int64_t, Output& y) const override {
    alignment::Path path;
    gold_path(i, path);
    to_output(i, path, y);
  }

  // The number of missed gold pairs plus the number of wrong pairs. Tied parts cannot express it.
  double cost(int64_t i, double* delta) const override {
    std::fill_n(delta, parts(i), 0.0);
    if (layout_.tied() || !costs_ || !has_gold()) return 0;
    std::fill_n(delta, n(i) * m(i), 1.0);
    const int32_t* pairs = gold_matches().of(i);
    const int64_t count = gold_matches().count(i);
    for (int64_t q = 0; q < count; ++q) delta[pairs[2 * q] * m(i) + pairs[2 * q + 1]] = -1;
    return static_cast<double>(count);
  }

  // The F1 cost counts pairs, not gaps.
  const Counted* counted() const override { return layout_.tied() ? nullptr : this; }
  void counts(int64_t i, double* right, double* predicted, int64_t& of_gold) const override {
    std::fill_n(right, parts(i), 0.0);
    std::fill_n(predicted, parts(i), 0.0);
    std::fill_n(predicted, n(i) * m(i), 1.0);
    const int32_t* pairs = gold_matches().of(i);
    of_gold = gold_matches().count(i);
    for (int64_t q = 0; q < of_gold; ++q) right[pairs[2 * q] * m(i) + pairs[2 * q + 1]] = 1;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    alignment::Path path;
    y.clear();
    const double value = alignment::best(layout_.scores(sequences(i), theta, scratch), path, scratch);
    if (value > -kInfinity) to_output(i, path, y);
    return value;
  }
  // Only the score, in linear memory.
  double best_score(int64_t i, const double* theta, Scratch& scratch) const {
    return alignment::best_score(layout_.scores(sequences(i), theta, scratch), scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    std::fill_n(mu, parts(i), 0.0);
    const SequencePair pair = sequences(i);
    const alignment::Scores scores = layout_.scores(pair, theta, scratch);
    alignment::Posteriors posteriors = layout_.posteriors(pair, mu, scratch);
    const double log_z = alignment::logsum(scores, posteriors, scratch);
    layout_.add(pair, posteriors, mu);
    return log_z;
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    whole_costs(delta, parts(i));
    const SequencePair pair = sequences(i);
    ys.clear();
    alignment::best_by_cost(layout_.scores(pair, theta, scratch), layout_.scores(pair, delta, scratch),
                            [&](int64_t cost, double value, const alignment::Path& path) {
                              ys.push_back({cost, value, {}});
                              layout_.to_parts(pair, path, ys.back().y);
                            });
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    const SequencePair pair = sequences(i);
    ys.clear();
    alignment::kbest(layout_.scores(pair, theta, scratch), k, scratch, [&](double value, const alignment::Path& path) {
      ys.push_back({value, {}});
      layout_.to_parts(pair, path, ys.back().y);
    });
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    check_cells(i, n(i), m(i));
    auto next = ys.begin();
    if (!alignment::sample(layout_.scores(sequences(i), theta, scratch), static_cast<int64_t>(ys.size()), random,
                           [&](const alignment::Path& path) { to_output(i, path, *next++); }))
      throw InputError("every output is forbidden.");
  }

  void matches(int64_t i, const int32_t* parts, int64_t size, std::vector<int32_t>& found) const override {
    layout_.matches(sequences(i), parts, size, found);
  }
  void match_table(int64_t i, const double* mu, double* table) const override {
    if (layout_.tied()) throw InputError("tied parts do not tell where letters are matched: use tied=False.");
    std::copy_n(mu, n(i) * m(i), table);
  }

 private:
  void to_output(int64_t i, const alignment::Path& path, Output& y) const {
    y.clear();
    layout_.to_parts(sequences(i), path, y);
  }

  PairParts layout_;
  Sequences x_, y_;
  bool costs_;
};

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

// Outputs are a candidate and its alignment with the native sequence x. Alignments have the parts of letters. One more
// part per candidate carries the zero-one cost. If the alignment of the homologue is known, it is the only output with
// this candidate: other alignments of it count neither as correct nor as wrong.
class HomologyStructure final : public Structure {
 public:
  // candidates: all sequences y, those of example i from first[i] to first[i + 1].
  HomologyStructure(PairParts layout, Sequences x, Sequences candidates, std::vector<int64_t> first,
                    std::vector<int32_t> homologues, Matches gold)
      : layout_(layout),
        x_(std::move(x)),
        candidates_(std::move(candidates)),
        first_(std::move(first)),
        good_(std::move(homologues)),
        gold_(std::move(gold)) {
    x_.check(layout_.letters(), "native sequence");
    candidates_.check(layout_.letters(), "candidate");
    if (static_cast<int64_t>(first_.size()) != size() + 1 || first_.front() != 0 ||
        first_.back() != candidates_.size() || !std::is_sorted(first_.begin(), first_.end()))
      throw InputError("there must be a list of candidates for every native sequence.");
    gold_.check(size());
    if (gold_.known() && static_cast<int64_t>(good_.size()) != size())
      throw InputError("there must be one homologue per example.");
    for (int64_t i = 0; i < size(); ++i) {
      if (count(i) == 0) throw InputError("example " + std::to_string(i) + " has no candidates.");
      if (!has_gold()) continue;
      if (good(i) < 0 || good(i) >= count(i))
        throw InputError("example " + std::to_string(i) + ": there is no candidate " + std::to_string(good(i)) + ".");
      gold_.check(i, pair(i, good(i)).n, pair(i, good(i)).m);
    }
  }

  int64_t size() const override { return x_.size(); }
  int64_t parts(int64_t i) const override { return shared_parts() + count(i); }
  int64_t shared_parts() const { return layout_.count(0, 0); }
  int64_t count(int64_t i) const { return first_[i + 1] - first_[i]; }
  const PairParts& layout() const { return layout_; }
  int64_t repeats(int64_t i) const override {
    int64_t longest = x_.length(i);
    for (int64_t k = 0; k < count(i); ++k) longest = std::max(longest, pair(i, k).m);
    return longest;
  }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample; }
  bool has_gold() const override { return gold_.known(); }
  void gold(int64_t i, int64_t, Output& y) const override {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
    alignment::Path path;
    gold_.path(i, path);
    to_output(i, good(i), path, y);
  }
  double cost(int64_t i, double* delta) const override {
    std::fill_n(delta, parts(i), 0.0);
    if (!has_gold()) return 0;
    std::fill_n(delta + shared_parts(), count(i), 1.0);
    delta[shared_parts() + good(i)] = 0;
    return 0;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    double best = -kInfinity;
    int64_t winner = -1;
    for (int64_t k = 0; k < count(i); ++k) {
      const double value = best_score(i, k, theta, scratch);
      if (value > best) {
        best = value;
        winner = k;
      }
    }
    y.clear();
    if (winner < 0) return best;
    if (is_gold(i, winner)) {
      gold(i, 0, y);
      return best;
    }
    alignment::Path path;
    Scratch::Frame frame(scratch);
    alignment::best(layout_.scores(pair(i, winner), theta, scratch), path, scratch);
    to_output(i, winner, path, y);
    return best;
  }
  // The score of the best alignment of a candidate.
  double best_score(int64_t i, int64_t k, const double* theta, Scratch& scratch) const {
    const double own = theta[shared_parts() + k];
    if (is_gold(i, k)) return score_of_gold(i, theta);
    Scratch::Frame frame(scratch);
    return own + alignment::best_score(layout_.scores(pair(i, k), theta, scratch), scratch);
  }

  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    const int64_t shared = shared_parts();
    std::vector<double> values(count(i), -kInfinity), of_all(count(i) * shared, 0.0);
    double total = -kInfinity;
    for (int64_t k = 0; k < count(i); ++k) {
      double* own = of_all.data() + k * shared;
      if (is_gold(i, k)) {
        values[k] = score_of_gold(i, theta);
        Output y;
        gold(i, 0, y);
        for (const int32_t part : y)
          if (part < shared) own[part] += 1;
      } else {
        check_cells(i, x_.length(i), pair(i, k).m);
        Scratch::Frame frame(scratch);
        const alignment::Scores scores = layout_.scores(pair(i, k), theta, scratch);
        alignment::Posteriors posteriors = layout_.posteriors(pair(i, k), own, scratch);
        values[k] = theta[shared + k] + alignment::logsum(scores, posteriors, scratch);
        layout_.add(pair(i, k), posteriors, own);
      }
      total = log_add(total, values[k]);
    }
    std::fill_n(mu, parts(i), 0.0);
    if (total == -kInfinity) return total;
    for (int64_t k = 0; k < count(i); ++k) {
      const double share = std::exp(values[k] - total);
      mu[shared + k] = share;
      if (share > 0) loops().add_scaled(of_all.data() + k * shared, share, mu, shared);
    }
    return total;
  }

  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    ys.clear();
    for (int64_t c = 0; c < count(i); ++c) {
      if (is_gold(i, c)) {
        ys.push_back({score_of_gold(i, theta), {}});
        gold(i, 0, ys.back().y);
        if (ys.back().value == -kInfinity) ys.pop_back();
        continue;
      }
      if (theta[shared_parts() + c] == -kInfinity) continue;
      check_cells(i, x_.length(i), pair(i, c).m);
      Scratch::Frame frame(scratch);
      alignment::kbest(layout_.scores(pair(i, c), theta, scratch), k, scratch,
                       [&](double value, const alignment::Path& path) {
                         ys.push_back({theta[shared_parts() + c] + value, {}});
                         to_output(i, c, path, ys.back().y);
                       });
    }
    std::stable_sort(ys.begin(), ys.end(),
                     [](const ScoredOutput& a, const ScoredOutput& b) { return a.value > b.value; });
    if (static_cast<int64_t>(ys.size()) > k) ys.resize(k);
  }

  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch& scratch) const override {
    const std::vector<int64_t> costs = whole_costs(delta, parts(i));
    std::map<int64_t, CostedOutput> found;
    const auto offer = [&](CostedOutput&& each) {
      if (!(each.value > -kInfinity)) return;
      const auto place = found.find(each.cost);
      if (place == found.end())
        found.emplace(each.cost, std::move(each));
      else if (each.value > place->second.value)
        place->second = std::move(each);
    };
    // If only candidates have costs, as in learning, their best alignments suffice.
    const bool simple = std::all_of(costs.begin(), costs.begin() + shared_parts(), [](int64_t c) { return c == 0; });
    for (int64_t c = 0; c < count(i); ++c) {
      const double own = theta[shared_parts() + c];
      const int64_t price = costs[shared_parts() + c];
      if (is_gold(i, c)) {
        CostedOutput each{0, score_of_gold(i, theta), {}};
        gold(i, 0, each.y);
        for (const int32_t part : each.y) each.cost += costs[part];
        offer(std::move(each));
        continue;
      }
      Scratch::Frame frame(scratch);
      const alignment::Scores scores = layout_.scores(pair(i, c), theta, scratch);
      if (simple) {
        alignment::Path path;
        CostedOutput each{price, own + alignment::best_score(scores, scratch), {}};
        const auto place = found.find(price);
        if (place != found.end() && each.value <= place->second.value) continue;
        alignment::best(scores, path, scratch);
        to_output(i, c, path, each.y);
        offer(std::move(each));
        continue;
      }
      check_cells(i, x_.length(i), pair(i, c).m);
      alignment::best_by_cost(scores, layout_.scores(pair(i, c), delta, scratch),
                              [&](int64_t cost, double value, const alignment::Path& path) {
                                CostedOutput each{price + cost, own + value, {}};
                                to_output(i, c, path, each.y);
                                offer(std::move(each));
                              });
    }
    ys.clear();
    for (auto& [cost, each] : found) ys.push_back(std::move(each));
  }

  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<double> mu(parts(i));
    if (logsum(i, theta, mu.data(), scratch) == -kInfinity) throw InputError("every output is forbidden.");
    const int64_t c = random.choose(mu.data() + shared_parts(), count(i));
    if (is_gold(i, c)) return gold(i, 0, y);
    alignment::sample(layout_.scores(pair(i, c), theta, scratch), 1, random,
                      [&](const alignment::Path& path) { to_output(i, c, path, y); });
  }

 private:
  int32_t good(int64_t i) const { return good_[i]; }
  bool is_gold(int64_t i, int64_t k) const { return has_gold() && good(i) == k; }
  SequencePair pair(int64_t i, int64_t k) const {
    const int64_t c = first_[i] + k;
    return {x_.of(i), candidates_.of(c), x_.length(i), candidates_.length(c)};
  }
  double score_of_gold(int64_t i, const double* theta) const {
    Output y;
    gold(i, 0, y);
    double sum = 0;
    for (const int32_t part : y) sum += theta[part];
    return sum;
  }
  void to_output(int64_t i, int64_t k, const alignment::Path& path, Output& y) const {
    y.clear();
    y.push_back(static_cast<int32_t>(shared_parts() + k));
    layout_.to_parts(pair(i, k), path, y);
  }

  PairParts layout_;
  Sequences x_, candidates_;
  std::vector<int64_t> first_;
  std::vector<int32_t> good_;
  Matches gold_;
};

}  // namespace margrave
