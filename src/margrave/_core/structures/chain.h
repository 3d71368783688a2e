// Label sequences of any order. Parts of a sequence of T tokens: (position, label), T*L of them, then the label tuples
// of 2 .. order+1 neighbors ("grams"), once for the whole sequence (tied) or once for each position from 1 on (untied).
//
// Hot operations of order 1 have specialized loops (simd/loops.h). Everything else, and every higher order, is dynamic
// programming over the trellis whose states are tuples of `order` labels. Tuples with a forbidden transition do not
// exist. At order 0 there are no tuples, and every position is a problem of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engines/chain_by_cost.h"
#include "engines/trellis.h"
#include "engines/tuple_sums.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/lock_step.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "simd/loops.h"
#include "structures/chain_lanes.h"
#include "structures/labels.h"
#include "structures/tuple_lanes.h"

namespace margrave {

class ChainStructure final : public Structure, private Divisible, private WeightedSums, private SharedParts {
 public:
  ChainStructure(Labels labels, int64_t order, bool tied, std::vector<uint8_t> forbidden)
      : data_(std::move(labels)),
        shared_grams_(shared_grams(data_.labels(), order, forbidden)),
        grams_(*shared_grams_),
        tied_(tied && order > 0),
        forbidden_(order == 1 ? std::move(forbidden) : std::vector<uint8_t>()) {
    for (int64_t i = 0; i < size(); ++i)
      if (parts(i) > std::numeric_limits<int32_t>::max())
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(parts(i)) +
                         " parts, more than can be numbered: split it, or use tied parts.");
    const bool all_pairs = order == 0 || grams_.level(2).size() == data_.labels() * data_.labels();
    if (constrained() || !all_pairs) check_feasible();
  }

  int64_t size() const override { return data_.size(); }
  int64_t parts(int64_t i) const override {
    return data_.length(i) * data_.labels() + tables(data_.length(i)) * grams_.parts();
  }
  int64_t columns() const override { return data_.labels(); }
  int64_t length(int64_t i) const { return data_.length(i); }
  bool tied() const { return tied_; }
  int64_t repeats(int64_t i) const override { return tied_ ? std::max<int64_t>(data_.length(i) - 1, 1) : 1; }
  unsigned offers() const override {
    const unsigned untied = tied_ ? 0u : kUntied | (grams_.order() < 2 ? kEntropy : 0u);
    return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | untied;
  }
  bool has_gold() const override { return data_.has_gold(); }
  void gold(int64_t i, int64_t, Output& y) const override { to_parts(data_.gold(i), data_.length(i), y); }

  double cost(int64_t i, double* delta) const override {
    data_.cost(i, delta);
    std::fill(delta + data_.length(i) * data_.labels(), delta + parts(i), 0.0);
    return 0;
  }

  // A change is a run of wrong labels. No label tuple reaches across `order` correct labels, so runs at least that far
  // apart are independent. A run therefore also occupies the `order` sites after it.
  const Divisible* divisible() const override { return this; }
  const WeightedSums* weighted() const override { return this; }
  int64_t sites(int64_t i) const override { return data_.length(i); }
  std::vector<Change> changes(int64_t i, const Output& y) const override {
    const int64_t T = data_.length(i);
    const int32_t* good = data_.gold(i);
    const auto label = [&](int64_t t) { return static_cast<int32_t>(y[t] - t * data_.labels()); };
    std::vector<Change> result;
    std::vector<int32_t> labels(T);
    for (int64_t t = 0; t < T; ++t) {
      if (label(t) == good[t]) continue;
      std::copy(good, good + T, labels.begin());
      int64_t after = t;  // the last wrong label
      for (int64_t u = t; u < T && u <= after + grams_.order(); ++u) {
        labels[u] = label(u);
        if (label(u) != good[u]) after = u;
      }
      result.push_back({{}, t, std::min(after + grams_.order(), T - 1)});
      to_parts(labels.data(), T, result.back().y);
      t = result.back().last;
    }
    return result;
  }

