// One label an example: no structure at all. Parts are the labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "hypergraph.h"
#include "kernels.h"
#include "labels.h"

namespace margrave {

class MulticlassStructure final : public Structure {
 public:
  explicit MulticlassStructure(Labels labels) : data_(std::move(labels)) {
    std::vector<double> theta(static_cast<size_t>(data_.labels()));
    for (int64_t i = 0; i < size(); ++i) {
      if (data_.length(i) != 1) throw InputError("a multiclass example has exactly one label.");
      if (!data_.restricted()) continue;
      std::fill(theta.begin(), theta.end(), 0.0);
      data_.forbid(i, theta.data());
      if (*std::max_element(theta.begin(), theta.end()) == -kInfinity) throw forbids_everything(i, 0);
      if (data_.has_gold() && theta[static_cast<size_t>(*data_.gold(i))] == -kInfinity)
        throw InputError("example " + std::to_string(i) + ", position 0: the constraints forbid its own labels.");
    }
  }

  int64_t size() const override { return data_.size(); }
  int64_t parts(int64_t) const override { return data_.labels(); }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | kEntropy | kUntied; }
  bool has_gold() const override { return data_.has_gold(); }
  void gold(int64_t i, Output& y) const override { y.assign(1, *data_.gold(i)); }
  double cost(int64_t i, double* delta) const override { return data_.cost(i, delta), 0.0; }
  bool zero_one_is_of_parts() const override { return true; }
  bool constrained() const override { return data_.restricted(); }
  void forbid(int64_t i, double* theta) const override { data_.forbid(i, theta); }

  double argmax(int64_t, const double* theta, Output& y, Scratch&) const override {
    const double* best = std::max_element(theta, theta + data_.labels());
    y.clear();
    if (*best > -kInfinity) y.push_back(static_cast<int32_t>(best - theta));
    return *best;
  }
  double logsum(int64_t, const double* theta, double* mu, Scratch&) const override {
    return kernels().softmax(theta, data_.labels(), mu);
  }
  void argmax_by_cost(int64_t, const double* theta, const double* delta, std::vector<CostedOutput>& ys,
                      Scratch&) const override {
    const std::vector<int64_t> costs = whole_costs(delta, data_.labels());
    ys.clear();
    for (int64_t l = 0; l < data_.labels(); ++l) {
      if (theta[l] == -kInfinity) continue;
      const int64_t cost = costs[static_cast<size_t>(l)];
      const auto same = std::find_if(ys.begin(), ys.end(), [cost](const CostedOutput& y) { return y.cost == cost; });
      if (same == ys.end())
        ys.push_back({cost, theta[l], {static_cast<int32_t>(l)}});
      else if (theta[l] > same->value)
        *same = {cost, theta[l], {static_cast<int32_t>(l)}};
    }
    std::sort(ys.begin(), ys.end(), [](const CostedOutput& a, const CostedOutput& b) { return a.cost < b.cost; });
  }
  void kbest(int64_t, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    std::vector<int32_t> order(static_cast<size_t>(data_.labels()));
    std::iota(order.begin(), order.end(), 0);
    const auto wanted = order.begin() + std::min(k, data_.labels());
    std::partial_sort(order.begin(), wanted, order.end(),
                      [theta](int32_t a, int32_t b) { return theta[a] != theta[b] ? theta[a] > theta[b] : a < b; });
    ys.clear();
    for (auto label = order.begin(); label != wanted && theta[*label] > -kInfinity; ++label)
      ys.push_back({theta[*label], {*label}});
  }
  void sample(int64_t, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    double* mu = scratch.take(data_.labels());
    if (kernels().softmax(theta, data_.labels(), mu) == -kInfinity) throw InputError("every label is forbidden.");
    y.assign(1, static_cast<int32_t>(random.choose(mu, data_.labels())));
  }
  double entropy(int64_t, const double* mu, double* t, Scratch&) const override {
    double sum = 0;
    for (int64_t l = 0; l < data_.labels(); ++l) {
      t[l] = std::log(mu[l]);
      if (mu[l] > 0) sum -= mu[l] * t[l];
    }
    return sum;
  }

 private:
  Labels data_;
};

}  // namespace margrave
