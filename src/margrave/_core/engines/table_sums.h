// The sum of many small tables over the cells of a large one, and the sums of a large table over the cells of the small
// ones: what a clique with many factors needs, such as that of a complete graph.
//
// The first variable of the large table is fixed to each of its labels in turn. A small table with this variable then
// becomes a smaller one, over the other variables, and all small tables without it have one sum for all labels, which
// is computed once. For n variables and all pairs of them this reads and writes the large table a few times, instead of
// once for every pair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/scratch.h"

namespace margrave {

class TableSums {
 public:
  struct Place {
    size_t variable;  // of the large table
    int64_t step;     // in the small table
  };

  // counts: the labels of the variables of the large table, whose cells are in row-major order. places: the variables
  // of each small table, in ascending order.
  TableSums(std::vector<int64_t> counts, std::vector<std::vector<Place>> places)
      : counts_(std::move(counts)), places_(std::move(places)) {}

  // table = the sum of the small tables.
  void add_up(const std::vector<const double*>& small, double* table, Scratch& scratch) const {
    sum(0, pieces(small), 0.0, table, cells(), scratch);
  }

  // small[k] += the sums of the large table, for each small table that is not null.
  void collect(const double* table, const std::vector<double*>& small, Scratch& scratch) const {
    spread(0, pieces(small), table, cells(), scratch);
  }

 private:
  // A small table of which the first `fixed` variables have a label.
  template <class Value>
  struct Piece {
    const std::vector<Place>* places;
    Value* values;
    size_t fixed = 0;

    bool is_constant() const { return fixed == places->size(); }
    bool begins_at(size_t variable) const { return !is_constant() && (*places)[fixed].variable == variable; }
    Piece with(int64_t label) const { return {places, values + label * (*places)[fixed].step, fixed + 1}; }
  };
  template <class Value>
  using Pieces = std::vector<Piece<Value>>;

  int64_t cells() const {
    int64_t product = 1;
    for (const int64_t count : counts_) product *= count;
    return product;
  }

  template <class Value>
  Pieces<Value> pieces(const std::vector<Value*>& small) const {
    Pieces<Value> found;
    for (size_t k = 0; k < small.size(); ++k)
      if (small[k]) found.push_back({&places_[k], small[k]});
    return found;
  }

  // The pieces that begin at this variable, and those that begin later.
  template <class Value>
  static std::pair<Pieces<Value>, Pieces<Value>> split(const Pieces<Value>& pieces, size_t variable) {
    std::pair<Pieces<Value>, Pieces<Value>> found;
    for (const Piece<Value>& piece : pieces)
      if (!piece.is_constant()) (piece.begins_at(variable) ? found.first : found.second).push_back(piece);
    return found;
  }
  template <class Value>
  static Pieces<Value> fixed(const Pieces<Value>& pieces, int64_t label) {
    Pieces<Value> found;
    for (const Piece<Value>& piece : pieces) found.push_back(piece.with(label));
    return found;
  }

  // `table` has the cells of the variables from `variable` on.
  void sum(size_t variable, const Pieces<const double>& pieces, double constant, double* table, int64_t cells,
           Scratch& scratch) const {
    for (const Piece<const double>& piece : pieces)
      if (piece.is_constant()) constant += *piece.values;
    const auto [here, later] = split(pieces, variable);
    if (here.empty() && later.empty()) {
      std::fill(table, table + cells, constant);
      return;
    }
    const int64_t count = counts_[variable], rest = cells / count;
    if (here.empty()) {
      sum(variable + 1, later, constant, table, rest, scratch);
      for (int64_t label = 1; label < count; ++label) std::copy_n(table, rest, table + label * rest);
      return;
    }
    const double own = later.empty() ? constant : 0.0;
    for (int64_t label = 0; label < count; ++label)
      sum(variable + 1, fixed(here, label), own, table + label * rest, rest, scratch);
    if (later.empty()) return;
    const Scratch::Frame frame(scratch);
    double* const common = scratch.take(rest);
    sum(variable + 1, later, constant, common, rest, scratch);
    for (int64_t label = 0; label < count; ++label) {
      double* const row = table + label * rest;
      for (int64_t k = 0; k < rest; ++k) row[k] += common[k];
    }
  }

  void spread(size_t variable, const Pieces<double>& pieces, const double* table, int64_t cells,
              Scratch& scratch) const {
    const auto [here, later] = split(pieces, variable);
    if (here.size() + later.size() < pieces.size()) {
      double total = 0;
      for (int64_t k = 0; k < cells; ++k) total += table[k];
      for (const Piece<double>& piece : pieces)
        if (piece.is_constant()) *piece.values += total;
    }
    if (here.empty() && later.empty()) return;
    const int64_t count = counts_[variable], rest = cells / count;
    if (!here.empty())
      for (int64_t label = 0; label < count; ++label)
        spread(variable + 1, fixed(here, label), table + label * rest, rest, scratch);
    if (later.empty()) return;
    const Scratch::Frame frame(scratch);
    double* const common = scratch.take(rest);
    std::copy_n(table, rest, common);
    for (int64_t label = 1; label < count; ++label) {
      const double* const row = table + label * rest;
      for (int64_t k = 0; k < rest; ++k) common[k] += row[k];
    }
    spread(variable + 1, later, common, rest, scratch);
  }

  std::vector<int64_t> counts_;
  std::vector<std::vector<Place>> places_;
};

}  // namespace margrave
