// Tied chains of order 1 with many labels, in lock-step (protocol/lock_step.h, simd/lanes_body.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "simd/loops.h"
#include "structures/label_lanes.h"

namespace margrave {

// With observed transitions, most of the table has no weight. It is a constant, exp(0), plus a sparse part, exp(w) - 1
// on the transitions with a weight (Lavergne, Cappe and Yvon 2010, section 3.2). A step then costs one multiplication
// per listed transition instead of labels^2.
class ChainLanes final : public LabelLanes {
 public:
  static constexpr int64_t kFewestLabels = 33;  // with fewer, a row stays in registers, and one by one is faster

  // transitions: (labels, labels), -inf where forbidden; used: those whose marginals are needed, ascending. All others
  // score 0 or -inf.
  ChainLanes(const Labels& data, const Structure& alone, std::vector<double> transitions,
             const std::vector<int64_t>& used)
      : LabelLanes(data, alone, std::move(transitions)) {
    const int64_t L = data_.labels();
    forward_.resize(L * padded(L));
    ChainTable dense{forward_.data(), nullptr, 0, 0, false};
    loops().chain_table(L, transitions_.data(), &dense);
    table_.labels = L;
    table_.forward = forward_.data();
    table_.top = dense.top;
    table_.range = dense.range;
    table_.forbidden = dense.forbidden;
    table_.constant = std::exp(-dense.top);
    list(used);
  }

  bool argmax_is_faster() const override { return table_.sparse; }

  void logsum(std::vector<Lane>& lanes, double* shared, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter(lanes, in);
    double* room = scratch.take(lanes_scratch(longest, data_.labels(), count_));
    loops().chain_lanes(table_, in, shared != nullptr, shared, room);
    for (size_t b = 0; b < lanes.size(); ++b) {
      lanes[b].value = in[b].log_z;
      if (!in[b].exact) repeat(lanes[b], shared, scratch);
    }
  }

  void argmax(std::vector<Lane>& lanes, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter(lanes, in);
    std::vector<int32_t> best(longest * kLockStep);
    for (size_t b = 0; b < lanes.size(); ++b) in[b].best = best.data() + static_cast<size_t>(longest) * b;
    loops().chain_lanes_viterbi(table_, in, scratch.take(lanes_scratch(longest, data_.labels(), count_)));
    for (size_t b = 0; b < lanes.size(); ++b) {
      lanes[b].value = in[b].value;
      lanes[b].y.clear();
      if (in[b].value > -kInfinity) to_parts(in[b].best, in[b].length, lanes[b].y);
    }
  }

  bool kbest_is_faster() const override { return false; }
  void kbest(std::vector<Lane>&, int64_t, Scratch&) const override { unsupported("kbest in lock-step"); }
  bool sample_is_faster() const override { return false; }
  void sample(std::vector<Lane>&, std::vector<Random>&, Scratch&) const override { unsupported("sample in lock-step"); }

 private:
  // At most this share of the labels^2 transitions may be listed. Beyond it, the dense loops are faster.
  static constexpr double kMostListed = 0.6;
  static constexpr uint8_t kListed = 255;

  // Lists the transitions that are used or have a nonzero score, if they are few enough.
  void list(const std::vector<int64_t>& used) {
    const int64_t L = data_.labels();
    listed_.assign(L * L, 0);
    for (const int64_t q : used) listed_[q] = kListed;
    for (size_t q = 0; q < listed_.size(); ++q)
      if (transitions_[q] != 0) listed_[q] = kListed;
    const auto number = std::count(listed_.begin(), listed_.end(), kListed);
    table_.sparse = static_cast<double>(number) <= kMostListed * static_cast<double>(L * L);
    if (!table_.sparse) return;
    std::vector<Transition> transitions;
    for (int64_t q = 0; q < L * L; ++q)
      if (listed_[q])
        transitions.push_back(
            {static_cast<int32_t>(q / L), static_cast<int32_t>(q % L), static_cast<int32_t>(q), transitions_[q]});
    count_ = static_cast<int64_t>(transitions.size());
    table_.listed = listed_.data();
    table_.by_target = by_target_.make(transitions, L, table_.top, table_.constant, TransitionGroups::target_of,
                                       TransitionGroups::source_of);
    table_.by_source = by_source_.make(transitions, L, table_.top, table_.constant, TransitionGroups::source_of,
                                       TransitionGroups::target_of);
  }

  void to_parts(const int32_t* labels, int64_t length, Output& y) const {
    const int64_t L = data_.labels();
    for (int64_t t = 0; t < length; ++t) y.push_back(static_cast<int32_t>(t * L + labels[t]));
    for (int64_t t = 1; t < length; ++t) y.push_back(static_cast<int32_t>((length + labels[t - 1]) * L + labels[t]));
  }

  std::vector<double> forward_;
  std::vector<uint8_t> listed_;
  TransitionGroups by_target_;
  TransitionGroups by_source_;
  int64_t count_ = 0;  // number of listed transitions
  LaneTable table_{};
};

}  // namespace margrave
