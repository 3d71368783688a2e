// Label sequences of any order. Parts of a sequence of T tokens: (position, label), T*L of them; then the label tuples
// of 2 .. order+1 neighbours ("grams"), once for the whole sequence (tied) or once for each position from 1 on
// (untied).
//
// Order 1 has hand-written loops for what is hot (simd/loops.h); everything else, and every higher order, is dynamic
// programming over the trellis whose states are tuples of `order` labels. Tuples with a forbidden transition do not
// exist.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engines/hypergraph.h"
#include "simd/loops.h"
#include "structures/chain_lanes.h"
#include "structures/labels.h"

namespace margrave {

// Which tuples of neighbouring labels exist. The m-grams are numbered in lexicographic order.
class Grams {
 public:
  // forbidden: (labels, labels) of 0 and 1, or empty. Order 1 keeps every pair, so that tables stay square and dense.
  Grams(int64_t labels, int64_t order, const std::vector<uint8_t>& forbidden) : labels_(labels), order_(order) {
    if (order < 1 || order > 3) throw InputError("the order of a chain must be 1, 2 or 3.");
    if (!forbidden.empty() && forbidden.size() != at(labels * labels))
      throw InputError("forbidden transitions must be (labels, labels).");
    levels_.resize(at(order + 2));
    Level& single = levels_[1];
    for (int64_t l = 0; l < labels; ++l) single.last.push_back(static_cast<int32_t>(l));
    const bool drop = order > 1 && !forbidden.empty();
    for (int64_t m = 2; m <= order + 1; ++m) {
      const Level& below = levels_[at(m - 1)];
      Level& level = levels_[at(m)];
      if (below.size() > kMostGrams / labels)
        throw InputError("order " + std::to_string(order) + " with " + std::to_string(labels) +
                         " labels makes too many label tuples: take a lower order.");
      // an m-gram is an (m-1)-gram and one more label, which must itself end in an existing (m-1)-gram
      for (int64_t p = 0; p < below.size(); ++p)
        for (int64_t l = 0; l < labels; ++l) {
          if (drop && forbidden[at(below.last[at(p)] * labels + l)]) continue;
          level.prefix.push_back(static_cast<int32_t>(p));
          level.last.push_back(static_cast<int32_t>(l));
        }
      link_suffixes(m);
      level.part = total_;
      total_ += level.size();
    }
    for (int64_t m = 1; m <= order + 1; ++m) group_by_target(m);
    for (int64_t m = 2; m <= order + 1; ++m) group_by_prefix(m);
  }

  struct Level {
    std::vector<int32_t> prefix;          // the (m-1)-gram that it begins with
    std::vector<int32_t> suffix;          // the (m-1)-gram that it ends with
    std::vector<int32_t> last;            // its last label
    std::vector<int64_t> outgoing_begin;  // by prefix: the grams that begin with it, side by side; so are their targets
    std::vector<int32_t> first_target;
    std::vector<int64_t> incoming_begin;  // by target state: the grams that lead there
    std::vector<int32_t> incoming;
    int64_t part = 0;  // where its parts begin among a position's gram parts
    int64_t size() const { return static_cast<int64_t>(last.size()); }
  };

  int64_t labels() const { return labels_; }
  int64_t order() const { return order_; }
  int64_t parts() const { return total_; }  // gram parts of one position
  const Level& level(int64_t m) const { return levels_[at(m)]; }

  // The grams that end at position t, the states there, and the state that a gram leads to.
  int64_t gram_length(int64_t t) const { return std::min(t, order_) + 1; }
  int64_t states(int64_t t) const { return levels_[at(std::min(t + 1, order_))].size(); }
  int64_t target(int64_t m, int64_t e) const { return m <= order_ ? e : levels_[at(m)].suffix[at(e)]; }
  TupleLinks links(int64_t m) const {
    const Level& level = levels_[at(m)];
    return {level.incoming_begin.data(), level.incoming.data(), level.prefix.data(), level.outgoing_begin.data()};
  }
  // The number of the m-gram of these labels, or -1.
  int64_t find(const int32_t* y, int64_t m) const {
    int64_t id = y[0];
    for (int64_t k = 2; k <= m && id >= 0; ++k) {
      const Level& level = levels_[at(k)];
      if (level.size() == levels_[at(k - 1)].size() * labels_) {  // nothing is missing: no need to search
        id = id * labels_ + y[k - 1];
        continue;
      }
      const auto key = std::make_pair(static_cast<int32_t>(id), y[k - 1]);
      int64_t low = 0;
      int64_t high = level.size();
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (std::make_pair(level.prefix[at(middle)], level.last[at(middle)]) < key)
          low = middle + 1;
        else
          high = middle;
      }
      const bool found = low < level.size() && std::make_pair(level.prefix[at(low)], level.last[at(low)]) == key;
      id = found ? low : -1;
    }
    return id;
  }

 private:
  static constexpr int64_t kMostGrams = 20'000'000;
  static size_t at(int64_t k) { return static_cast<size_t>(k); }

