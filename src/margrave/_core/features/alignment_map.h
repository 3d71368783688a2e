// The feature map of alignments: tables over pairs of rows of x and y, and weights of gaps by rows.
//
// A view gives every position a sparse vector: the letter, a neighbor in a window, or a column of the user. The score
// of the pair (i, j) is the sum of u_i' W v_j over its tables. The score of a letter in a gap is the sum of <open, u_i>
// or <extend, u_i> over the views of gaps. Tied parts have letters instead of positions, the same ones in every
// example. Weights: the tables, row by row (a symmetric one from the diagonal on). Then the openings and extensions of
// each view of gaps (linear gaps have one weight for both). Then the same for gaps at the ends, if these have their own
// weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/scratch.h"
#include "rows/sparse_rows.h"
#include "rows/tokens.h"
#include "structures/alignment.h"
#include "structures/alignment_edges.h"
#include "structures/pair_parts.h"

namespace margrave {

class AlignmentMap final : public Features {
 public:
  struct Table {
    std::shared_ptr<const Tokens> x, y;
    int64_t rows, columns;
    bool symmetric;
    int64_t first = 0;  // index of its first weight
    int64_t size() const { return symmetric ? rows * (rows + 1) / 2 : rows * columns; }
    // Offset of row a, to which b is added; only b >= a in a symmetric table.
    int64_t row(int64_t a) const { return first + (symmetric ? a * rows - a * (a + 1) / 2 : a * columns); }
    int64_t weight(int64_t a, int64_t b) const { return symmetric && b < a ? row(b) + a : row(a) + b; }
  };
  struct GapView {
    std::shared_ptr<const Tokens> x, y;
    int64_t codes;
  };