  bool constrained() const override { return data_.restricted() || !forbidden_.empty(); }
  void forbid(int64_t i, double* theta) const override {
    data_.forbid(i, theta);
    double* table = theta + data_.length(i) * data_.labels();
    for (int64_t k = 0; k < tables(data_.length(i)); ++k, table += grams_.parts())
      for (size_t q = 0; q < forbidden_.size(); ++q)
        if (forbidden_[q]) table[q] = -kInfinity;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    const int64_t T = data_.length(i);
    std::vector<int32_t> labels(T);
    double value;
    if (grams_.order() == 0) {
      value = best_labels(theta, T, labels.data());
    } else if (grams_.order() == 1) {
      double* room = scratch.take(chain_scratch(T, data_.labels()));
      value = loops().chain_viterbi(T, data_.labels(), theta, theta + T * data_.labels(), stride(), labels.data(),
                                    nullptr, nullptr, room);
    } else {
      value = Trellis(grams_, T, tied_, theta).best_sequence(labels.data());
    }
    y.clear();
    if (value > -kInfinity) to_parts(labels.data(), T, y);
    return value;
  }

  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    const int64_t T = data_.length(i);
    if (grams_.order() == 0) return sum_of_labels(theta, T, mu);
    const int64_t edges = T * data_.labels();
    if (grams_.order() == 1) {
      const std::vector<ChainTable> transitions = chain_tables(T, theta + edges, scratch);
      double* room = scratch.take(chain_scratch(T, data_.labels()));
      double log_z = 0;
      if (loops().chain_logsum(T, data_.labels(), theta, transitions.data(), stride(), mu, mu + edges, room, &log_z))
        return log_z;
    } else {
      double log_z = 0;
      if (TupleSums(grams_, T, tied_, theta).scaled(mu, &log_z)) return log_z;
    }
    return TupleSums(grams_, T, tied_, theta).exact(mu);
  }

  // Used by online EG on many labels, with different transitions at every visit. Exponentials are computed only for
  // transitions with a score.
  double logsum_weighted(int64_t i, const WeightedParts& weighted, const double* theta, double* mu,
                         Scratch& scratch) const override {
    const int64_t T = data_.length(i);
    const int64_t L = data_.labels();
    const int64_t edges = T * L;
    if (grams_.order() == 1 && tied_ && grams_.parts() == L * L && weighted.head == edges && weighted.blocks == 1) {
      const int64_t room = L * padded(L);
      ChainTable table{scratch.take(room), scratch.take(room), 0, 0, false};
      loops().chain_table_listed(L, weighted.list, weighted.listed, theta + edges, scratch.take(weighted.listed),
                                 &table);
      double* pairs = scratch.take(L * L);
      double log_z = 0;
      if (loops().chain_logsum(T, L, theta, &table, 0, mu, pairs, scratch.take(chain_scratch(T, L)), &log_z)) {
        for (int64_t k = 0; k < weighted.listed; ++k) mu[edges + k] = pairs[weighted.list[k]];
        return log_z;
      }
    }
    return logsum_by_all_parts(*this, i, weighted, theta, mu, scratch);
  }

  // The two best at order 1, needed by the zero-one cost and LP-Struct, cost little more than the argmax.
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    const int64_t T = data_.length(i);
    if (k == 2 && grams_.order() == 1) return two_best(T, theta, ys, scratch);
    const Trellis trellis(grams_, T, tied_, theta);
    const Trellis::Best best = trellis.viterbi();
    LazyPrefixes prefixes(trellis, best.value.data(), best.width, 1);
    best_sequences(trellis, prefixes, k, tied_, ys);
  }

  void two_best(int64_t T, const double* theta, std::vector<ScoredOutput>& ys, Scratch& scratch) const {
    std::vector<int32_t> best(T), second(T);
    double* room = scratch.take(chain_scratch(T, data_.labels()));
    double value_of_second = -kInfinity;
    const double value = loops().chain_viterbi(T, data_.labels(), theta, theta + T * data_.labels(), stride(),
                                               best.data(), second.data(), &value_of_second, room);
    ys.clear();
    for (const auto& [score, labels] : {std::pair(value, &best), std::pair(value_of_second, &second)}) {
      if (score == -kInfinity) return;
      ys.push_back({score, {}});
      to_parts(labels->data(), T, ys.back().y);
    }
  }

  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }

  // Forward once, then backward for every draw.
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys, Scratch&) const override {
    const int64_t T = data_.length(i);
    if (grams_.order() == 0) return draw_each_label(theta, T, random, ys);
    const Trellis trellis(grams_, T, tied_, theta);
    std::vector<std::vector<double>> alpha;
    trellis.forward(alpha);
    const double log_z = Trellis::log_sum(alpha.back());
    if (log_z == -kInfinity) throw InputError("every output is forbidden.");
    std::vector<double> ends;
    for (const double a : alpha.back()) ends.push_back(std::exp(a - log_z));
    const auto weight = [&](int64_t t, int64_t e, int64_t source, int64_t state) {
      return std::exp(trellis.edge(t, e) + alpha[t - 1][source] - alpha[t][state]);
    };
    std::vector<int32_t> labels;
    for (Output& y : ys) {
      draw_labels(trellis, ends, weight, random, labels);
      to_parts(labels.data(), T, y);
    }
  }

  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    best_by_cost(grams_, data_.length(i), tied_, theta, delta, whole_costs(delta, parts(i)), ys);
  }

  // Entropy of the Markov chain with these marginals; t are the logs of its conditionals (000, last paragraph).
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    if (tied_ || grams_.order() > 1) return unsupported("entropy (it needs an untied chain of order 0 or 1)"), 0.0;
    const int64_t T = data_.length(i);
    const int64_t L = data_.labels();
    const int64_t free = grams_.order() == 0 ? T * L : L;  // parts of labels that depend on none before
    double sum = 0;
    for (int64_t l = 0; l < T * L; ++l) {
      t[l] = l < free ? std::log(mu[l]) : 0.0;
      if (l < free && mu[l] > 0) sum -= mu[l] * t[l];
    }
    if (grams_.order() == 0) return sum;
    for (int64_t p = 0; p + 1 < T; ++p)
      for (int64_t q = 0; q < L * L; ++q) {
        const int64_t k = T * L + p * L * L + q;
        const double share = mu[k] / mu[p * L + q / L];
        t[k] = mu[k] > 0 ? std::log(share) : -kInfinity;
        if (mu[k] > 0) sum -= mu[k] * t[k];
      }
    return sum;
  }

  const Grams& grams() const { return grams_; }

  // Tied transitions are the same parts in every example.
  const SharedParts* shared() const override { return tied_ ? this : nullptr; }
  int64_t shared_count() const override { return grams_.parts(); }
  std::unique_ptr<const Lanes> lanes(const double* theta, const std::vector<int64_t>& used) const override {
    std::vector<double> transitions(theta, theta + grams_.parts());
    for (size_t q = 0; q < forbidden_.size(); ++q)
      if (forbidden_[q]) transitions[q] = -kInfinity;
    if (grams_.order() > 1) {
      if (!TupleLanes::are_faster(grams_, used)) return nullptr;
      return std::make_unique<TupleLanes>(data_, *this, grams_, std::move(transitions), used);
    }
    if (data_.labels() < ChainLanes::kFewestLabels) return nullptr;
    return std::make_unique<ChainLanes>(data_, *this, std::move(transitions), used);
  }

 private:
  int64_t tables(int64_t length) const { return tied_ ? 1 : length - 1; }
  int64_t stride() const { return tied_ ? 0 : grams_.parts(); }

  // Transition tables for the scaled loops. Tied ones seldom change between examples. They are cached with the scores
  // they were computed from, and recomputed only if those differ.
  std::vector<ChainTable> chain_tables(int64_t length, const double* transitions, Scratch& scratch) const {
    const int64_t L = data_.labels();
    const int64_t room = L * padded(L);
    std::vector<ChainTable> result;
    if (!tied_) {
      for (int64_t t = 1; t < length; ++t) {
        double* memory = scratch.take(2 * room);
        result.push_back({memory, memory + room, 0, 0, false});
        loops().chain_table(L, transitions + (t - 1) * L * L, &result.back());
      }
      return result;
    }
    bool kept = false;
    double* memory = scratch.reuse(this, 2 * room + L * L + 3, kept);
    double* scores = memory + 2 * room;
    double* facts = scores + L * L;
    result.push_back({memory, memory + room, facts[0], facts[1], facts[2] != 0});
    if (kept && std::memcmp(scores, transitions, sizeof(double) * static_cast<size_t>(L * L)) == 0) return result;
    loops().chain_table(L, transitions, &result[0]);
    std::copy(transitions, transitions + L * L, scores);
    facts[0] = result[0].top;
    facts[1] = result[0].range;
    facts[2] = result[0].forbidden ? 1 : 0;
    return result;
  }

  void to_parts(const int32_t* labels, int64_t length, Output& y) const { grams_.to_parts(labels, length, tied_, y); }

  // The inference of order 0: the best label, the softmax and a draw at each position.
  double best_labels(const double* theta, int64_t length, int32_t* labels) const {
    double value = 0;
    for (int64_t t = 0; t < length; ++t, theta += data_.labels()) {
      const double* best = std::max_element(theta, theta + data_.labels());
      labels[t] = static_cast<int32_t>(best - theta);
      value += *best;
    }
    return value;
  }
  double sum_of_labels(const double* theta, int64_t length, double* mu) const {
    const int64_t L = data_.labels();
    double log_z = 0;
    for (int64_t t = 0; t < length; ++t) log_z += loops().softmax(theta + t * L, L, mu + t * L);
    if (log_z == -kInfinity) std::fill(mu, mu + length * L, 0.0);
    return log_z;
  }
  void draw_each_label(const double* theta, int64_t length, Random& random, std::vector<Output>& ys) const {
    const int64_t L = data_.labels();
    std::vector<double> mu(length * L);
    if (sum_of_labels(theta, length, mu.data()) == -kInfinity) throw InputError("every output is forbidden.");
    std::vector<int32_t> labels(length);
    for (Output& y : ys) {
      for (int64_t t = 0; t < length; ++t) labels[t] = static_cast<int32_t>(random.choose(&mu[t * L], L));
      to_parts(labels.data(), length, y);
    }
  }

  // The position of a part of the gold output of an order-1 chain: T position parts come first, then T - 1 transitions.
  int64_t position_of(int64_t i, int32_t part, const Output& y) const {
    const int64_t place = std::find(y.begin(), y.end(), part) - y.begin();
    return place < data_.length(i) ? place : place - data_.length(i) + 1;
  }

  // Every example must have an output, and its gold output must be one.
  void check_feasible() const {
    std::vector<double> theta;
    Output y;
    for (int64_t i = 0; i < size(); ++i) {
      theta.assign(parts(i), 0.0);
      forbid(i, theta.data());
      const Trellis::Best best = Trellis(grams_, data_.length(i), tied_, theta.data()).viterbi();
      for (int64_t t = 0; t < data_.length(i); ++t)
        if (std::all_of(best.at(t), best.at(t) + grams_.states(t), [](double score) { return score == -kInfinity; }))
          throw forbids_everything(i, t);
      if (!data_.has_gold()) continue;
      try {
        gold(i, 0, y);
      } catch (const InputError& error) {  // it begins with the position
        throw InputError("example " + std::to_string(i) + ", " + error.what());
      }
      for (const int32_t part : y)
        if (theta[part] == -kInfinity)
          throw InputError("example " + std::to_string(i) + ", position " + std::to_string(position_of(i, part, y)) +
                           ": the constraints forbid its own labels.");
    }
  }

  Labels data_;
  std::shared_ptr<const Grams> shared_grams_;
  const Grams& grams_;
  bool tied_;
  std::vector<uint8_t> forbidden_;  // order 1: (labels, labels)
};

}  // namespace margrave