  void link_suffixes(int64_t m) {
    Level& level = levels_[at(m)];
    std::vector<int32_t> labels(at(m));
    for (int64_t e = 0; e < level.size(); ++e) {
      if (m == 2) {
        level.suffix.push_back(level.last[at(e)]);
        continue;
      }
      int64_t id = e;
      for (int64_t k = m; k >= 1; --k) {
        labels[at(k - 1)] = levels_[at(k)].last[at(id)];
        if (k > 1) id = levels_[at(k)].prefix[at(id)];
      }
      level.suffix.push_back(static_cast<int32_t>(find(labels.data() + 1, m - 1)));
    }
  }

  // Which labels may follow depends on the last one alone, so that the targets of one prefix are neighbours.
  void group_by_prefix(int64_t m) {
    Level& level = levels_[at(m)];
    const int64_t prefixes = levels_[at(m - 1)].size();
    level.outgoing_begin.assign(at(prefixes + 1), 0);
    level.first_target.assign(at(prefixes), 0);
    for (int64_t e = level.size() - 1; e >= 0; --e) {
      ++level.outgoing_begin[at(level.prefix[at(e)] + 1)];
      level.first_target[at(level.prefix[at(e)])] = static_cast<int32_t>(target(m, e));
    }
    for (int64_t p = 0; p < prefixes; ++p) level.outgoing_begin[at(p + 1)] += level.outgoing_begin[at(p)];
  }

  void group_by_target(int64_t m) {
    Level& level = levels_[at(m)];
    const int64_t states = levels_[at(std::min(m, order_))].size();
    level.incoming_begin.assign(at(states + 1), 0);
    for (int64_t e = 0; e < level.size(); ++e) ++level.incoming_begin[at(target(m, e) + 1)];
    for (int64_t s = 0; s < states; ++s) level.incoming_begin[at(s + 1)] += level.incoming_begin[at(s)];
    std::vector<int64_t> next(level.incoming_begin.begin(), level.incoming_begin.end() - 1);
    level.incoming.resize(at(level.size()));
    for (int64_t e = 0; e < level.size(); ++e) level.incoming[at(next[at(target(m, e))]++)] = static_cast<int32_t>(e);
  }

  int64_t labels_;
  int64_t order_;
  int64_t total_ = 0;
  std::vector<Level> levels_;
};

// The same object for the same arguments, as far as it is one of the last few that were asked for: a model that tags
// one sentence at a time binds the same labels in every call, and making the tuples takes longer than finding the best
// ones. Large ones are not kept.
inline std::shared_ptr<const Grams> shared_grams(int64_t labels, int64_t order, const std::vector<uint8_t>& forbidden) {
  constexpr size_t kKept = 4;
  constexpr int64_t kMostKept = 1'000'000;  // tuples: some 30 MB
  struct Made {
    int64_t labels;
    int64_t order;
    std::vector<uint8_t> forbidden;
    std::shared_ptr<const Grams> grams;
  };
  static std::mutex mutex;
  static std::vector<Made> made;  // the last one used comes first
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(made.begin(), made.end(), [&](const Made& each) {
    return each.labels == labels && each.order == order && each.forbidden == forbidden;
  });
  if (found != made.end()) {
    std::rotate(made.begin(), found, found + 1);
    return made.front().grams;
  }
  auto grams = std::make_shared<const Grams>(labels, order, forbidden);
  if (grams->parts() > kMostKept) return grams;
  if (made.size() == kKept) made.pop_back();
  made.insert(made.begin(), {labels, order, forbidden, grams});
  return grams;
}

// The trellis of one sequence under given part values (scores, or costs): log-space dynamic programming.
class Trellis {
 public:
  Trellis(const Grams& grams, int64_t length, bool tied, const double* parts)
      : grams_(grams), length_(length), tied_(tied), emission_(parts) {
    const int64_t L = grams.labels();
    const int64_t tables = length < 2 ? 0 : tied ? 1 : length - 1;
    for (int64_t m = 1; m <= grams.order() + 1; ++m) level_offset_.push_back(m == 1 ? 0 : offset_of(m - 1));
    per_table_ = offset_of(grams.order() + 1);
    sums_.resize(at(tables * per_table_));
    // a gram's value is its own part's and its suffixes': G_m[e] = part + G_{m-1}[suffix]
    for (int64_t k = 0; k < tables; ++k)
      for (int64_t m = 2; m <= grams.order() + 1; ++m) {
        const Grams::Level& level = grams.level(m);
        const double* own = parts + length * L + k * grams.parts() + level.part;
        double* sum = sums_.data() + k * per_table_ + level_offset_[at(m - 1)];
        const double* shorter = m == 2 ? nullptr : sums_.data() + k * per_table_ + level_offset_[at(m - 2)];
        if (!shorter) {
          std::copy(own, own + level.size(), sum);
          continue;
        }
        // the suffixes of the grams that begin with one prefix are neighbours as well
        for (size_t p = 0; p + 1 < level.outgoing_begin.size(); ++p) {
          const int64_t first = level.outgoing_begin[p];
          const int64_t n = level.outgoing_begin[p + 1] - first;
          const double* suffix = n > 0 ? shorter + level.suffix[at(first)] : nullptr;
          for (int64_t e = 0; e < n; ++e) sum[first + e] = own[first + e] + suffix[e];
        }
      }
  }

