// Tied chains of order 1 with many labels, in lock-step (protocol/lock_step.h, simd/lanes_body.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "protocol/problem.h"
#include "simd/lanes.h"
#include "simd/loops.h"
#include "structures/labels.h"

namespace margrave {

// With observed transitions most of the table has no weight: it is a constant, exp(0), plus a sparse part, exp(w) - 1
// on the transitions with a weight (Lavergne, Cappe and Yvon 2010, section 3.2). A step then costs as many
// multiplications as transitions are listed, not labels^2.
class ChainLanes final : public Lanes {
 public:
  // Repeats one example alone, under the scores of all of its parts: log partition function and marginals.
  using Alone = std::function<double(int64_t i, const double* theta, double* mu, Scratch& scratch)>;

  static constexpr int64_t kFewestLabels = 33;  // below that a row stays in registers, and one by one is faster

  // transitions: (labels, labels), -inf where forbidden; used: those whose marginals are wanted, ascending. All others
  // score 0 or -inf.
  ChainLanes(const Labels& data, std::vector<double> transitions, const std::vector<int64_t>& used, Alone alone)
      : data_(data), transitions_(std::move(transitions)), alone_(std::move(alone)) {
    const int64_t L = data_.labels();
    forward_.resize(at(L * padded(L)));
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

  int64_t most() const override { return kLockStep; }
  bool argmax_is_faster() const override { return table_.sparse; }

  void logsum(std::vector<Lane>& lanes, double* shared, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter(lanes, in);
    double* room = scratch.take(lanes_scratch(longest, data_.labels(), count()));
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
    std::vector<int32_t> best(at(longest * kLockStep));
    for (size_t b = 0; b < lanes.size(); ++b) in[b].best = best.data() + at(longest) * b;
    loops().chain_lanes_viterbi(table_, in, scratch.take(lanes_scratch(longest, data_.labels(), count())));
    for (size_t b = 0; b < lanes.size(); ++b) {
      lanes[b].value = in[b].value;
      lanes[b].y.clear();
      if (in[b].value > -kInfinity) to_parts(in[b].best, in[b].length, lanes[b].y);
    }
  }

 private:
  static size_t at(int64_t k) { return static_cast<size_t>(k); }

  // Of the labels^2 transitions at most this share may be listed: beyond it the dense loops are faster.
  static constexpr double kMostListed = 0.6;
  static constexpr uint8_t kListed = 255;

  struct Entries {
    std::vector<int32_t> label;
    std::vector<int64_t> begin{0};
    std::vector<int32_t> other;
    std::vector<double> number, score, value, excess;
    LaneEntries view() const {
      return {label.data(), begin.data(), other.data(), number.data(), score.data(), value.data(), excess.data()};
    }
  };

  // Lists the transitions that are used or do not score 0, if they are few enough.
  void list(const std::vector<int64_t>& used) {
    const int64_t L = data_.labels();
    listed_.assign(at(L * L), 0);
    for (const int64_t q : used) listed_[at(q)] = kListed;
    for (size_t q = 0; q < listed_.size(); ++q)
      if (transitions_[q] != 0) listed_[q] = kListed;
    const auto number = std::count(listed_.begin(), listed_.end(), kListed);
    table_.sparse = static_cast<double>(number) <= kMostListed * static_cast<double>(L * L);
    if (!table_.sparse) return;
    table_.listed = listed_.data();
    table_.by_target = group(by_target_, 1, L);
    table_.by_source = group(by_source_, L, 1);
  }

  // Transition from * labels + to is one * across + other * along, where `one` is the label to group by.
  LaneEntries group(Entries& entries, int64_t across, int64_t along) const {
    const int64_t L = data_.labels();
    std::vector<int64_t> sizes(at(L), 0);
    for (int64_t one = 0; one < L; ++one)
      for (int64_t other = 0; other < L; ++other)
        sizes[at(one)] += listed_[at(one * across + other * along)] == kListed;
    entries.label.resize(at(L));
    std::iota(entries.label.begin(), entries.label.end(), 0);
    std::stable_sort(entries.label.begin(), entries.label.end(),
                     [&](int32_t a, int32_t b) { return sizes[at(a)] < sizes[at(b)]; });
    for (const int32_t one : entries.label) {
      for (int64_t other = 0; other < L; ++other) {
        const size_t q = at(one * across + other * along);
        if (!listed_[q]) continue;
        entries.other.push_back(static_cast<int32_t>(other));
        entries.number.push_back(static_cast<double>(other));
        entries.score.push_back(transitions_[q]);
        entries.value.push_back(std::exp(transitions_[q] - table_.top));
        entries.excess.push_back(entries.value.back() - table_.constant);
      }
      entries.begin.push_back(static_cast<int64_t>(entries.other.size()));
    }
    return entries.view();
  }

  int64_t count() const { return static_cast<int64_t>(by_source_.other.size()); }

  // Fills the lanes of the loops; the longest length.
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

  void repeat(Lane& lane, double* shared, Scratch& scratch) const {
    const int64_t own = data_.length(lane.example) * data_.labels();
    const auto all = own + static_cast<int64_t>(transitions_.size());
    double* theta = scratch.take(all);
    double* mu = scratch.take(all);
    std::copy(lane.theta, lane.theta + own, theta);
    std::copy(transitions_.begin(), transitions_.end(), theta + own);
    lane.value = alone_(lane.example, theta, mu, scratch);
    if (!shared) return;
    std::copy(mu, mu + own, lane.mu);
    for (size_t q = 0; q < transitions_.size(); ++q) shared[q] += lane.weight * mu[at(own) + q];
  }

  void to_parts(const int32_t* labels, int64_t length, Output& y) const {
    const int64_t L = data_.labels();
    for (int64_t t = 0; t < length; ++t) y.push_back(static_cast<int32_t>(t * L + labels[t]));
    for (int64_t t = 1; t < length; ++t) y.push_back(static_cast<int32_t>((length + labels[t - 1]) * L + labels[t]));
  }

  const Labels& data_;
  std::vector<double> transitions_;
  Alone alone_;
  std::vector<double> forward_;
  std::vector<uint8_t> listed_;
  Entries by_target_;
  Entries by_source_;
  LaneTable table_{};
};

}  // namespace margrave
