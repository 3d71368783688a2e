// Outputs that consist of a single part: inference compares all parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engines/hypergraph.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "simd/loops.h"

namespace margrave {

class SinglePartStructure : public Structure {
 public:
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | kEntropy | kUntied; }
  bool zero_one_is_of_parts() const override { return true; }
  int64_t choice(int64_t i) const override { return parts(i); }

  double argmax(int64_t i, const double* theta, Output& y, Scratch&) const override {
    const double* best = std::max_element(theta, theta + parts(i));
    y.clear();
    if (*best > -kInfinity) y.push_back(static_cast<int32_t>(best - theta));
    return *best;
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch&) const override {
    return loops().softmax(theta, parts(i), mu);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    const int64_t n = parts(i);
    const std::vector<int64_t> costs = whole_costs(delta, n);
    ys.clear();
    for (int64_t p = 0; p < n; ++p) {
      if (theta[p] == -kInfinity) continue;
      const int64_t cost = costs[p];
      const auto same = std::find_if(ys.begin(), ys.end(), [cost](const CostedOutput& y) { return y.cost == cost; });
      if (same == ys.end())
        ys.push_back({cost, theta[p], {static_cast<int32_t>(p)}});
      else if (theta[p] > same->value)
        *same = {cost, theta[p], {static_cast<int32_t>(p)}};
    }
    std::sort(ys.begin(), ys.end(), [](const CostedOutput& a, const CostedOutput& b) { return a.cost < b.cost; });
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch&) const override {
    const int64_t n = parts(i);
    std::vector<int32_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto wanted = order.begin() + std::min(k, n);
    std::partial_sort(order.begin(), wanted, order.end(),
                      [theta](int32_t a, int32_t b) { return theta[a] != theta[b] ? theta[a] > theta[b] : a < b; });
    ys.clear();
    for (auto part = order.begin(); part != wanted && theta[*part] > -kInfinity; ++part)
      ys.push_back({theta[*part], {*part}});
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    const int64_t n = parts(i);
    double* mu = scratch.take(n);
    if (loops().softmax(theta, n, mu) == -kInfinity) throw InputError("every output is forbidden.");
    y.assign(1, static_cast<int32_t>(random.choose(mu, n)));
  }
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    double sum = 0;
    for (int64_t p = 0; p < parts(i); ++p) {
      t[p] = std::log(mu[p]);
      if (mu[p] > 0) sum -= mu[p] * t[p];
    }
    return sum;
  }
};

}  // namespace margrave
