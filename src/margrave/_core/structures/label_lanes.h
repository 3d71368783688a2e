// Base of tied chains of any order in lock-step (protocol/lock_step.h, simd/lanes.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "protocol/lock_step.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "simd/lanes.h"
#include "structures/labels.h"

namespace margrave {

// A transition between labels or, for tuples, between states.
struct Transition {
  int32_t source;
  int32_t target;
  int32_t part;
  double score;
};

// Listed transitions, grouped for the loops.
class TransitionGroups {
 public:
  // transitions: ascending by source and target; size: the number of sources, or of targets. Values are exp(score -
  // top), and the constant is the value of score 0.
  template <typename Group, typename Other>
  LaneEntries make(const std::vector<Transition>& transitions, int64_t size, double top, double constant,
                   const Group& group, const Other& other) {
    std::vector<int64_t> sizes(size, 0);
    for (const Transition& each : transitions) ++sizes[group(each)];
    label_.resize(size);
    std::iota(label_.begin(), label_.end(), 0);
    std::stable_sort(label_.begin(), label_.end(), [&](int32_t a, int32_t b) { return sizes[a] < sizes[b]; });
    begin_.assign(1, 0);
    std::vector<int64_t> next(size);
    for (const int32_t each : label_) {
      next[each] = begin_.back();
      begin_.push_back(begin_.back() + sizes[each]);
    }
    other_.resize(transitions.size());
    number_.resize(transitions.size());
    score_.resize(transitions.size());
    value_.resize(transitions.size());
    excess_.resize(transitions.size());
    part_.resize(transitions.size());
    for (const Transition& each : transitions) {
      const size_t q = next[group(each)]++;
      other_[q] = other(each);
      number_[q] = static_cast<double>(other_[q]);
      score_[q] = each.score;
      value_[q] = std::exp(each.score - top);
      excess_[q] = value_[q] - constant;
      part_[q] = each.part;
    }
    const auto empty = std::count(sizes.begin(), sizes.end(), 0);
    return {size,           empty,         label_.data(), begin_.data(),  other_.data(),
            number_.data(), score_.data(), value_.data(), excess_.data(), part_.data()};
  }

  static int32_t source_of(const Transition& each) { return each.source; }
  static int32_t target_of(const Transition& each) { return each.target; }

 private:
  std::vector<int32_t> label_;
  std::vector<int64_t> begin_;
  std::vector<int32_t> other_;
  std::vector<double> number_, score_, value_, excess_;
  std::vector<int32_t> part_;
};

class LabelLanes : public Lanes {
 public:
  // alone: inference for one example at a time; transitions: the scores of the shared parts, -inf where forbidden.
  LabelLanes(const Labels& data, const Structure& alone, std::vector<double> transitions)
      : data_(data), alone_(alone), transitions_(std::move(transitions)) {}

  int64_t max_lanes() const override { return kLockStep; }

 protected:
  // Fills the lanes of the loops. Returns the longest length.
  int64_t enter(std::vector<Lane>& lanes, ChainLane* in) const {
    int64_t longest = 0;
    for (size_t b = 0; b < lanes.size(); ++b) {
      data_.forbid(lanes[b].example, lanes[b].theta);
      in[b].length = data_.length(lanes[b].example);
      in[b].theta = lanes[b].theta;
      in[b].mu = lanes[b].mu;
      in[b].weight = lanes[b].weight;
      longest = std::max(longest, in[b].length);
    }
    return longest;
  }

  double* scores(const Lane& lane, Scratch& scratch) const {
    double* theta = scratch.take(own(lane) + static_cast<int64_t>(transitions_.size()));
    std::copy(lane.theta, lane.theta + own(lane), theta);
    std::copy(transitions_.begin(), transitions_.end(), theta + own(lane));
    return theta;
  }

  // Log partition function and marginals of an example that is not exact in lock-step.
  void repeat(Lane& lane, double* shared, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    double* mu = scratch.take(own(lane) + static_cast<int64_t>(transitions_.size()));
    lane.value = alone_.logsum(lane.example, scores(lane, scratch), mu, scratch);
    if (!shared) return;
    std::copy(mu, mu + own(lane), lane.mu);
    for (size_t q = 0; q < transitions_.size(); ++q) shared[q] += lane.weight * mu[static_cast<size_t>(own(lane)) + q];
  }

  const Labels& data_;
  const Structure& alone_;
  std::vector<double> transitions_;

 private:
  int64_t own(const Lane& lane) const { return data_.length(lane.example) * data_.labels(); }
};

}  // namespace margrave
