// Features of the soft factors of graphs: every factor has a row of attributes, and weights are tied by groups.
//
// Factors belong to groups, such as nodes and edges. All factors of a group have tables of the same size. The group has
// a weight for each pair of an attribute and a column. `column` maps the cells of the tables to columns. So cells can
// share weights, such as both orders of a pair of labels, or all equal pairs. Cells in column -1 score 0.
//
//   theta[part] = sum_a value_a w[first + a columns + column[cell of the part]]
//
// The k-th factor of a group in an example has the k-th of the group's rows in the example.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/factor_graphs.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "rows/sparse_rows.h"
#include "rows/tokens.h"

namespace margrave {

class FactorMap final : public Features {
 public:
  struct Group {
    int64_t attributes;
    int64_t columns;
    std::vector<int32_t> column;  // (cells of a table)
    std::shared_ptr<const Tokens> rows;
    bool shared;  // every example has one row, shared by all of its factors of this group
  };

  // group_of: the group of each factor, graph by graph.
  FactorMap(std::shared_ptr<const FactorGraphs> graphs, std::vector<int32_t> group_of, std::vector<Group> groups)
      : graphs_(std::move(graphs)), group_of_(std::move(group_of)), groups_(std::move(groups)) {
    for (const Group& group : groups_) {
      check_group(group);
      first_.push_back(dim_);
      dim_ += group.attributes * group.columns;
      widest_ = std::max(widest_, group.columns);
    }
    for (int64_t g = 0; g < graphs_->graphs(); ++g) factor_begin_.push_back(factor_begin_.back() + graphs_->factors(g));
    if (static_cast<int64_t>(group_of_.size()) != factor_begin_.back())
      throw InputError("there must be a group for each factor of each graph.");
    for (int64_t g = 0; g < graphs_->graphs(); ++g) check_graph(g);
    check_rows();
  }

  int64_t size() const override { return graphs_->examples(); }
  int64_t dim() const override { return dim_; }
  int64_t parts(int64_t i) const override { return graphs_->parts(graphs_->graph_of(i)); }