  int64_t length() const { return length_; }
  const Grams& grams() const { return grams_; }

  // The values of the grams that end at position t >= 1, without the labels'.
  const double* tuples(int64_t t) const {
    const int64_t table = tied_ ? 0 : t - 1;
    return sums_.data() + table * per_table_ + level_offset_[at(grams_.gram_length(t) - 1)];
  }

  // The value of entering position t by gram e: its label's and its tuples'.
  double edge(int64_t t, int64_t e) const {
    const int64_t m = grams_.gram_length(t);
    const double own = emission_[t * grams_.labels() + grams_.level(m).last[at(e)]];
    return t == 0 ? own : own + tuples(t)[e];
  }
  int64_t source(int64_t t, int64_t e) const { return grams_.level(grams_.gram_length(t)).prefix[at(e)]; }
  template <typename Visit>
  void incoming(int64_t t, int64_t state, const Visit& visit) const {
    const Grams::Level& level = grams_.level(grams_.gram_length(t));
    for (int64_t k = level.incoming_begin[at(state)]; k < level.incoming_begin[at(state + 1)]; ++k)
      visit(static_cast<int64_t>(level.incoming[at(k)]));
  }

  // Of every state at every position: the best score of a prefix that ends there, and the state before it.
  struct Best {
    std::vector<double> value;   // (length, width)
    std::vector<double> source;  // the same; -1 at position 0, and where the value is -inf
    int64_t width;

    const double* at(int64_t t) const { return value.data() + t * width; }
    int64_t before(int64_t t, int64_t s) const { return static_cast<int64_t>(source[Trellis::at(t * width + s)]); }
  };

  Best viterbi() const {
    int64_t width = 0;  // forbidden transitions may leave fewer pairs than labels
    for (int64_t t = 0; t < std::min(length_, grams_.order()); ++t) width = std::max(width, grams_.states(t));
    Best best{std::vector<double>(at(length_ * width)), std::vector<double>(at(length_ * width), -1.0), width};
    std::vector<double> emission(at(width));  // of the last label of every state
    for (int64_t t = 0; t < length_; ++t) {
      double* now = best.value.data() + t * width;
      const std::vector<int32_t>& last = grams_.level(std::min(t + 1, grams_.order())).last;
      for (size_t s = 0; s < last.size(); ++s) emission[s] = emission_[t * grams_.labels() + last[s]];
      if (t == 0)
        for (int64_t l = 0; l < grams_.labels(); ++l)
          now[l] = emission[at(l)] > -kInfinity ? emission[at(l)] : -kInfinity;
      else
        loops().tuples_viterbi(grams_.states(t), grams_.links(grams_.gram_length(t)), tuples(t), emission.data(),
                               now - width, now, best.source.data() + t * width);
    }
    return best;
  }

  void forward(std::vector<std::vector<double>>& alpha) const {
    alpha.resize(at(length_));
    std::vector<double> terms;
    for (int64_t t = 0; t < length_; ++t) {
      alpha[at(t)].assign(at(grams_.states(t)), -kInfinity);
      for (int64_t s = 0; s < grams_.states(t); ++s) {
        terms.clear();
        incoming(t, s,
                 [&](int64_t e) { terms.push_back(edge(t, e) + (t == 0 ? 0.0 : alpha[at(t - 1)][at(source(t, e))])); });
        alpha[at(t)][at(s)] = log_sum(terms);
      }
    }
  }

  static double log_sum(const std::vector<double>& terms) {
    const double top = terms.empty() ? -kInfinity : *std::max_element(terms.begin(), terms.end());
    if (top == -kInfinity) return top;
    double sum = 0;
    for (const double term : terms) sum += std::exp(term - top);
    return top + std::log(sum);
  }

  static size_t at(int64_t k) { return static_cast<size_t>(k); }

 private:
  int64_t offset_of(int64_t m) const { return grams_.level(m).part + (m > 1 ? grams_.level(m).size() : 0); }

  const Grams& grams_;
  int64_t length_;
  bool tied_;
  const double* emission_;
  int64_t per_table_ = 0;
  std::vector<int64_t> level_offset_;  // by m - 1
  std::vector<double> sums_;           // (tables, grams)
};

// The best prefixes of every state of a trellis, best first, each found when it is asked for.
class LazyPrefixes {
 public:
  struct Prefix {
    double value;
    int32_t edge;  // the gram by which it enters the state ...
    int32_t rank;  // ... and which of the prefixes before that
    bool operator<(const Prefix& other) const { return value < other.value; }
  };

  explicit LazyPrefixes(const Trellis& trellis)
      : trellis_(trellis), best_(trellis.viterbi()), number_(best_.value.size(), -1) {}

  // The value of the best prefix that ends in a state: -inf if there is none.
  double best(int64_t t, int64_t state) const { return best_.at(t)[state]; }

