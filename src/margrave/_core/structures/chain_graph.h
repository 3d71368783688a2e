// A factor graph that is a chain: the kernel of chains is faster than a clique tree.
//
// The variables have equally many labels and form a path. Every variable and every edge of the path has one dense
// factor, and there are no others. The kernel expects the parts of positions first, then those of pairs of neighbors
// (before, after), in the order of the path. If the graph has another order, scores and marginals are copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engines/factor_graphs.h"
#include "protocol/outputs.h"
#include "protocol/scratch.h"
#include "structures/chain.h"

namespace margrave {

class ChainGraph {
 public:
  // Null if the graph is not a chain.
  static std::shared_ptr<const ChainGraph> make(const FactorGraphs& graphs, int64_t g) {
    const int64_t n = graphs.variables(g);
    if (graphs.hards(g) > 0 || graphs.factors(g) != 2 * n - 1) return nullptr;
    std::vector<int64_t> unary(n, -1);
    std::vector<std::vector<int64_t>> beside(n);  // the pair factors of each variable
    for (int64_t f = 0; f < graphs.factors(g); ++f) {
      const SoftFactor soft = graphs.factor(g, f);
      if (soft.form != FactorForm::kDense || soft.arity > 2) return nullptr;
      for (int64_t j = 0; j < soft.arity; ++j) {
        if (graphs.labels(g, soft.scope[j]) != graphs.labels(g, 0)) return nullptr;
        if (soft.arity == 2) beside[soft.scope[j]].push_back(f);
      }
      if (soft.arity == 2) continue;
      if (unary[soft.scope[0]] >= 0) return nullptr;
      unary[soft.scope[0]] = f;
    }
    int64_t first = -1;  // the end of the path with the lowest number
    for (int64_t v = n; v-- > 0;) {
      if (unary[v] < 0 || beside[v].size() > 2) return nullptr;
      if (beside[v].size() < 2) first = v;
    }
    if (first < 0) return nullptr;
    return along(graphs, g, first, unary, beside);
  }

  const ChainStructure& kernel() const { return *chain_; }

  // The scores in the kernel's order.
  const double* ordered(const double* theta, Scratch& scratch) const {
    if (part_.empty()) return theta;
    double* copy = scratch.take(static_cast<int64_t>(part_.size()));
    for (size_t k = 0; k < part_.size(); ++k) copy[k] = theta[part_[k]];
    return copy;
  }
  // Calls fill(values) for values in the kernel's order, and copies them to the order of the graph.
  template <typename Fill>
  double fill(double* values, const Fill& fill, Scratch& scratch) const {
    if (part_.empty()) return fill(values);
    double* copy = scratch.take(static_cast<int64_t>(part_.size()));
    const double result = fill(copy);
    for (size_t k = 0; k < part_.size(); ++k) values[part_[k]] = copy[k];
    return result;
  }
  void rename(Output& y) const {
    if (part_.empty()) return;
    for (int32_t& part : y) part = part_[part];
    std::sort(y.begin(), y.end());
  }

 private:
  static std::shared_ptr<const ChainGraph> along(const FactorGraphs& graphs, int64_t g, int64_t first,
                                                 const std::vector<int64_t>& unary,
                                                 const std::vector<std::vector<int64_t>>& beside) {
    const int64_t n = graphs.variables(g), labels = graphs.labels(g, 0);
    std::vector<int32_t> positions, pairs;
    int64_t v = first, came = -1;
    for (int64_t t = 0; t < n; ++t) {
      const SoftFactor own = graphs.factor(g, unary[v]);
      for (int64_t k = 0; k < labels; ++k) positions.push_back(static_cast<int32_t>(own.first_part + k));
      const auto next = std::find_if(beside[v].begin(), beside[v].end(), [&](int64_t f) { return f != came; });
      if (next == beside[v].end()) {
        if (t + 1 < n) return nullptr;  // the path does not contain all variables
        break;
      }
      if (t + 1 == n) return nullptr;  // a double edge
      came = *next;
      const SoftFactor pair = graphs.factor(g, came);
      const bool forward = pair.scope[0] == v;
      for (int64_t a = 0; a < labels; ++a)
        for (int64_t b = 0; b < labels; ++b)
          pairs.push_back(static_cast<int32_t>(pair.first_part + (forward ? a * labels + b : b * labels + a)));
      v = pair.scope[forward ? 1 : 0];
    }
    auto result = std::make_shared<ChainGraph>();
    result->part_ = std::move(positions);
    result->part_.insert(result->part_.end(), pairs.begin(), pairs.end());
    bool same = true;
    for (size_t k = 0; k < result->part_.size(); ++k) same = same && result->part_[k] == static_cast<int32_t>(k);
    if (same) result->part_.clear();
    result->chain_ = std::make_shared<const ChainStructure>(Labels(labels, {0, n}, {}, nullptr, {}), 1, false,
                                                            std::vector<uint8_t>());
    return result;
  }

  std::shared_ptr<const ChainStructure> chain_;
  std::vector<int32_t> part_;  // by part of the kernel: the part of the graph; empty if all are the same
};

}  // namespace margrave
