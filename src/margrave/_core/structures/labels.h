// Gold labels, label costs and allowed labels of tokens, for multiclass and chains.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "structures/label_cost.h"
#include "structures/token_bounds.h"

namespace margrave {

class Labels {
 public:
  // begin (examples + 1): where each example's tokens begin. gold: one label per token, or empty. cost: null if all
  // costs are 0. allowed: (tokens, labels) of 0 and 1, or empty.
  Labels(int64_t labels, std::vector<int64_t> begin, std::vector<int32_t> gold, std::shared_ptr<const LabelCost> cost,
         std::vector<uint8_t> allowed)
      : labels_(checked_count(labels, "labels", 1)),
        begin_(std::move(begin)),
        gold_(std::move(gold)),
        cost_(std::move(cost)),
        allowed_(std::move(allowed)) {
    check_token_bounds(begin_);
    for (int64_t i = 0; i < size(); ++i)
      if (length(i) > kMostCount / labels)
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(length(i)) + " tokens with " +
                         std::to_string(labels) + " labels each, more parts than can be numbered: split it.");
    const auto tokens = static_cast<size_t>(begin_.back());
    if (!gold_.empty() && gold_.size() != tokens) throw InputError("there must be one gold label per token.");
    for (const int32_t label : gold_)
      if (label < 0 || label >= labels) throw InputError("a gold label is out of range.");
    if (cost_ && cost_->labels() != labels)
      throw InputError("there are " + std::to_string(labels) + " labels, and costs of " +
                       std::to_string(cost_->labels()) + ".");
    if (!allowed_.empty() && allowed_.size() != tokens * static_cast<size_t>(labels))
      throw InputError("allowed labels must be (tokens, labels).");
  }

  int64_t size() const { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t labels() const { return labels_; }
  int64_t first(int64_t i) const { return begin_[i]; }
  int64_t length(int64_t i) const { return begin_[i + 1] - begin_[i]; }
  bool has_gold() const { return !gold_.empty() || begin_.back() == 0; }
  bool restricted() const { return !allowed_.empty(); }
  const int32_t* gold(int64_t i) const {
    if (gold_.empty()) throw InputError("this problem was bound without gold labels.");
    return gold_.data() + begin_[i];
  }

  // delta (length, labels) of the label costs.
  void cost(int64_t i, double* delta) const {
    const int32_t* y = gold(i);
    if (!cost_) std::fill(delta, delta + length(i) * labels_, 0.0);
    for (int64_t t = 0; cost_ && t < length(i); ++t) cost_->row(y[t], delta + t * labels_);
  }

  void forbid(int64_t i, double* theta) const {
    if (allowed_.empty()) return;
    const uint8_t* allow = allowed_.data() + begin_[i] * labels_;
    for (int64_t k = 0; k < length(i) * labels_; ++k)
      if (!allow[k]) theta[k] = -kInfinity;
  }

 private:
  int64_t labels_;
  std::vector<int64_t> begin_;
  std::vector<int32_t> gold_;
  std::shared_ptr<const LabelCost> cost_;
  std::vector<uint8_t> allowed_;
};

// The error for constraints that leave an example without any output.
inline InputError forbids_everything(int64_t example, int64_t position) {
  return InputError("example " + std::to_string(example) + ", position " + std::to_string(position) +
                    ": the constraints forbid every label here.");
}

}  // namespace margrave