  void score(int64_t i, const double* w, double* theta) const override {
    std::vector<double> sums(widest_);
    each_factor(i, [&](const SoftFactor& soft, int32_t g, int64_t row) {
      const Group& group = groups_[g];
      std::fill_n(sums.begin(), group.columns, 0.0);
      each_entry(group, row, [&](int64_t a, double value) {
        const double* weights = w + first_[g] + a * group.columns;
        for (int64_t c = 0; c < group.columns; ++c) sums[c] += value * weights[c];
      });
      for (int64_t part = 0; part < soft.parts; ++part) {
        const int32_t c = group.column[soft.cell_of(part)];
        theta[soft.first_part + part] = c < 0 ? 0.0 : sums[c];
      }
    });
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override { spread<false>(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return spread<true>(i, v, c, w); }

  void row(int64_t i, const double* v, Row& row) const override {
    std::vector<std::pair<int64_t, double>> entries;
    std::vector<double> sums(widest_);
    each_factor(i, [&](const SoftFactor& soft, int32_t g, int64_t place) {
      const Group& group = groups_[g];
      if (!sum_columns(soft, group, v, sums)) return;
      each_entry(group, place, [&](int64_t a, double value) {
        for (int64_t c = 0; c < group.columns; ++c)
          if (sums[c] != 0) entries.emplace_back(first_[g] + a * group.columns + c, value * sums[c]);
      });
    });
    merge_entries(entries, row);
  }

  // Two outputs differ in at most two columns of each factor.
  double radius(int64_t i) const override {
    double total = 0;
    std::vector<std::pair<int64_t, double>> entries;
    Row merged;
    each_factor(i, [&](const SoftFactor&, int32_t g, int64_t place) {
      entries.clear();
      each_entry(groups_[g], place, [&](int64_t a, double value) { entries.emplace_back(a, value); });
      merge_entries(entries, merged);  // hashing may merge two attributes
      double square = 0;
      for (const double value : merged.value) square += value * value;
      total += std::sqrt(2 * square);
    });
    return total;
  }

 private:
  // Sums the values of the parts of a factor by column; false if all are 0.
  static bool sum_columns(const SoftFactor& soft, const Group& group, const double* v, std::vector<double>& sums) {
    std::fill_n(sums.begin(), group.columns, 0.0);
    bool any = false;
    for (int64_t part = 0; part < soft.parts; ++part) {
      const int32_t c = group.column[soft.cell_of(part)];
      const double value = v[soft.first_part + part];
      if (c < 0 || value == 0) continue;
      sums[c] += value;
      any = true;
    }
    return any;
  }

  template <bool Measured>
  double spread(int64_t i, const double* mu, double factor, double* g) const {
    double change = 0;
    std::vector<double> sums(widest_);
    each_factor(i, [&](const SoftFactor& soft, int32_t k, int64_t place) {
      const Group& group = groups_[k];
      if (!sum_columns(soft, group, mu, sums)) return;
      each_entry(group, place, [&](int64_t a, double value) {
        double* weights = g + first_[k] + a * group.columns;
        for (int64_t c = 0; c < group.columns; ++c)
          change += add_measured<Measured>(factor * value * sums[c], weights[c]);
      });
    });
    return change;
  }

  template <typename Visit>
  void each_factor(int64_t i, const Visit& visit) const {
    const int64_t g = graphs_->graph_of(i);
    std::vector<int64_t> next(groups_.size());
    for (size_t k = 0; k < groups_.size(); ++k) next[k] = groups_[k].rows->example_begin[i];
    for (int64_t f = 0; f < graphs_->factors(g); ++f) {
      const int32_t group = group_of_[factor_begin_[g] + f];
      visit(graphs_->factor(g, f), group, groups_[group].shared ? next[group] : next[group]++);
    }
  }

  template <typename Visit>
  static void each_entry(const Group& group, int64_t row, const Visit& visit) {
    const Tokens& rows = *group.rows;
    for (int64_t k = rows.row_begin[row]; k < rows.row_begin[row + 1]; ++k)
      visit(rows.index[k], rows.value.empty() ? 1.0 : rows.value[k]);
  }

  void check_group(const Group& group) const {
    if (group.attributes < 0 || group.columns < 1 || !group.rows)
      throw InputError("a group of factors is not complete.");
    if (group.attributes > (int64_t{1} << 40) / group.columns)
      throw InputError("a group of factors has too many weights.");
    for (const int32_t c : group.column)
      if (c < -1 || c >= group.columns) throw InputError("a cell has a column that is out of range.");
    for (const int32_t a : group.rows->index)
      if (a >= group.attributes) throw InputError("an attribute of a factor is out of range.");
  }

  void check_graph(int64_t g) const {
    for (int64_t f = 0; f < graphs_->factors(g); ++f) {
      const int32_t group = group_of_[factor_begin_[g] + f];
      if (group < 0 || static_cast<size_t>(group) >= groups_.size())
        throw InputError("the group of a factor is out of range.");
      const auto cells = static_cast<int64_t>(groups_[group].column.size());
      if (graphs_->factor(g, f).cells != cells)
        throw InputError("graph " + std::to_string(g) + ", soft factor " + std::to_string(f) + ": its table has " +
                         std::to_string(graphs_->factor(g, f).cells) + " cells, and those of its group have " +
                         std::to_string(cells) + ".");
    }
  }

  void check_rows() const {
    std::vector<int64_t> counts(groups_.size());
    for (const Group& group : groups_)
      if (group.rows->examples() != size())
        throw InputError("there are rows of " + std::to_string(group.rows->examples()) + " examples, and " +
                         std::to_string(size()) + " graphs.");
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t g = graphs_->graph_of(i);
      std::fill(counts.begin(), counts.end(), 0);
      for (int64_t f = 0; f < graphs_->factors(g); ++f) ++counts[group_of_[factor_begin_[g] + f]];
      for (size_t k = 0; k < groups_.size(); ++k) {
        const std::vector<int64_t>& begin = groups_[k].rows->example_begin;
        const int64_t rows = begin[i + 1] - begin[i];
        const int64_t wanted = groups_[k].shared ? 1 : counts[k];
        if (rows != wanted)
          throw InputError("example " + std::to_string(i) + " has " + std::to_string(rows) +
                           " rows of features in group " + std::to_string(k) + ", and needs " + std::to_string(wanted) +
                           ".");
      }
    }
  }

  std::shared_ptr<const FactorGraphs> graphs_;
  std::vector<int32_t> group_of_;
  std::vector<Group> groups_;
  std::vector<int64_t> first_;  // (groups): where its weights begin
  int64_t dim_ = 0;
  int64_t widest_ = 1;
  std::vector<int64_t> factor_begin_{0};  // (graphs + 1)
};

}  // namespace margrave
