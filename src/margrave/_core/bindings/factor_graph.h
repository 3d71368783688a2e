// Gold labels, costs and allowed labels of factor graphs, as passed from Python.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bindings/binding.h"
#include "structures/factor_graph.h"

namespace margrave {

inline FactorGraphLabels graph_labels(const std::optional<In<int32_t>>& gold, const std::optional<In<int32_t>>& set_of,
                                      const std::vector<std::shared_ptr<LabelCost>>& costs,
                                      const std::optional<In<bool>>& allowed) {
  FactorGraphLabels labels;
  labels.gold = to_vector(gold);
  labels.set_of = to_vector(set_of);
  labels.costs.assign(costs.begin(), costs.end());
  if (allowed) labels.allowed.assign(allowed->data(), allowed->data() + allowed->size());
  return labels;
}

}  // namespace margrave
