// A sparse vector for every part: the feature map of trees, of candidates, and of other parts with their own features.
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
#include "rows/sparse_rows.h"
#include "rows/tokens.h"

namespace margrave {

class SparseParts final : public Features {
 public:
  // rows: one token row per part. choice and repeats (examples): as in Structure (for the radius). Empty repeats: a
  // part is in an output at most once.
  SparseParts(int64_t dim, std::shared_ptr<const Tokens> rows, std::vector<int64_t> choice,
              std::vector<int64_t> repeats = {})
      : dim_(dim), rows_(std::move(rows)), choice_(std::move(choice)), repeats_(std::move(repeats)) {
    if (static_cast<int64_t>(choice_.size()) != rows_->examples())
      throw InputError("there must be one group size per example.");
    if (!repeats_.empty() && repeats_.size() != choice_.size())
      throw InputError("there must be one number of repeats per example.");
    for (const int64_t often : repeats_)
      if (often < 1) throw InputError("the number of repeats must be at least 1.");
    for (const int32_t a : rows_->index)
      if (a >= dim) throw InputError("a feature's index is out of range.");
    for (int64_t i = 0; i < rows_->examples(); ++i) {
      const int64_t parts = rows_->example_begin[i + 1] - rows_->example_begin[i];
      if (choice_[i] < 1 || parts % choice_[i] != 0)
        throw InputError("example " + std::to_string(i) + ": parts must come in whole groups.");
    }
  }

  int64_t size() const override { return rows_->examples(); }
  int64_t dim() const override { return dim_; }
  int64_t parts(int64_t i) const override { return rows_->example_begin[i + 1] - rows_->example_begin[i]; }

  void score(int64_t i, const double* w, double* theta) const override {
    each_part(i, [&](int64_t part, int64_t first, int64_t last) {
      double sum = 0;
      for (int64_t k = first; k < last; ++k) sum += value(k) * w[rows_->index[k]];
      theta[part] = sum;
    });
  }

  void scatter(int64_t i, const double* mu, double c, double* g) const override { spread<false>(i, mu, c, g); }
  double move(int64_t i, const double* v, double c, double* w) const override { return spread<true>(i, v, c, w); }

  void row(int64_t i, const double* v, Row& row) const override {
    std::vector<std::pair<int64_t, double>> entries;
    each_part(i, [&](int64_t part, int64_t first, int64_t last) {
      if (v[part] == 0) return;
      for (int64_t k = first; k < last; ++k) entries.emplace_back(rows_->index[k], v[part] * value(k));
    });
    merge_entries(entries, row);
  }

  // If outputs have exactly one part of each group, two outputs differ by at most two rows per group. In groups of one
  // optional part, they differ by as many copies of its row as an output may have.
  double radius(int64_t i) const override {
    double total = 0;
    double longest = 0;
    Row row;
    std::vector<std::pair<int64_t, double>> entries;
    each_part(i, [&](int64_t part, int64_t first, int64_t last) {
      if (part % choice_[i] == 0) {
        total += longest;
        longest = 0;
      }
      entries.clear();
      for (int64_t k = first; k < last; ++k) entries.emplace_back(rows_->index[k], value(k));
      merge_entries(entries, row);  // hashing may merge two attributes
      double square = 0;
      for (const double v : row.value) square += v * v;
      longest = std::max(longest, std::sqrt(square));
    });
    return static_cast<double>(std::max<int64_t>(repeats_.empty() ? 1 : repeats_[i], 2)) * (total + longest);
  }

 private:
  // g += c A_i' mu. If Measured, returns the change of 1/2 |g|^2.
  template <bool Measured>
  double spread(int64_t i, const double* mu, double c, double* g) const {
    double change = 0;
    each_part(i, [&](int64_t part, int64_t first, int64_t last) {
      if (mu[part] == 0) return;
      for (int64_t k = first; k < last; ++k)
        change += add_measured<Measured>(c * mu[part] * value(k), g[rows_->index[k]]);
    });
    return change;
  }

  double value(int64_t k) const { return rows_->value.empty() ? 1.0 : rows_->value[k]; }
  template <typename Visit>
  void each_part(int64_t i, const Visit& visit) const {
    const int64_t begin = rows_->example_begin[i];
    const int64_t end = rows_->example_begin[i + 1];
    for (int64_t p = begin; p < end; ++p) visit(p - begin, rows_->row_begin[p], rows_->row_begin[p + 1]);
  }

  int64_t dim_;
  std::shared_ptr<const Tokens> rows_;
  std::vector<int64_t> choice_;
  std::vector<int64_t> repeats_;
};

}  // namespace margrave