  // parts: by example; those beyond the layout's have no weights. longest: by example, the length of the longer
  // sequence (for the radius). Tied: the views have one example, the alphabet.
  AlignmentMap(PairParts layout, std::vector<int64_t> parts, std::vector<int64_t> longest, std::vector<Table> tables,
               std::vector<GapView> gaps, bool ends)
      : layout_(layout),
        parts_(std::move(parts)),
        longest_(std::move(longest)),
        tables_(std::move(tables)),
        gaps_(std::move(gaps)),
        ends_(ends) {
    if (ends && layout.local())
      throw InputError("local alignments have no gaps at their ends that could have scores: pass end_gaps=False.");
    if (longest_.size() != parts_.size()) throw InputError("there must be one length per example.");
    for (Table& table : tables_) {
      if (table.rows < 0 || table.columns < 0 || (table.symmetric && table.rows != table.columns))
        throw InputError("a symmetric table has as many rows as columns.");
      if (table.rows > kMostWeights / std::max<int64_t>(table.columns, 1))
        throw InputError("a table of " + std::to_string(table.rows) + " times " + std::to_string(table.columns) +
                         " weights is too large.");
      table.first = gap_first_;
      gap_first_ += table.size();
      check(*table.x, table.rows);
      check(*table.y, table.columns);
    }
    for (const GapView& view : gaps_) {
      check(*view.x, view.codes);
      check(*view.y, view.codes);
      gap_size_ += kinds() * view.codes;
    }
    dim_ = gap_first_ + gap_size_ * (ends_ ? 2 : 1);
    for (int64_t i = 0; i < size(); ++i) {
      const auto [n, m] = shape(i);
      if (layout_.first_begin(n, m) > parts_[i]) throw InputError("an example has fewer parts than its features.");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(parts_.size()); }
  int64_t dim() const override { return dim_; }
  int64_t parts(int64_t i) const override { return parts_[i]; }

  void score(int64_t i, const double* w, double* theta) const override {
    const auto [n, m] = shape(i);
    std::fill_n(theta, parts_[i], 0.0);
    thread_local std::vector<double> row;
    for (const Table& table : tables_) {
      const Rows x(*table.x, place(i)), y(*table.y, place(i));
      row.resize(table.columns);
      for (int64_t k = 0; k < n; ++k) {
        std::fill(row.begin(), row.end(), 0.0);
        x.each(k, [&](int32_t a, double value) {
          for (int64_t b = 0; b < table.columns; ++b) row[b] += value * w[table.weight(a, b)];
        });
        double* to = theta + k * m;
        if (y.single()) {
          const int32_t* code = y.codes();
          for (int64_t j = 0; j < m; ++j) to[j] += row[code[j]];
        } else {
          for (int64_t j = 0; j < m; ++j) y.each(j, [&](int32_t b, double value) { to[j] += value * row[b]; });
        }
      }
    }
    each_gap(i, [&](int64_t part, int64_t weight, double value) { theta[part] += value * w[weight]; });
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    const auto [n, m] = shape(i);
    thread_local std::vector<double> row;
    for (const Table& table : tables_) {
      const Rows x(*table.x, place(i)), y(*table.y, place(i));
      row.resize(table.columns);
      for (int64_t k = 0; k < n; ++k) {
        std::fill(row.begin(), row.end(), 0.0);
        const double* from = mu + k * m;
        if (y.single()) {
          const int32_t* code = y.codes();
          for (int64_t j = 0; j < m; ++j) row[code[j]] += from[j];
        } else {
          for (int64_t j = 0; j < m; ++j) y.each(j, [&](int32_t b, double value) { row[b] += value * from[j]; });
        }
        x.each(k, [&](int32_t a, double value) {
          for (int64_t b = 0; b < table.columns; ++b)
            if (row[b] != 0) g[table.weight(a, b)] += c * value * row[b];
        });
      }
    }
    each_gap(i, [&](int64_t part, int64_t weight, double value) {
      if (mu[part] != 0) g[weight] += c * value * mu[part];
    });
  }

  // Several parts share a weight, so the changes are summed first.
  double move(int64_t i, const double* v, double c, double* w) const override {
    double change = 0;
    const std::vector<double>& sums = summed(i, v);
    for (int64_t k = 0; k < dim_; ++k)
      if (sums[k] != 0) change += add_measured<true>(c * sums[k], w[k]);
    return change;
  }
  void row(int64_t i, const double* v, Row& row) const override {
    row.index.clear();
    row.value.clear();
    const std::vector<double>& sums = summed(i, v);
    for (int64_t k = 0; k < dim_; ++k) {
      if (sums[k] == 0) continue;
      row.index.push_back(k);
      row.value.push_back(sums[k]);
    }
  }

  // An output has at most as many pairs as the longer sequence has letters, and twice as many letters in gaps.
  double radius(int64_t i) const override {
    double of_pairs = 0, of_gaps = 0;
    for (const Table& table : tables_) {
      const double norm = Rows(*table.x, place(i)).longest() * Rows(*table.y, place(i)).longest();
      of_pairs += norm * norm;
    }
    for (const GapView& view : gaps_) {
      const double norm = std::max(Rows(*view.x, place(i)).longest(), Rows(*view.y, place(i)).longest());
      of_gaps += norm * norm;
    }
    return 2 * static_cast<double>(longest_[i]) * (std::sqrt(of_pairs) + 2 * std::sqrt(of_gaps));
  }

 private:
  static constexpr int64_t kMostWeights = int64_t{1} << 27;
  int64_t kinds() const { return layout_.affine() ? 2 : 1; }
  int64_t place(int64_t i) const { return layout_.tied() ? 0 : i; }

  // The rows of one example.
  class Rows {
   public:
    Rows(const Tokens& tokens, int64_t i) : tokens_(tokens), first_(tokens.example_begin[i]) {
      last_ = tokens.example_begin[i + 1];
    }
    int64_t size() const { return last_ - first_; }
    // Whether every row of the dataset has a single entry, 1.
    bool single() const { return tokens_.value.empty() && tokens_.row_begin.back() == tokens_.tokens() && unit_rows(); }
    const int32_t* codes() const { return tokens_.index.data() + first_; }
    template <class Visit>
    void each(int64_t k, const Visit& visit) const {
      for (int64_t e = tokens_.row_begin[first_ + k]; e < tokens_.row_begin[first_ + k + 1]; ++e)
        visit(tokens_.index[e], tokens_.value.empty() ? 1.0 : tokens_.value[e]);
    }
    double longest() const {
      double most = 0;
      for (int64_t k = 0; k < size(); ++k) {
        double square = 0;
        each(k, [&](int32_t, double value) { square += value * value; });
        most = std::max(most, square);
      }
      return std::sqrt(most);
    }

   private:
    bool unit_rows() const {
      return tokens_.row_begin[first_] == first_ && tokens_.row_begin[last_] == last_ &&
             std::is_sorted(tokens_.row_begin.begin() + first_, tokens_.row_begin.begin() + last_ + 1) &&
             std::adjacent_find(tokens_.row_begin.begin() + first_, tokens_.row_begin.begin() + last_ + 1,
                                [](int64_t a, int64_t b) { return b != a + 1; }) ==
                 tokens_.row_begin.begin() + last_ + 1;
    }
    const Tokens& tokens_;
    int64_t first_, last_ = 0;
  };

  std::pair<int64_t, int64_t> shape(int64_t i) const {
    const Tokens& x = tables_.empty() ? *gaps_.at(0).x : *tables_[0].x;
    const Tokens& y = tables_.empty() ? *gaps_.at(0).y : *tables_[0].y;
    return {Rows(x, place(i)).size(), Rows(y, place(i)).size()};
  }

  void check(const Tokens& tokens, int64_t codes) const {
    if (tokens.examples() != (layout_.tied() ? 1 : size()))
      throw InputError("a view has too few or too many examples.");
    for (const int32_t code : tokens.index)
      if (code >= codes) throw InputError("a code of a view is out of range.");
    if (tables_.empty()) return;
    const bool of_x = tokens.example_begin == tables_[0].x->example_begin;
    const bool of_y = tokens.example_begin == tables_[0].y->example_begin;
    if (!of_x && !of_y) throw InputError("a view has rows for other sequences.");
  }

  // visit(part, weight, value) for all gaps.
  template <class Visit>
  void each_gap(int64_t i, const Visit& visit) const {
    const auto [n, m] = shape(i);
    for (int end = 0; end < (layout_.local() ? 1 : 2); ++end) {
      int64_t first = gap_first_ + (end && ends_ ? gap_size_ : 0);
      for (const GapView& view : gaps_) {
        for (int kind = 0; kind < kinds(); ++kind) {
          for (const bool of_x : {true, false}) {
            const PairParts::Kind which = of_x ? (kind ? PairParts::kXExtend : PairParts::kXOpen)
                                               : (kind ? PairParts::kYExtend : PairParts::kYOpen);
            const int64_t part = layout_.gap(n, m, which, end != 0);
            const Rows rows(*(of_x ? view.x : view.y), place(i));
            for (int64_t k = 0; k < rows.size(); ++k)
              rows.each(k, [&](int32_t code, double value) { visit(part + k, first + code, value); });
          }
          first += view.codes;
        }
      }
    }
  }

  const std::vector<double>& summed(int64_t i, const double* v) const {
    thread_local std::vector<double> sums;
    sums.assign(dim_, 0.0);
    scatter(i, v, 1.0, sums.data());
    return sums;
  }

  PairParts layout_;
  std::vector<int64_t> parts_, longest_;
  std::vector<Table> tables_;
  std::vector<GapView> gaps_;
  bool ends_;
  int64_t gap_first_ = 0, gap_size_ = 0, dim_ = 0;
};

// The same weights for parts that are edges of the trellis: maps edges to places, then applies the map of places.
class AlignmentEdgeMap final : public Features {
 public:
  AlignmentEdgeMap(std::shared_ptr<const AlignmentEdges> edges, std::shared_ptr<const AlignmentMap> places)
      : edges_(std::move(edges)), places_(std::move(places)) {}