  // Whether there are so many; a chain of requests goes back along the sequence, so it is a loop and not a recursion.
  bool find(int64_t t, int64_t state, int64_t rank) {
    std::vector<std::pair<int64_t, int64_t>> open;
    while (true) {
      State& top = at_state(t, state);
      if (static_cast<int64_t>(top.found.size()) > rank) return true;
      if (top.exhausted) return false;
      open.assign(1, {t, state});
      while (!open.empty()) {
        const auto [u, s] = open.back();
        if (const int64_t source = advance(u, s); source >= 0)
          open.emplace_back(u - 1, source);
        else
          open.pop_back();
      }
    }
  }

  double value(int64_t t, int64_t state, int64_t rank) { return at_state(t, state).found[at(rank)].value; }

  void labels(int64_t t, int64_t state, int64_t rank, int32_t* out) {
    for (; t >= 0; --t) {
      find(t, state, rank);
      const Prefix prefix = at_state(t, state).found[at(rank)];
      out[t] = trellis_.grams().level(trellis_.grams().gram_length(t)).last[at(prefix.edge)];
      if (t > 0) state = trellis_.source(t, prefix.edge);
      rank = prefix.rank;
    }
  }

 private:
  struct State {
    std::vector<Prefix> found;
    std::vector<Prefix> candidates;  // a heap
    bool begun = false;
    bool expanded = true;  // the successor of found.back() is among the candidates
    bool exhausted = false;
  };

  static size_t at(int64_t k) { return static_cast<size_t>(k); }

  // Few states are ever asked for.
  State& at_state(int64_t t, int64_t s) {
    int32_t& number = number_[at(t * best_.width + s)];
    if (number < 0) {
      number = static_cast<int32_t>(states_.size());
      states_.emplace_back();
    }
    return states_[at(number)];
  }

  void push(State& state, Prefix prefix) {
    if (!(prefix.value > -kInfinity)) return;  // forbidden, or not a number
    state.candidates.push_back(prefix);
    std::push_heap(state.candidates.begin(), state.candidates.end());
  }

  // Finds one more prefix of a state, or says of which state before it one more is needed first (-1: of none).
  int64_t advance(int64_t t, int64_t s) {
    State& state = at_state(t, s);
    if (!state.begun) {
      state.begun = true;
      trellis_.incoming(t, s, [&](int64_t e) {
        const double before = t > 0 ? best_.at(t - 1)[trellis_.source(t, e)] : 0.0;
        push(state, {trellis_.edge(t, e) + before, static_cast<int32_t>(e), 0});
      });
    }
    if (!state.expanded && t > 0) {
      const Prefix last = state.found.back();
      const int64_t source = trellis_.source(t, last.edge);
      const State& before = at_state(t - 1, source);
      const int64_t wanted = last.rank + 1;
      if (static_cast<int64_t>(before.found.size()) > wanted)
        push(state,
             {trellis_.edge(t, last.edge) + before.found[at(wanted)].value, last.edge, static_cast<int32_t>(wanted)});
      else if (!before.exhausted)
        return source;
    }
    state.expanded = true;
    if (state.candidates.empty()) {
      state.exhausted = true;
      return -1;
    }
    std::pop_heap(state.candidates.begin(), state.candidates.end());
    state.found.push_back(state.candidates.back());
    state.candidates.pop_back();
    state.expanded = false;
    return -1;
  }

  const Trellis& trellis_;
  Trellis::Best best_;
  std::vector<int32_t> number_;  // (length, width): which of the states that were asked for, or -1
  std::deque<State> states_;     // those; references to them stay valid
};

class ChainStructure final : public Structure {
 public:
  ChainStructure(Labels labels, int64_t order, bool tied, std::vector<uint8_t> forbidden)
      : data_(std::move(labels)),
        shared_grams_(shared_grams(data_.labels(), order, forbidden)),
        grams_(*shared_grams_),
        tied_(tied),
        forbidden_(order == 1 ? std::move(forbidden) : std::vector<uint8_t>()) {
    for (int64_t i = 0; i < size(); ++i)
      if (parts(i) > std::numeric_limits<int32_t>::max())
        throw InputError("example " + std::to_string(i) + " has " + std::to_string(parts(i)) +
                         " parts, more than can be numbered: split it, or use tied parts.");
    if (constrained() || grams_.level(2).size() < data_.labels() * data_.labels()) check_feasible();
  }

  int64_t size() const override { return data_.size(); }
  int64_t parts(int64_t i) const override {
    return data_.length(i) * data_.labels() + tables(data_.length(i)) * grams_.parts();
  }
  int64_t columns() const override { return data_.labels(); }
  bool tied() const { return tied_; }
  int64_t repeats(int64_t i) const override { return tied_ ? std::max<int64_t>(data_.length(i) - 1, 1) : 1; }
  unsigned offers() const override {
    const unsigned untied = tied_ ? 0u : kUntied | (grams_.order() == 1 ? kEntropy : 0u);
    return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | untied;
  }
  bool has_gold() const override { return data_.has_gold(); }
  void gold(int64_t i, int64_t, Output& y) const override { to_parts(data_.gold(i), data_.length(i), y); }

