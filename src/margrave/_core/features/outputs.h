// Classes described by output features (003, section 4.2): Psi(x, y) = Phi(x) (x) Lambda(y).
//
// Lambda(y) is row y of a sparse matrix M (classes, output features). Another feature map scores the output features,
// one weight vector each (003, Proposition 22). M maps these scores to those of the classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {

class OutputFeatures final : public Features {
 public:
  // inner: `width` parts per example, which share no weights and have rows of one length, |A_i' e_k| = |Phi(x_i)|. Its
  // radius is that of one part against another, sqrt(2) |Phi(x_i)|. M by rows: begin (classes + 1), column, value.
  // spread: the largest |M' (y - y')| of two outputs; 0 if outputs are single classes, because the rows determine it.
  OutputFeatures(std::shared_ptr<const Features> inner, int64_t width, std::vector<int64_t> begin,
                 std::vector<int32_t> column, std::vector<double> value, double spread)
      : inner_(std::move(inner)),
        width_(width),
        begin_(std::move(begin)),
        column_(std::move(column)),
        value_(std::move(value)),
        spread_(spread) {
    if (begin_.empty() || begin_.front() != 0 || begin_.back() != static_cast<int64_t>(column_.size()) ||
        !std::is_sorted(begin_.begin(), begin_.end()))
      throw InputError("the bounds of the rows of output features must ascend from 0 to the number of entries.");
    if (value_.size() != column_.size()) throw InputError("output features need as many values as columns.");
    for (const int32_t k : column_)
      if (k < 0 || k >= width_) throw InputError("an output feature is out of range.");
    for (const double v : value_)
      if (!std::isfinite(v)) throw InputError("the values of output features must be finite.");
    if (!(spread_ >= 0) || spread_ == kInfinity) throw InputError("the spread must be finite and not negative.");
    for (int64_t i = 0; i < inner_->size(); ++i)
      if (inner_->parts(i) != width_)
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(inner_->parts(i)) +
                         " output features, and the matrix has " + std::to_string(width_) + ".");
  }

  int64_t size() const override { return inner_->size(); }
  int64_t dim() const override { return inner_->dim(); }
  int64_t parts(int64_t) const override { return classes(); }

  void score(int64_t i, const double* w, double* theta) const override {
    std::vector<double> scores(width_);
    inner_->score(i, w, scores.data());
    for (int64_t y = 0; y < classes(); ++y) {
      double sum = 0;
      for (int64_t k = begin_[y]; k < begin_[y + 1]; ++k) sum += value_[k] * scores[column_[k]];
      theta[y] = sum;
    }
  }
  void scatter(int64_t i, const double* mu, double c, double* g) const override {
    inner_->scatter(i, of_features(mu).data(), c, g);
  }
  double move(int64_t i, const double* v, double c, double* w) const override {
    return inner_->move(i, of_features(v).data(), c, w);
  }
  void row(int64_t i, const double* v, Row& row) const override { inner_->row(i, of_features(v).data(), row); }
  double dot(const double* u, const double* v) const override { return inner_->dot(u, v); }
  bool euclidean() const override { return inner_->euclidean(); }

  // |A_i' M' (y - y')| = |Phi(x_i)| |M' (y - y')| (003, Propositions 21 and 24).
  double radius(int64_t i) const override {
    std::call_once(measured_, [this] {
      if (spread_ == 0) spread_ = widest();
    });
    return inner_->radius(i) * std::sqrt(0.5) * spread_;
  }

 private:
  int64_t classes() const { return static_cast<int64_t>(begin_.size()) - 1; }

  // M' v; usually v is nonzero for only two classes.
  std::vector<double> of_features(const double* v) const {
    std::vector<double> sums(width_);
    for (int64_t y = 0; y < classes(); ++y) {
      if (v[y] == 0) continue;
      for (int64_t k = begin_[y]; k < begin_[y + 1]; ++k) sums[column_[k]] += v[y] * value_[k];
    }
    return sums;
  }

  // The largest |Lambda(y) - Lambda(y')|.
  double widest() const {
    std::vector<double> row(width_);
    double largest = 0;
    for (int64_t y = 0; y < classes(); ++y) {
      std::fill(row.begin(), row.end(), 0.0);
      double square = 0;
      for (int64_t k = begin_[y]; k < begin_[y + 1]; ++k) row[column_[k]] += value_[k];
      for (const double v : row) square += v * v;
      for (int64_t other = 0; other < y; ++other) {
        double distance = square;
        for (int64_t k = begin_[other]; k < begin_[other + 1]; ++k)
          distance += value_[k] * (value_[k] - 2 * row[column_[k]]);
        largest = std::max(largest, distance);
      }
    }
    return std::sqrt(largest);
  }

  std::shared_ptr<const Features> inner_;
  int64_t width_;
  std::vector<int64_t> begin_;
  std::vector<int32_t> column_;
  std::vector<double> value_;
  mutable double spread_;  // 0 until computed on demand: every pair of classes is compared
  mutable std::once_flag measured_;
};

}  // namespace margrave