  int64_t size() const override { return places_->size(); }
  int64_t dim() const override { return places_->dim(); }
  int64_t parts(int64_t i) const override { return edges_->parts(i); }

  void score(int64_t i, const double* w, double* theta) const override {
    std::vector<double>& places = of_places(i);
    places_->score(i, w, places.data());
    edges_->spread(i, places.data(), theta, scratch());
  }
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    places_->scatter(i, gathered(i, mu), c, g);
  }
  double move(int64_t i, const double* v, double c, double* w) const override {
    return places_->move(i, gathered(i, v), c, w);
  }
  void row(int64_t i, const double* v, Row& row) const override { places_->row(i, gathered(i, v), row); }
  double radius(int64_t i) const override { return places_->radius(i); }

 private:
  static Scratch& scratch() {
    thread_local Scratch scratch;
    return scratch;
  }
  std::vector<double>& of_places(int64_t i) const {
    thread_local std::vector<double> places;
    places.resize(static_cast<size_t>(places_->parts(i)));
    return places;
  }
  const double* gathered(int64_t i, const double* mu) const {
    std::vector<double>& places = of_places(i);
    edges_->gather(i, mu, places.data(), scratch());
    return places.data();
  }

  std::shared_ptr<const AlignmentEdges> edges_;
  std::shared_ptr<const AlignmentMap> places_;
};

}  // namespace margrave