  double cost(int64_t i, double* delta) const override {
    data_.cost(i, delta);
    std::fill(delta + data_.length(i) * data_.labels(), delta + parts(i), 0.0);
    return 0;
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
    std::vector<int32_t> labels(at(T));
    double value;
    if (grams_.order() == 1) {
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

  // Huang and Chiang (2005), Algorithm 3, on the trellis: a state's next best prefix is sought only when it is asked
  // for. Two of order 1, as the zero-one cost and LP-Struct ask for, are little more than the argmax.
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    const int64_t T = data_.length(i);
    if (k == 2 && grams_.order() == 1) return two_best(T, theta, ys, scratch);
    const Trellis trellis(grams_, T, tied_, theta);
    LazyPrefixes prefixes(trellis);
    ys.clear();
    std::vector<LazyPrefixes::Prefix> ends;  // the next candidate of every last state: a heap
    for (int64_t s = 0; s < grams_.states(T - 1); ++s)
      if (const double value = prefixes.best(T - 1, s); value > -kInfinity)
        ends.push_back({value, static_cast<int32_t>(s), 0});
    std::make_heap(ends.begin(), ends.end());
    std::vector<int32_t> labels(at(T));
    while (!ends.empty() && static_cast<int64_t>(ys.size()) < k) {
      std::pop_heap(ends.begin(), ends.end());
      const LazyPrefixes::Prefix end = ends.back();
      ends.pop_back();
      prefixes.labels(T - 1, end.edge, end.rank, labels.data());
      ys.push_back({end.value, {}});
      to_parts(labels.data(), T, ys.back().y);
      if (!prefixes.find(T - 1, end.edge, end.rank + 1)) continue;
      ends.push_back({prefixes.value(T - 1, end.edge, end.rank + 1), end.edge, end.rank + 1});
      std::push_heap(ends.begin(), ends.end());
    }
  }

  void two_best(int64_t T, const double* theta, std::vector<ScoredOutput>& ys, Scratch& scratch) const {
    std::vector<int32_t> best(at(T)), second(at(T));
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

  // Forwards once, then backwards for every draw.
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys, Scratch&) const override {
    const int64_t T = data_.length(i);
    const Trellis trellis(grams_, T, tied_, theta);
    std::vector<std::vector<double>> alpha;
    trellis.forward(alpha);
    const double log_z = Trellis::log_sum(alpha.back());
    if (log_z == -kInfinity) throw InputError("every output is forbidden.");
    std::vector<double> ends;
    for (const double a : alpha.back()) ends.push_back(std::exp(a - log_z));
    std::vector<double> weights;
    std::vector<int64_t> sources;
    std::vector<int32_t> labels(at(T));
    for (Output& y : ys) {
      int64_t state = random.choose(ends.data(), static_cast<int64_t>(ends.size()));
      for (int64_t t = T - 1;; --t) {
        labels[at(t)] = grams_.level(std::min(t + 1, grams_.order())).last[at(state)];
        if (t == 0) break;
        weights.clear();
        sources.clear();
        trellis.incoming(t, state, [&](int64_t e) {
          sources.push_back(trellis.source(t, e));
          weights.push_back(
              std::exp(trellis.edge(t, e) + alpha[at(t - 1)][at(sources.back())] - alpha[at(t)][at(state)]));
        });
        state = sources[at(random.choose(weights.data(), static_cast<int64_t>(weights.size())))];
      }
      to_parts(labels.data(), T, y);
    }
  }

  // The same for first-order chains whose transitions cost nothing, in flat tables: the label says what a position
  // costs, so that every cost of a prefix comes from one of the prefix before. False where it does not apply.
  bool by_cost_of_positions(int64_t T, const double* theta, const std::vector<int64_t>& costs,
                            std::vector<CostedOutput>& ys) const {
    constexpr int64_t kMostCells = 20'000'000;
    const int64_t L = data_.labels();
    if (grams_.order() != 1 || grams_.parts() != L * L) return false;
    if (std::any_of(costs.begin(), costs.begin() + T * L, [](int64_t c) { return c < 0; })) return false;
    if (std::any_of(costs.begin() + T * L, costs.end(), [](int64_t c) { return c != 0; })) return false;
    int64_t most = 0;
    for (int64_t t = 0; t < T; ++t) most += *std::max_element(&costs[at(t * L)], &costs[at(t * L)] + L);
    const int64_t width = (most + 1) * L;
    if (width > kMostCells / T) return false;
    std::vector<double> value(at(T * width), -kInfinity);  // (position, cost of the prefix, last label)
    std::vector<int32_t> from(at(T * width), -1);
    std::vector<double> best(at(L));
    std::vector<int32_t> label(at(L));
    for (int64_t l = 0; l < L; ++l) value[at(costs[at(l)] * L + l)] = theta[l];
    int64_t reached = *std::max_element(&costs[0], &costs[0] + L);
    for (int64_t t = 1; t < T; ++t) {
      const double* table = theta + T * L + (tied_ ? 0 : (t - 1) * L * L);
      for (int64_t c = 0; c <= reached; ++c) {
        const double* before = &value[at((t - 1) * width + c * L)];
        std::fill(best.begin(), best.end(), -kInfinity);
        for (int64_t k = 0; k < L; ++k) {
          if (before[k] == -kInfinity) continue;
          for (int64_t l = 0; l < L; ++l) {
            const double here = before[k] + table[k * L + l];
            if (here > best[at(l)]) {
              best[at(l)] = here;
              label[at(l)] = static_cast<int32_t>(k);
            }
          }
        }
        for (int64_t l = 0; l < L; ++l) {
          if (best[at(l)] == -kInfinity) continue;
          const int64_t cell = t * width + (c + costs[at(t * L + l)]) * L + l;
          value[at(cell)] = best[at(l)] + theta[t * L + l];
          from[at(cell)] = label[at(l)];
        }
      }
      reached += *std::max_element(&costs[at(t * L)], &costs[at(t * L)] + L);
    }
    ys.clear();
    std::vector<int32_t> labels(at(T));
    for (int64_t c = 0; c <= most; ++c) {
      const double* ends = &value[at((T - 1) * width + c * L)];
      const int64_t last = std::max_element(ends, ends + L) - ends;
      if (ends[last] == -kInfinity) continue;
      CostedOutput found{c, ends[last], {}};
      int64_t left = c;
      int32_t now = static_cast<int32_t>(last);
      for (int64_t t = T - 1; t >= 0; --t) {
        labels[at(t)] = now;
        const int32_t previous = from[at(t * width + left * L + now)];
        left -= costs[at(t * L + now)];
        now = previous;
      }
      to_parts(labels.data(), T, found.y);
      ys.push_back(std::move(found));
    }
    return true;
  }

  // Viterbi with a counter: for every state the best prefix at each cost that a prefix can have.
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, std::vector<CostedOutput>& ys,
                      Scratch&) const override {
    struct Counted {
      int64_t cost;
      double value;
      int32_t edge;
    };
    const int64_t T = data_.length(i);
    const std::vector<int64_t> costs = whole_costs(delta, parts(i));
    if (by_cost_of_positions(T, theta, costs, ys)) return;
    const Trellis trellis(grams_, T, tied_, theta);
    const Trellis counter(grams_, T, tied_, delta);
    const auto best_by_cost = [](std::vector<Counted>& all) {
      std::sort(all.begin(), all.end(), [](const Counted& a, const Counted& b) {
        return a.cost != b.cost ? a.cost < b.cost : a.value > b.value;
      });
      const auto same = [](const Counted& a, const Counted& b) { return a.cost == b.cost; };
      all.erase(std::unique(all.begin(), all.end(), same), all.end());
    };
    std::vector<std::vector<std::vector<Counted>>> best(at(T));
    for (int64_t t = 0; t < T; ++t) {
      best[at(t)].resize(at(grams_.states(t)));
      for (int64_t s = 0; s < grams_.states(t); ++s) {
        std::vector<Counted>& here = best[at(t)][at(s)];
        trellis.incoming(t, s, [&](int64_t e) {
          const double score = trellis.edge(t, e);
          if (!(score > -kInfinity)) return;
          const auto paid = static_cast<int64_t>(counter.edge(t, e));
          const auto edge = static_cast<int32_t>(e);
          if (t == 0) {
            here.push_back({paid, score, edge});
            return;
          }
          for (const Counted& before : best[at(t - 1)][at(trellis.source(t, e))])
            here.push_back({before.cost + paid, before.value + score, edge});
        });
        best_by_cost(here);
      }
    }
    std::vector<Counted> ends;  // here `edge` is the last state
    for (int64_t s = 0; s < grams_.states(T - 1); ++s)
      for (const Counted& end : best[at(T - 1)][at(s)]) ends.push_back({end.cost, end.value, static_cast<int32_t>(s)});
    best_by_cost(ends);
    ys.clear();
    std::vector<int32_t> labels(at(T));
    for (const Counted& end : ends) {
      int64_t state = end.edge;
      int64_t left = end.cost;
      for (int64_t t = T - 1; t >= 0; --t) {
        const std::vector<Counted>& here = best[at(t)][at(state)];
        const auto found = std::lower_bound(here.begin(), here.end(), left,
                                            [](const Counted& a, int64_t cost) { return a.cost < cost; });
        labels[at(t)] = grams_.level(grams_.gram_length(t)).last[at(found->edge)];
        left -= static_cast<int64_t>(counter.edge(t, found->edge));
        if (t > 0) state = trellis.source(t, found->edge);
      }
      ys.push_back({end.cost, end.value, {}});
      to_parts(labels.data(), T, ys.back().y);
    }
  }

