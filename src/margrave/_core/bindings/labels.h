// Labels of tokens from Python arrays, for the bindings of multiclass and of chains.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "structures/labels.h"

namespace margrave {

inline std::vector<uint8_t> flags_of(const std::optional<In<bool>>& array) {
  return array ? std::vector<uint8_t>(array->data(), array->data() + array->size()) : std::vector<uint8_t>();
}

inline Labels labels_of(int64_t labels, const In<int64_t>& begin, const std::optional<In<int32_t>>& gold,
                        std::shared_ptr<LabelCost> cost, const std::optional<In<bool>>& allowed) {
  return Labels(labels, to_vector(begin), to_vector(gold), std::move(cost), flags_of(allowed));
}

}  // namespace margrave
