// Inner products of the outputs in an example's block of dual variables.
#pragma once

#include <algorithm>
#include <vector>

#include "losses/family.h"
#include "protocol/problem.h"

namespace margrave {

// A symmetric matrix, row by row, that grows and shrinks with the block.
class GramMatrix {
 public:
  GramMatrix() = default;
  GramMatrix(std::vector<double> values, size_t rows) : values_(std::move(values)), rows_(rows) {}

  size_t rows() const { return rows_; }
  const std::vector<double>& values() const { return values_; }
  double at(size_t a, size_t b) const { return values_[a * rows_ + b]; }
  void set(size_t a, size_t b, double value) { values_[a * rows_ + b] = values_[b * rows_ + a] = value; }

  // Grows to more rows; new entries are 0.
  void grow(size_t rows) {
    std::vector<double> wider(rows * rows);
    for (size_t a = 0; a < rows_; ++a)
      std::copy_n(values_.begin() + static_cast<int64_t>(a * rows_), rows_,
                  wider.begin() + static_cast<int64_t>(a * rows));
    values_ = std::move(wider);
    rows_ = rows;
  }
  void remove(size_t gone) {
    size_t to = 0;
    for (size_t a = 0; a < rows_; ++a)
      for (size_t b = 0; b < rows_; ++b)
        if (a != gone && b != gone) values_[to++] = values_[a * rows_ + b];
    values_.resize(to);
    --rows_;
  }

 private:
  std::vector<double> values_;
  size_t rows_ = 0;
};

// scores = A_i A_i'v: the scores of all parts under the features of v, which are inner products.
inline void score_under(const Problem& problem, int64_t i, const double* v, double* scores, Worker& worker) {
  worker.zeros.resize(static_cast<size_t>(problem.dim()));
  problem.scatter(i, v, 1.0, worker.zeros.data());
  problem.score(i, worker.zeros.data(), scores);
  problem.row(i, v, worker.row);  // Subtracting the same again would leave the rounding errors of sums.
  for (const int64_t k : worker.row.index) worker.zeros[k] = 0.0;
}

}  // namespace margrave