  // Of a Markov chain with these marginals; t are the logs of its conditionals (000, last paragraph).
  double entropy(int64_t i, const double* mu, double* t, Scratch&) const override {
    if (tied_ || grams_.order() != 1) return unsupported("entropy (it needs an untied chain of order 1)"), 0.0;
    const int64_t T = data_.length(i);
    const int64_t L = data_.labels();
    double sum = 0;
    for (int64_t l = 0; l < T * L; ++l) {
      t[l] = l < L ? std::log(mu[l]) : 0.0;
      if (l < L && mu[l] > 0) sum -= mu[l] * t[l];
    }
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
  int64_t shared() const override { return tied_ ? grams_.parts() : 0; }
  std::unique_ptr<const Lanes> lanes(const double* theta, const std::vector<int64_t>& used) const override {
    if (!tied_ || grams_.order() != 1 || data_.labels() < ChainLanes::kFewestLabels) return nullptr;
    std::vector<double> transitions(theta, theta + grams_.parts());
    for (size_t q = 0; q < forbidden_.size(); ++q)
      if (forbidden_[q]) transitions[q] = -kInfinity;
    const auto alone = [this](int64_t i, const double* scores, double* mu, Scratch& scratch) {
      return logsum(i, scores, mu, scratch);
    };
    return std::make_unique<ChainLanes>(data_, std::move(transitions), used, alone);
  }

 private:
  static size_t at(int64_t k) { return static_cast<size_t>(k); }
  int64_t tables(int64_t length) const { return tied_ ? 1 : length - 1; }
  int64_t stride() const { return tied_ ? 0 : grams_.parts(); }

  // Transition tables for the scaled loops. Tied ones seldom change from one example to the next: they are kept beside
  // the scores that they were made from, and made anew only if those differ.
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
    double* memory = scratch.keep(this, 2 * room + L * L + 3, kept);
    double* scores = memory + 2 * room;
    double* facts = scores + L * L;
    result.push_back({memory, memory + room, facts[0], facts[1], facts[2] != 0});
    if (kept && std::memcmp(scores, transitions, sizeof(double) * at(L * L)) == 0) return result;
    loops().chain_table(L, transitions, &result[0]);
    std::copy(transitions, transitions + L * L, scores);
    facts[0] = result[0].top;
    facts[1] = result[0].range;
    facts[2] = result[0].forbidden ? 1 : 0;
    return result;
  }

