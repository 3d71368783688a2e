// Tied chains of order 2 and 3 with few weighted label tuples, in lock-step (protocol/lock_step.h,
// simd/tuple_lanes_body.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "engines/trellis.h"
#include "protocol/checks.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "simd/loops.h"
#include "structures/label_lanes.h"

namespace margrave {

class TupleLanes final : public LabelLanes {
 public:
  // Whether few enough tuples of order + 1 labels are used to make this faster than all tuples of one example at a
  // time.
  static bool are_faster(const Grams& grams, const std::vector<int64_t>& used) {
    return share(grams, used) <= kMostListed && grow(grams);
  }

  // scores: of all grams of a position; used: those whose marginals are needed, ascending. All others score 0.
  TupleLanes(const Labels& data, const Structure& alone, const Grams& grams, std::vector<double> scores,
             const std::vector<int64_t>& used)
      : LabelLanes(data, alone, std::move(scores)), grams_(grams), share_(share(grams, used)) {
    table_.labels = data_.labels();
    table_.order = grams_.order();
    link(used);
    const auto [top, range] = sum_up();
    list(used, top, range);
    group_sources();
    for (int64_t i = 0; i < data_.size(); ++i) longest_ = std::max(longest_, fitting(data_.length(i)));
  }

  bool argmax_is_faster() const override { return share_ <= kMostForBest; }
  bool kbest_is_faster() const override { return share_ <= kMostForBest; }
  bool sample_is_faster() const override { return true; }

  void logsum(std::vector<Lane>& lanes, double* shared, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter_short(lanes, in);
    forward_backward(in, longest, shared, shared ? longest : 2, scratch);
    for (size_t b = 0; b < lanes.size(); ++b) {
      lanes[b].value = in[b].log_z;
      if (!in[b].exact) repeat(lanes[b], shared, scratch);
    }
  }

  void argmax(std::vector<Lane>& lanes, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter(lanes, in);
    std::vector<int32_t> labels(longest * kLockStep);
    viterbi(in, longest, 2, labels, scratch);
    for (size_t b = 0; b < lanes.size(); ++b) {
      lanes[b].value = in[b].value;
      lanes[b].y.clear();
      if (in[b].value > -kInfinity) grams_.to_parts(in[b].best, in[b].length, true, lanes[b].y);
    }
  }

  void kbest(std::vector<Lane>& lanes, int64_t k, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter_short(lanes, in);
    std::vector<int32_t> labels(longest * kLockStep);
    const double* tops = viterbi(in, longest, longest, labels, scratch);
    for (size_t b = 0; b < lanes.size(); ++b) {
      if (in[b].length == 0) {
        alone_.kbest(lanes[b].example, scores(lanes[b], scratch), k, lanes[b].best, scratch);
        continue;
      }
      const Trellis trellis = trellis_of(lanes[b]);
      LazyPrefixes prefixes(trellis, tops + b, states(), kLockStep);
      best_sequences(trellis, prefixes, k, true, lanes[b].best);
    }
  }

  void sample(std::vector<Lane>& lanes, std::vector<Random>& randoms, Scratch& scratch) const override {
    const Scratch::Frame frame(scratch);
    ChainLane in[kLockStep] = {};
    const int64_t longest = enter_short(lanes, in);
    const double* alpha = forward_backward(in, longest, nullptr, longest, scratch);
    std::vector<double> ends;
    std::vector<int32_t> labels;
    for (size_t b = 0; b < lanes.size(); ++b) {
      if (!in[b].exact) {
        alone_.sample_many(lanes[b].example, scores(lanes[b], scratch), randoms[b], lanes[b].samples, scratch);
        continue;
      }
      const Trellis trellis = trellis_of(lanes[b]);
      const auto message = [&](int64_t t, int64_t state) {
        return alpha[(t * states() + state) * kLockStep + static_cast<int64_t>(b)];
      };
      ends.clear();
      for (int64_t s = 0; s < grams_.states(in[b].length - 1); ++s) ends.push_back(message(in[b].length - 1, s));
      const auto weight = [&](int64_t t, int64_t e, int64_t source, int64_t) {
        const double own = trellis.own(t)[e];
        return own == 0 ? message(t - 1, source) : message(t - 1, source) * std::exp(own);
      };
      for (Output& y : lanes[b].samples) {
        draw_labels(trellis, ends, weight, randoms[b], labels);
        grams_.to_parts(labels.data(), in[b].length, true, y);
      }
    }
  }

