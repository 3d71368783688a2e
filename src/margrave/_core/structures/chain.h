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

#include "engines/hypergraph.h"
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
#include "structures/trellis.h"
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
      value = viterbi(theta, T, labels.data());
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
      if (scaled_tuples(i, theta, mu, &log_z)) return log_z;
    }
    return log_space(i, theta, mu);
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

  // The same for first-order chains without costs of transitions, in flat tables. The label determines the cost of a
  // position, so every cost of a prefix comes from one cost of the prefix before. False if not applicable.
  bool by_cost_of_positions(int64_t T, const double* theta, const std::vector<int64_t>& costs,
                            std::vector<CostedOutput>& ys) const {
    constexpr int64_t kMostCells = 20'000'000;
    const int64_t L = data_.labels();
    if (grams_.order() != 1 || grams_.parts() != L * L) return false;
    if (std::any_of(costs.begin(), costs.begin() + T * L, [](int64_t c) { return c < 0; })) return false;
    if (std::any_of(costs.begin() + T * L, costs.end(), [](int64_t c) { return c != 0; })) return false;
    int64_t most = 0;
    for (int64_t t = 0; t < T; ++t) most += *std::max_element(&costs[t * L], &costs[t * L] + L);
    const int64_t width = (most + 1) * L;
    if (width > kMostCells / T) return false;
    std::vector<double> value(T * width, -kInfinity);  // (position, cost of the prefix, last label)
    std::vector<int32_t> from(T * width, -1);
    std::vector<double> best(L);
    std::vector<int32_t> label(L);
    for (int64_t l = 0; l < L; ++l) value[costs[l] * L + l] = theta[l];
    int64_t reached = *std::max_element(&costs[0], &costs[0] + L);
    for (int64_t t = 1; t < T; ++t) {
      const double* table = theta + T * L + (tied_ ? 0 : (t - 1) * L * L);
      for (int64_t c = 0; c <= reached; ++c) {
        const double* before = &value[(t - 1) * width + c * L];
        std::fill(best.begin(), best.end(), -kInfinity);
        for (int64_t k = 0; k < L; ++k) {
          if (before[k] == -kInfinity) continue;
          for (int64_t l = 0; l < L; ++l) {
            const double here = before[k] + table[k * L + l];
            if (here > best[l]) {
              best[l] = here;
              label[l] = static_cast<int32_t>(k);
            }
          }
        }
        for (int64_t l = 0; l < L; ++l) {
          if (best[l] == -kInfinity) continue;
          const int64_t cell = t * width + (c + costs[t * L + l]) * L + l;
          value[cell] = best[l] + theta[t * L + l];
          from[cell] = label[l];
        }
      }
      reached += *std::max_element(&costs[t * L], &costs[t * L] + L);
    }
    ys.clear();
    std::vector<int32_t> labels(T);
    for (int64_t c = 0; c <= most; ++c) {
      const double* ends = &value[(T - 1) * width + c * L];
      const int64_t last = std::max_element(ends, ends + L) - ends;
      if (ends[last] == -kInfinity) continue;
      CostedOutput found{c, ends[last], {}};
      int64_t left = c;
      int32_t now = static_cast<int32_t>(last);
      for (int64_t t = T - 1; t >= 0; --t) {
        labels[t] = now;
        const int32_t previous = from[t * width + left * L + now];
        left -= costs[t * L + now];
        now = previous;
      }
      to_parts(labels.data(), T, found.y);
      ys.push_back(std::move(found));
    }
    return true;
  }

  // Viterbi with a counter: every state has the best prefix at each possible cost.
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    struct AtCost {
      int64_t cost;
      double value;
      int32_t edge;
    };
    const int64_t T = data_.length(i);
    const std::vector<int64_t> costs = whole_costs(delta, parts(i));
    if (by_cost_of_positions(T, theta, costs, ys)) return;
    const Trellis trellis(grams_, T, tied_, theta);
    const Trellis counter(grams_, T, tied_, delta);
    const auto best_by_cost = [](std::vector<AtCost>& all) {
      std::sort(all.begin(), all.end(), [](const AtCost& a, const AtCost& b) {
        return a.cost != b.cost ? a.cost < b.cost : a.value > b.value;
      });
      const auto same = [](const AtCost& a, const AtCost& b) { return a.cost == b.cost; };
      all.erase(std::unique(all.begin(), all.end(), same), all.end());
    };
    std::vector<std::vector<std::vector<AtCost>>> best(T);
    for (int64_t t = 0; t < T; ++t) {
      best[t].resize(grams_.states(t));
      for (int64_t s = 0; s < grams_.states(t); ++s) {
        std::vector<AtCost>& here = best[t][s];
        trellis.incoming(t, s, [&](int64_t e) {
          const double score = trellis.edge(t, e);
          if (!(score > -kInfinity)) return;
          const auto paid = static_cast<int64_t>(counter.edge(t, e));
          const auto edge = static_cast<int32_t>(e);
          if (t == 0) {
            here.push_back({paid, score, edge});
            return;
          }
          for (const AtCost& before : best[t - 1][trellis.source(t, e)])
            here.push_back({before.cost + paid, before.value + score, edge});
        });
        best_by_cost(here);
      }
    }
    std::vector<AtCost> ends;  // `edge` is the last state here
    for (int64_t s = 0; s < grams_.states(T - 1); ++s)
      for (const AtCost& end : best[T - 1][s]) ends.push_back({end.cost, end.value, static_cast<int32_t>(s)});
    best_by_cost(ends);
    ys.clear();
    std::vector<int32_t> labels(T);
    for (const AtCost& end : ends) {
      int64_t state = end.edge;
      int64_t left = end.cost;
      for (int64_t t = T - 1; t >= 0; --t) {
        const std::vector<AtCost>& here = best[t][state];
        const auto found = std::lower_bound(here.begin(), here.end(), left,
                                            [](const AtCost& a, int64_t cost) { return a.cost < cost; });
        labels[t] = grams_.level(grams_.gram_length(t)).last[found->edge];
        left -= static_cast<int64_t>(counter.edge(t, found->edge));
        if (t > 0) state = trellis.source(t, found->edge);
      }
      ys.push_back({end.cost, end.value, {}});
      to_parts(labels.data(), T, ys.back().y);
    }
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

  double viterbi(const double* theta, int64_t length, int32_t* labels) const {
    const Trellis::Best best = Trellis(grams_, length, tied_, theta).viterbi();
    const double* last = best.at(length - 1);
    const double* top = std::max_element(last, last + grams_.states(length - 1));
    if (*top == -kInfinity) return *top;
    int64_t state = top - last;
    for (int64_t t = length - 1; t >= 0; --t) {
      labels[t] = grams_.level(std::min(t + 1, grams_.order())).last[state];
      state = best.before(t, state);
    }
    return *top;
  }

  // A gram's posterior also counts for its suffixes: adds those of the m-grams to the parts of one position.
  void add_posteriors(int64_t m, std::vector<double> posterior, double* parts_of_position) const {
    for (int64_t k = m; k >= 2; --k) {
      const Grams::Level& level = grams_.level(k);
      std::vector<double> shorter(grams_.level(k - 1).size(), 0.0);
      for (int64_t e = 0; e < level.size(); ++e) {
        parts_of_position[level.part + e] += posterior[e];
        shorter[level.suffix[e]] += posterior[e];
      }
      posterior = std::move(shorter);
    }
  }

  // Forward-backward over label tuples in scaled probability space, by the rules of simd/loops.h. False if a value
  // leaves the range where it is exact.
  bool scaled_tuples(int64_t i, const double* theta, double* mu, double* log_z) const {
    const int64_t T = data_.length(i);
    const int64_t L = grams_.labels();
    const int64_t order = grams_.order();
    const Trellis trellis(grams_, T, tied_, theta);
    const auto starving = [&](const std::vector<double>& x, double total) {
      return std::any_of(x.begin(), x.end(), [&](double v) { return v > 0 && v < kScaledSmallest * total; });
    };
    // exp of the grams that end at t. Tied ones are computed once per gram length.
    std::vector<std::vector<double>> memory(tied_ ? order + 1 : std::max<int64_t>(T, 1));
    std::vector<ChainTable> tables(memory.size());
    const auto table_at = [&](int64_t t) -> const ChainTable& {
      const size_t which = tied_ ? std::min(t, order) : t;
      if (memory[which].empty()) {
        const int64_t n = grams_.level(grams_.gram_length(t)).size();
        memory[which].resize(n);
        trellis.tuples(t, memory[which].data());
        tables[which].forward = memory[which].data();
        loops().exp_range(n, memory[which].data(), &tables[which]);
      }
      return tables[which];
    };
    const auto last_label = [&](int64_t t) -> const std::vector<int32_t>& {
      return grams_.level(std::min(t + 1, order)).last;
    };
    std::vector<std::vector<double>> emission(T, std::vector<double>(L));
    std::vector<std::vector<double>> alpha(T);
    double shift = 0;
    for (int64_t t = 0; t < T; ++t) {
      ChainTable labels{emission[t].data(), nullptr, 0, 0, false};
      loops().exp_range(L, theta + t * L, &labels);
      const ChainTable* table = t > 0 ? &table_at(t) : nullptr;
      if (labels.top == -kInfinity || (table && table->top == -kInfinity)) return false;
      if (labels.range + (table ? table->range : 0.0) > kScaledRange) return false;
      shift += labels.top + (table ? table->top : 0.0);
      std::vector<double>& now = alpha[t];
      now.assign(grams_.states(t), t == 0 ? 1.0 : 0.0);
      if (t > 0) {
        const Grams::Level& level = grams_.level(grams_.gram_length(t));
        loops().tuples_forward(grams_.states(t - 1), level.outgoing_begin.data(), level.first_target.data(),
                               table->forward, alpha[t - 1].data(), now.data());
      }
      double total = 0;
      for (size_t s = 0; s < now.size(); ++s) total += now[s] *= emission[t][last_label(t)[s]];
      if (!(total > kScaledSmallest) || starving(now, total)) return false;
      for (double& a : now) a /= total;
      for (double& e : emission[t]) e /= total;  // factor in the backward pass
      shift += std::log(total);
    }
    *log_z = shift;

    std::fill(mu, mu + parts(i), 0.0);
    std::vector<double> beta(grams_.states(T - 1), 1.0);
    std::vector<std::vector<double>> pairs(order + 2);  // by gram length: expected counts, before multiplication by
                                                        // weights
    for (int64_t t = T - 1;; --t) {
      double total = 0;
      for (size_t s = 0; s < beta.size(); ++s) {
        mu[t * L + last_label(t)[s]] += alpha[t][s] * beta[s];
        total += beta[s] *= emission[t][last_label(t)[s]];
      }
      if (t == 0) break;
      if (starving(beta, total)) return false;
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& level = grams_.level(m);
      pairs[m].resize(level.size(), 0.0);
      std::vector<double> before(grams_.states(t - 1));
      loops().tuples_backward(grams_.states(t - 1), level.outgoing_begin.data(), level.first_target.data(),
                              table_at(t).forward, beta.data(), alpha[t - 1].data(), before.data(), pairs[m].data());
      beta = std::move(before);
      if (!tied_ || t <= order) {  // no further position has grams of this length or of this table
        for (size_t e = 0; e < pairs[m].size(); ++e) pairs[m][e] *= table_at(t).forward[e];
        add_posteriors(m, std::move(pairs[m]), mu + T * L + (tied_ ? 0 : (t - 1) * grams_.parts()));
        pairs[m].clear();
      }
    }
    return true;
  }

  // Forward-backward in log space: exact for any scores and any order.
  double log_space(int64_t i, const double* theta, double* mu) const {
    const int64_t T = data_.length(i);
    const int64_t L = grams_.labels();
    const Trellis trellis(grams_, T, tied_, theta);
    std::vector<std::vector<double>> alpha;
    trellis.forward(alpha);
    const double log_z = Trellis::log_sum(alpha.back());
    std::fill(mu, mu + parts(i), 0.0);
    if (log_z == -kInfinity) return log_z;
    std::vector<double> beta(grams_.states(T - 1), 0.0);
    for (int64_t t = T - 1; t >= 0; --t) {
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& level = grams_.level(m);
      double* pairs = mu + T * L + (tied_ || t == 0 ? 0 : (t - 1) * grams_.parts());
      std::vector<double> before(t > 0 ? static_cast<size_t>(grams_.states(t - 1)) : 0, -kInfinity);
      std::vector<double> posterior(level.size(), 0.0);
      for (int64_t e = 0; e < level.size(); ++e) {
        const double after = beta[grams_.target(m, e)];
        const double score = trellis.edge(t, e);
        if (after == -kInfinity || score == -kInfinity) continue;
        const double from = t > 0 ? alpha[t - 1][trellis.source(t, e)] : 0.0;
        posterior[e] = std::exp(from + score + after - log_z);
        mu[t * L + level.last[e]] += posterior[e];
        if (t > 0) {
          double& sum = before[trellis.source(t, e)];
          sum = log_add(sum, score + after);
        }
      }
      add_posteriors(m, std::move(posterior), pairs);
      beta = std::move(before);
    }
    return log_z;
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