  // Position parts first, in order, then the grams from left to right.
  void to_parts(const int32_t* labels, int64_t length, Output& y) const {
    const int64_t L = grams_.labels();
    y.clear();
    for (int64_t t = 0; t < length; ++t) y.push_back(static_cast<int32_t>(t * L + labels[t]));
    for (int64_t t = 1; t < length; ++t)
      for (int64_t m = 2; m <= grams_.gram_length(t); ++m) {
        const int64_t id = grams_.find(labels + t + 1 - m, m);
        if (id < 0) throw InputError("position " + std::to_string(t) + ": a forbidden transition leads to its label.");
        const int64_t table = tied_ ? 0 : (t - 1) * grams_.parts();
        y.push_back(static_cast<int32_t>(length * L + table + grams_.level(m).part + id));
      }
  }

  double viterbi(const double* theta, int64_t length, int32_t* labels) const {
    const Trellis::Best best = Trellis(grams_, length, tied_, theta).viterbi();
    const double* last = best.at(length - 1);
    const double* top = std::max_element(last, last + grams_.states(length - 1));
    if (*top == -kInfinity) return *top;
    int64_t state = top - last;
    for (int64_t t = length - 1; t >= 0; --t) {
      labels[t] = grams_.level(std::min(t + 1, grams_.order())).last[at(state)];
      state = best.before(t, state);
    }
    return *top;
  }

  // A gram's posterior counts for its suffixes too: adds those of the m-grams to the parts of one position.
  void add_posteriors(int64_t m, std::vector<double> posterior, double* parts_of_position) const {
    for (int64_t k = m; k >= 2; --k) {
      const Grams::Level& level = grams_.level(k);
      std::vector<double> shorter(at(grams_.level(k - 1).size()), 0.0);
      for (int64_t e = 0; e < level.size(); ++e) {
        parts_of_position[level.part + e] += posterior[at(e)];
        shorter[at(level.suffix[at(e)])] += posterior[at(e)];
      }
      posterior = std::move(shorter);
    }
  }

