// One label per example: no structure at all. Parts are the labels.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "structures/labels.h"
#include "structures/single_part.h"

namespace margrave {

class MulticlassStructure final : public SinglePartStructure {
 public:
  explicit MulticlassStructure(Labels labels) : data_(std::move(labels)) {
    for (int64_t i = 0; i < size(); ++i)
      if (data_.length(i) != 1) throw InputError("a multiclass example has exactly one label.");
    if (!data_.restricted()) return;
    std::vector<double> theta(static_cast<size_t>(data_.labels()));
    for (int64_t i = 0; i < size(); ++i) {
      std::fill(theta.begin(), theta.end(), 0.0);
      data_.forbid(i, theta.data());
      if (*std::max_element(theta.begin(), theta.end()) == -kInfinity) throw forbids_everything(i, 0);
      if (data_.has_gold() && theta[*data_.gold(i)] == -kInfinity)
        throw InputError("example " + std::to_string(i) + ", position 0: the constraints forbid its own labels.");
    }
  }

  int64_t size() const override { return data_.size(); }
  int64_t parts(int64_t) const override { return data_.labels(); }
  int64_t columns() const override { return data_.labels(); }
  bool has_gold() const override { return data_.has_gold(); }
  void gold(int64_t i, int64_t, Output& y) const override { y.assign(1, *data_.gold(i)); }
  double cost(int64_t i, double* delta) const override { return data_.cost(i, delta), 0.0; }
  bool constrained() const override { return data_.restricted(); }
  void forbid(int64_t i, double* theta) const override { data_.forbid(i, theta); }

 private:
  Labels data_;
};

}  // namespace margrave
