// Random derivations of a grammar, by the inside sums of a chart (engines/cky.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engines/cky.h"
#include "protocol/random.h"

namespace margrave::cky {

// Draws choices in proportion to their share of the inside sums.
template <class A>
class Draw {
 public:
  Draw(const Chart<A>& chart, Random& random) : chart_(chart), random_(random) {}

  int32_t root() {
    begin();
    for (size_t k = 0; k < chart_.grammar().roots().size(); ++k)
      add(A::times(chart_.root_top(k), chart_.root_weight(k)), {static_cast<int32_t>(k), -1});
    return draw().rule;
  }
  int32_t label(int32_t top, int s, int e) {
    begin();
    const int64_t cell = chart_.parts().cell(s, e);
    for (const int32_t label : chart_.grammar().below(top, e - s == 1))
      if (chart_.uses(label))
        add(A::times(chart_.bottom(chart_.grammar().labels()[label].bottom, s, e), chart_.label_weight(label, cell)),
            {label, -1});
    return draw().rule;
  }
  RuleAt rule(int32_t bottom, int s, int e) {
    begin();
    if (e - s == 1) {
      for (const int32_t rule : chart_.grammar().words_of(chart_.terminals()[s]))
        if (chart_.grammar().lexical()[rule].lhs == bottom) add(chart_.lexical_weight(rule, s), {rule, -1});
    } else {
      chart_.each_rule(bottom, s, e, [&](int32_t rule, int m, auto value) { add(value, {rule, m}); });
    }
    return draw();
  }

 private:
  void begin() {
    values_.clear();
    choices_.clear();
    total_ = A::zero();
  }
  void add(typename A::Value value, RuleAt choice) {
    if (!A::alive(value)) return;
    values_.push_back(value);
    choices_.push_back(choice);
    total_ = A::plus(total_, value);
  }
  RuleAt draw() {
    weights_.clear();
    for (const auto& value : values_) weights_.push_back(A::number(value / total_));
    return choices_[random_.choose(weights_.data(), static_cast<int64_t>(weights_.size()))];
  }

  const Chart<A>& chart_;
  Random& random_;
  std::vector<typename A::Value> values_;
  std::vector<RuleAt> choices_;
  std::vector<double> weights_;
  typename A::Value total_ = A::zero();
};

}  // namespace margrave::cky