  // Forward-backward over label tuples in scaled probability space, by the rules of simd/loops.h: false when a value
  // leaves the range where it is exact.
  bool scaled_tuples(int64_t i, const double* theta, double* mu, double* log_z) const {
    const int64_t T = data_.length(i);
    const int64_t L = grams_.labels();
    const int64_t order = grams_.order();
    const Trellis trellis(grams_, T, tied_, theta);
    const auto starving = [&](const std::vector<double>& x, double total) {
      return std::any_of(x.begin(), x.end(), [&](double v) { return v > 0 && v < kScaledSmallest * total; });
    };
    // exp of the grams that end at t; tied ones are made once for each length of gram
    std::vector<std::vector<double>> memory(at(tied_ ? order + 1 : std::max<int64_t>(T, 1)));
    std::vector<ChainTable> tables(memory.size());
    const auto table_at = [&](int64_t t) -> const ChainTable& {
      const size_t which = at(tied_ ? std::min(t, order) : t);
      if (memory[which].empty()) {
        const int64_t n = grams_.level(grams_.gram_length(t)).size();
        memory[which].resize(at(n));
        tables[which].forward = memory[which].data();
        loops().exp_range(n, trellis.tuples(t), &tables[which]);
      }
      return tables[which];
    };
    const auto last_label = [&](int64_t t) -> const std::vector<int32_t>& {
      return grams_.level(std::min(t + 1, order)).last;
    };
    std::vector<std::vector<double>> emission(at(T), std::vector<double>(at(L)));
    std::vector<std::vector<double>> alpha(at(T));
    double shift = 0;
    for (int64_t t = 0; t < T; ++t) {
      ChainTable labels{emission[at(t)].data(), nullptr, 0, 0, false};
      loops().exp_range(L, theta + t * L, &labels);
      const ChainTable* table = t > 0 ? &table_at(t) : nullptr;
      if (labels.top == -kInfinity || (table && table->top == -kInfinity)) return false;
      if (labels.range + (table ? table->range : 0.0) > kScaledRange) return false;
      shift += labels.top + (table ? table->top : 0.0);
      std::vector<double>& now = alpha[at(t)];
      now.assign(at(grams_.states(t)), t == 0 ? 1.0 : 0.0);
      if (t > 0) {
        const Grams::Level& level = grams_.level(grams_.gram_length(t));
        loops().tuples_forward(grams_.states(t - 1), level.outgoing_begin.data(), level.first_target.data(),
                               table->forward, alpha[at(t - 1)].data(), now.data());
      }
      double total = 0;
      for (size_t s = 0; s < now.size(); ++s) total += now[s] *= emission[at(t)][at(last_label(t)[s])];
      if (!(total > kScaledSmallest) || starving(now, total)) return false;
      for (double& a : now) a /= total;
      for (double& e : emission[at(t)]) e /= total;  // what the backward pass multiplies by
      shift += std::log(total);
    }
    *log_z = shift;

    std::fill(mu, mu + parts(i), 0.0);
    std::vector<double> beta(at(grams_.states(T - 1)), 1.0);
    std::vector<std::vector<double>> pairs(at(order + 2));  // by length of gram: expected counts, before their weights
    for (int64_t t = T - 1;; --t) {
      double total = 0;
      for (size_t s = 0; s < beta.size(); ++s) {
        mu[t * L + last_label(t)[s]] += alpha[at(t)][s] * beta[s];
        total += beta[s] *= emission[at(t)][at(last_label(t)[s])];
      }
      if (t == 0) break;
      if (starving(beta, total)) return false;
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& level = grams_.level(m);
      pairs[at(m)].resize(at(level.size()), 0.0);
      std::vector<double> before(at(grams_.states(t - 1)));
      loops().tuples_backward(grams_.states(t - 1), level.outgoing_begin.data(), level.first_target.data(),
                              table_at(t).forward, beta.data(), alpha[at(t - 1)].data(), before.data(),
                              pairs[at(m)].data());
      beta = std::move(before);
      if (!tied_ || t <= order) {  // no further position has grams of this length, or of this table
        for (size_t e = 0; e < pairs[at(m)].size(); ++e) pairs[at(m)][e] *= table_at(t).forward[e];
        add_posteriors(m, std::move(pairs[at(m)]), mu + T * L + (tied_ ? 0 : (t - 1) * grams_.parts()));
        pairs[at(m)].clear();
      }
    }
    return true;
  }

  // Forward-backward in log space: exact for any scores, and for any order.
  double log_space(int64_t i, const double* theta, double* mu) const {
    const int64_t T = data_.length(i);
    const int64_t L = grams_.labels();
    const Trellis trellis(grams_, T, tied_, theta);
    std::vector<std::vector<double>> alpha;
    trellis.forward(alpha);
    const double log_z = Trellis::log_sum(alpha.back());
    std::fill(mu, mu + parts(i), 0.0);
    if (log_z == -kInfinity) return log_z;
    std::vector<double> beta(at(grams_.states(T - 1)), 0.0);
    for (int64_t t = T - 1; t >= 0; --t) {
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& level = grams_.level(m);
      double* pairs = mu + T * L + (tied_ || t == 0 ? 0 : (t - 1) * grams_.parts());
      std::vector<double> before(t > 0 ? at(grams_.states(t - 1)) : 0, -kInfinity);
      std::vector<double> posterior(at(level.size()), 0.0);
      for (int64_t e = 0; e < level.size(); ++e) {
        const double after = beta[at(grams_.target(m, e))];
        const double score = trellis.edge(t, e);
        if (after == -kInfinity || score == -kInfinity) continue;
        const double from = t > 0 ? alpha[at(t - 1)][at(trellis.source(t, e))] : 0.0;
        posterior[at(e)] = std::exp(from + score + after - log_z);
        mu[t * L + level.last[at(e)]] += posterior[at(e)];
        if (t > 0) {
          double& sum = before[at(trellis.source(t, e))];
          sum = log_add(sum, score + after);
        }
      }
      add_posteriors(m, std::move(posterior), pairs);
      beta = std::move(before);
    }
    return log_z;
  }

  // Where a part of the gold output of an order-1 chain stands: T position parts come first, then T - 1 transitions.
  int64_t position_of(int64_t i, int32_t part, const Output& y) const {
    const int64_t place = std::find(y.begin(), y.end(), part) - y.begin();
    return place < data_.length(i) ? place : place - data_.length(i) + 1;
  }

  // Every example must have an output, and its gold output must be one.
  void check_feasible() const {
    std::vector<double> theta;
    Output y;
    for (int64_t i = 0; i < size(); ++i) {
      theta.assign(at(parts(i)), 0.0);
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
        if (theta[at(part)] == -kInfinity)
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