 private:
  // Whether the number of states never decreases with the position, which the rows of messages assume. Forbidden
  // transitions may leave fewer tuples than labels.
  static bool grow(const Grams& grams) {
    for (int64_t m = 1; m < grams.order(); ++m)
      if (grams.level(m + 1).size() < grams.level(m).size()) return false;
    return true;
  }
  // At most this share of the tuples of order + 1 labels may be listed. Beyond it, the dense loops are faster.
  static constexpr double kMostListed = 0.2;
  static constexpr double kMostForBest = 0.1;  // the dense loops of Viterbi do less work per tuple
  // Messages of longer sequences take too much memory. These sequences are computed alone.
  static constexpr int64_t kMostMessages = int64_t{1} << 26;

  static double share(const Grams& grams, const std::vector<int64_t>& used) {
    const Grams::Level& longest = grams.level(grams.order() + 1);
    const auto listed = used.end() - std::lower_bound(used.begin(), used.end(), longest.part);
    return static_cast<double>(listed) / static_cast<double>(std::max<int64_t>(longest.size(), 1));
  }

  int64_t states() const { return table_.states[table_.order].count; }
  Trellis trellis_of(const Lane& lane) const {
    return Trellis(grams_, data_.length(lane.example), true, lane.theta, transitions_.data());
  }

  void link(const std::vector<int64_t>& used) {
    for (int64_t m = 1; m <= grams_.order(); ++m) {
      const Grams::Level& level = grams_.level(m);
      TupleStates& to = table_.states[m];
      to.count = level.size();
      to.begin = level.outgoing_begin.data();
      to.prefix = level.prefix.data();
      to.suffix = level.suffix.data();
      to.last = level.last.data();
      to.own = transitions_.data() + level.part;
      to.part = level.part;
      if (m == 1) continue;
      for (const int64_t part : used)
        if (part >= level.part && part < level.part + level.size())
          used_[m].push_back(static_cast<int32_t>(part - level.part));
      to.used = used_[m].data();
      to.used_count = static_cast<int64_t>(used_[m].size());
    }
  }

  // The scores of tuples of up to `order` labels, including their suffixes. Returns the largest one and its difference
  // to the smallest.
  std::pair<double, double> sum_up() {
    sum_[1].assign(data_.labels(), 0.0);
    factor_[1].assign(data_.labels(), 1.0);
    double top = -kInfinity;
    double bottom = kInfinity;
    for (int64_t m = 2; m <= grams_.order(); ++m) {
      sum_[m].resize(grams_.level(m).size());
      add_suffixes(grams_, m, table_.states[m].own, sum_[m - 1].data(), sum_[m].data());
      for (const double sum : sum_[m]) {
        top = std::max(top, sum);
        bottom = std::min(bottom, sum);
      }
    }
    for (int64_t m = 2; m <= grams_.order(); ++m)
      for (const double sum : sum_[m]) factor_[m].push_back(std::exp(sum - top));
    for (int64_t m = 1; m <= grams_.order(); ++m) {
      table_.states[m].sum = sum_[m].data();
      table_.states[m].factor = factor_[m].data();
    }
    return {top, top - bottom};
  }

  // Lists the used tuples of order + 1 labels. The largest score and the range of all transitions combine those of
  // shorter tuples and of these.
  void list(const std::vector<int64_t>& used, double top, double range) {
    const Grams::Level& longest = grams_.level(grams_.order() + 1);
    std::vector<Transition> listed;
    double high = 0;
    double low = 0;
    for (auto part = std::lower_bound(used.begin(), used.end(), longest.part); part != used.end(); ++part) {
      const size_t e = *part - longest.part;
      const double score = transitions_[*part];
      listed.push_back({longest.prefix[e], longest.suffix[e], static_cast<int32_t>(e), score});
      high = std::max(high, score);
      low = std::min(low, score);
    }
    table_.part = longest.part;
    table_.top = top + high;
    table_.range = range + (high - low);
    table_.constant = std::exp(-high);
    table_.by_target = by_target_.make(listed, states(), high, table_.constant, TransitionGroups::target_of,
                                       TransitionGroups::source_of);
    table_.by_source = by_source_.make(listed, states(), high, table_.constant, TransitionGroups::source_of,
                                       TransitionGroups::target_of);
    group_of_.assign(states(), -1);
    for (int64_t k = table_.by_target.empty; k < table_.by_target.groups; ++k)
      group_of_[table_.by_target.label[k]] = static_cast<int32_t>(k - table_.by_target.empty);
    table_.group_of = group_of_.data();
  }

  // Groups the states by suffix.
  void group_sources() {
    const std::vector<int32_t>& suffix = grams_.level(grams_.order()).suffix;
    source_begin_.assign(table_.states[grams_.order() - 1].count + 1, 0);
    for (const int32_t u : suffix) ++source_begin_[u + 1];
    std::partial_sum(source_begin_.begin(), source_begin_.end(), source_begin_.begin());
    std::vector<int64_t> next = source_begin_;
    source_.resize(suffix.size());
    for (size_t s = 0; s < suffix.size(); ++s) source_[next[suffix[s]]++] = static_cast<int32_t>(s);
    table_.source_begin = source_begin_.data();
    table_.source = source_.data();
  }

  // The length of a sequence, or 0 if it is too long.
  int64_t fitting(int64_t length) const { return length <= kMostMessages / (states() * kLockStep) ? length : 0; }

  // Memory for this many rows of states. For all positions, it is sized for the longest sequence: unused pages cost
  // nothing, but growing step by step does.
  double* rows_of_states(int64_t rows, Scratch& scratch) const {
    return scratch.take((rows == 2 ? 2 : longest_) * states() * kLockStep);
  }

  // Fills the lanes, and leaves those empty whose sequence is too long. Returns the longest length of the others.
  int64_t enter_short(std::vector<Lane>& lanes, ChainLane* in) const {
    enter(lanes, in);
    int64_t longest = 0;
    for (size_t b = 0; b < lanes.size(); ++b) {
      in[b].length = fitting(in[b].length);
      longest = std::max(longest, in[b].length);
    }
    return longest;
  }

  // Forward and, unless `shared` is null, backward. Lanes that must be repeated alone are then empty or not exact.
  // Returns the forward messages, in `rows` rows.
  const double* forward_backward(ChainLane* in, int64_t longest, double* shared, int64_t rows, Scratch& scratch) const {
    bool out[kLockStep];
    for (int64_t b = 0; b < kLockStep; ++b) out[b] = in[b].length == 0;
    double* alpha = rows_of_states(rows, scratch);
    double* room = scratch.take(tuples_scratch(table_, longest));
    while (!loops().tuple_lanes(table_, in, shared, std::max<int64_t>(rows, 1), alpha, room))
      for (int64_t b = 0; b < kLockStep; ++b)
        if (!in[b].exact) {
          in[b].length = 0;
          out[b] = true;
        }
    for (int64_t b = 0; b < kLockStep; ++b) in[b].exact &= !out[b];
    return alpha;
  }

  // Writes the best labels of all lanes to `labels`. Returns the best scores of prefixes, in `rows` rows.
  const double* viterbi(ChainLane* in, int64_t longest, int64_t rows, std::vector<int32_t>& labels,
                        Scratch& scratch) const {
    for (int64_t b = 0; b < kLockStep; ++b) in[b].best = labels.data() + longest * b;
    std::vector<int32_t> back(tuples_back(table_, longest));
    double* tops = rows_of_states(rows, scratch);
    double* room = scratch.take(tuples_scratch(table_, longest));
    loops().tuple_lanes_viterbi(table_, in, std::max<int64_t>(rows, 1), tops, back.data(), room);
    return tops;
  }

  const Grams& grams_;
  double share_;  // share of the tuples of order + 1 labels that are listed
  std::vector<int32_t> used_[kHighestOrder + 1];
  std::vector<double> sum_[kHighestOrder + 1];
  std::vector<double> factor_[kHighestOrder + 1];
  TransitionGroups by_target_;
  TransitionGroups by_source_;
  std::vector<int32_t> group_of_;
  std::vector<int64_t> source_begin_;
  std::vector<int32_t> source_;
  TupleTable table_{};
  int64_t longest_ = 2;  // longest sequence in lock-step
};

}  // namespace margrave
