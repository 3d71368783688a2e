// The trellis of label sequences of any order: its states are the tuples of `order` labels. At order 0 there is one
// state, the empty tuple, and no label depends on another.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "simd/loops.h"

namespace margrave {

// The label tuples that exist. The m-grams are numbered in lexicographic order.
class Grams {
 public:
  // forbidden: (labels, labels) of 0 and 1, or empty. Order 1 keeps every pair, so tables stay square and dense.
  Grams(int64_t labels, int64_t order, const std::vector<uint8_t>& forbidden) : labels_(labels), order_(order) {
    if (order < 0 || order > 3) throw InputError("the order of a chain must be 0, 1, 2 or 3.");
    if (order == 0 && !forbidden.empty())
      throw InputError("a chain of order 0 has no transitions that can be forbidden.");
    if (!forbidden.empty() && forbidden.size() != static_cast<size_t>(labels * labels))
      throw InputError("forbidden transitions must be (labels, labels).");
    if (order > 0) check_grams(labels);  // pairs of labels
    levels_.resize(order + 2);
    Level& single = levels_[1];
    for (int64_t l = 0; l < labels; ++l) single.last.push_back(static_cast<int32_t>(l));
    if (order == 0) {
      levels_[0].last.assign(1, -1);  // the empty tuple
      single.prefix.assign(labels, 0);
      single.suffix.assign(labels, 0);
    }
    const bool drop = order > 1 && !forbidden.empty();
    for (int64_t m = 2; m <= order + 1; ++m) {
      const Level& below = levels_[m - 1];
      Level& level = levels_[m];
      check_grams(below.size());
      // An m-gram is an (m-1)-gram and one more label. It must also end in an existing (m-1)-gram.
      for (int64_t p = 0; p < below.size(); ++p)
        for (int64_t l = 0; l < labels; ++l) {
          if (drop && forbidden[below.last[p] * labels + l]) continue;
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
    std::vector<int64_t> outgoing_begin;  // by prefix: the grams that begin with it; they are contiguous, and so are
                                          // their targets
    std::vector<int32_t> first_target;
    std::vector<int64_t> incoming_begin;  // by target state: the grams that lead there
    std::vector<int32_t> incoming;
    int64_t part = 0;  // where its parts begin among the gram parts of a position
    int64_t size() const { return static_cast<int64_t>(last.size()); }
  };

  int64_t labels() const { return labels_; }
  int64_t order() const { return order_; }
  int64_t parts() const { return total_; }  // gram parts of one position
  const Level& level(int64_t m) const { return levels_[m]; }

  // The length of the grams that end at position t, the number of states there, and the state that a gram leads to.
  int64_t gram_length(int64_t t) const { return std::min(t, order_) + 1; }
  int64_t states(int64_t t) const { return levels_[std::min(t + 1, order_)].size(); }
  int64_t target(int64_t m, int64_t e) const { return m <= order_ ? e : levels_[m].suffix[e]; }
  TupleLinks links(int64_t m) const {
    const Level& level = levels_[m];
    return {level.incoming_begin.data(), level.incoming.data(), level.prefix.data(), level.outgoing_begin.data()};
  }
  // The parts of a label sequence: position parts first, in order, then the grams from left to right.
  void to_parts(const int32_t* labels, int64_t length, bool tied, std::vector<int32_t>& y) const {
    y.clear();
    for (int64_t t = 0; t < length; ++t) y.push_back(static_cast<int32_t>(t * labels_ + labels[t]));
    for (int64_t t = 1; t < length; ++t)
      for (int64_t m = 2; m <= gram_length(t); ++m) {
        const int64_t id = find(labels + t + 1 - m, m);
        if (id < 0) throw InputError("position " + std::to_string(t) + ": a forbidden transition leads to its label.");
        const int64_t table = tied ? 0 : (t - 1) * parts();
        y.push_back(static_cast<int32_t>(length * labels_ + table + level(m).part + id));
      }
  }
  // The number of the m-gram of these labels, or -1.
  int64_t find(const int32_t* y, int64_t m) const {
    int64_t id = y[0];
    for (int64_t k = 2; k <= m && id >= 0; ++k) {
      const Level& level = levels_[k];
      if (level.size() == levels_[k - 1].size() * labels_) {  // complete: no need to search
        id = id * labels_ + y[k - 1];
        continue;
      }
      const auto key = std::make_pair(static_cast<int32_t>(id), y[k - 1]);
      int64_t low = 0;
      int64_t high = level.size();
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (std::make_pair(level.prefix[middle], level.last[middle]) < key)
          low = middle + 1;
        else
          high = middle;
      }
      const bool found = low < level.size() && std::make_pair(level.prefix[low], level.last[low]) == key;
      id = found ? low : -1;
    }
    return id;
  }

 private:
  static constexpr int64_t kMostGrams = 20'000'000;

  // Each of these tuples is followed by any label.
  void check_grams(int64_t shorter) const {
    if (shorter > kMostGrams / labels_)
      throw InputError("order " + std::to_string(order_) + " with " + std::to_string(labels_) +
                       " labels makes too many label tuples: take a lower order.");
  }

  void link_suffixes(int64_t m) {
    Level& level = levels_[m];
    std::vector<int32_t> labels(m);
    for (int64_t e = 0; e < level.size(); ++e) {
      if (m == 2) {
        level.suffix.push_back(level.last[e]);
        continue;
      }
      int64_t id = e;
      for (int64_t k = m; k >= 1; --k) {
        labels[k - 1] = levels_[k].last[id];
        if (k > 1) id = levels_[k].prefix[id];
      }
      level.suffix.push_back(static_cast<int32_t>(find(labels.data() + 1, m - 1)));
    }
  }

  // Which labels may follow depends only on the last one, so the targets of one prefix are contiguous.
  void group_by_prefix(int64_t m) {
    Level& level = levels_[m];
    const int64_t prefixes = levels_[m - 1].size();
    level.outgoing_begin.assign(prefixes + 1, 0);
    level.first_target.assign(prefixes, 0);
    for (int64_t e = level.size() - 1; e >= 0; --e) {
      ++level.outgoing_begin[level.prefix[e] + 1];
      level.first_target[level.prefix[e]] = static_cast<int32_t>(target(m, e));
    }
    for (int64_t p = 0; p < prefixes; ++p) level.outgoing_begin[p + 1] += level.outgoing_begin[p];
  }

  void group_by_target(int64_t m) {
    Level& level = levels_[m];
    const int64_t states = levels_[std::min(m, order_)].size();
    level.incoming_begin.assign(states + 1, 0);
    for (int64_t e = 0; e < level.size(); ++e) ++level.incoming_begin[target(m, e) + 1];
    for (int64_t s = 0; s < states; ++s) level.incoming_begin[s + 1] += level.incoming_begin[s];
    std::vector<int64_t> next(level.incoming_begin.begin(), level.incoming_begin.end() - 1);
    level.incoming.resize(level.size());
    for (int64_t e = 0; e < level.size(); ++e) level.incoming[next[target(m, e)]++] = static_cast<int32_t>(e);
  }

  int64_t labels_;
  int64_t order_;
  int64_t total_ = 0;
  std::vector<Level> levels_;
};

// Caches the last few results. A model that tags one sentence at a time binds the same labels in every call, and
// building the tuples takes longer than finding the best ones. Large ones are not cached.
inline std::shared_ptr<const Grams> shared_grams(int64_t labels, int64_t order, const std::vector<uint8_t>& forbidden) {
  constexpr size_t kKept = 4;
  constexpr int64_t kMostKept = 1'000'000;  // tuples: about 30 MB
  struct Made {
    int64_t labels;
    int64_t order;
    std::vector<uint8_t> forbidden;
    std::shared_ptr<const Grams> grams;
  };
  static std::mutex mutex;
  static std::vector<Made> made;  // most recently used first
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

// sum[e] = own[e] + the sum of its suffix, for all m-grams: the value of a gram includes those of its suffixes.
inline void add_suffixes(const Grams& grams, int64_t m, const double* own, const double* sums_of_suffixes,
                         double* sum) {
  const Grams::Level& level = grams.level(m);
  if (m == 2) {
    std::copy(own, own + level.size(), sum);
    return;
  }
  // The suffixes of the grams with one prefix are contiguous as well.
  for (size_t p = 0; p + 1 < level.outgoing_begin.size(); ++p) {
    const int64_t first = level.outgoing_begin[p];
    const int64_t n = level.outgoing_begin[p + 1] - first;
    const double* suffix = n > 0 ? sums_of_suffixes + level.suffix[first] : nullptr;
    for (int64_t e = 0; e < n; ++e) sum[first + e] = own[first + e] + suffix[e];
  }
}

// The trellis of one sequence under given part values (scores or costs): log-space dynamic programming.
class Trellis {
 public:
  Trellis(const Grams& grams, int64_t length, bool tied, const double* parts)
      : Trellis(grams, length, tied, parts, parts + length * grams.labels()) {}
  // The values of the (position, label) parts, and those of the grams.
  Trellis(const Grams& grams, int64_t length, bool tied, const double* emission, const double* own)
      : grams_(grams), length_(length), tied_(tied), emission_(emission), own_(own) {
    const int64_t tables = length < 2 ? 0 : tied ? 1 : length - 1;
    const Grams::Level& longest = grams.level(grams.order());
    per_table_ = grams.order() < 2 ? 0 : longest.part + longest.size();
    sums_.resize(tables * per_table_);
    for (int64_t k = 0; k < tables; ++k)
      for (int64_t m = 2; m <= grams.order(); ++m) {
        double* sums = sums_.data() + k * per_table_;
        const double* shorter = m == 2 ? nullptr : sums + grams.level(m - 1).part;
        add_suffixes(grams, m, own + k * grams.parts() + grams.level(m).part, shorter, sums + grams.level(m).part);
      }
  }

  int64_t length() const { return length_; }
  const Grams& grams() const { return grams_; }

  // The own values of the grams that end at position t >= 1.
  const double* own(int64_t t) const {
    return own_ + (tied_ ? 0 : t - 1) * grams_.parts() + grams_.level(grams_.gram_length(t)).part;
  }
  // Their values including their suffixes, without the labels.
  void tuples(int64_t t, double* values) const {
    const int64_t m = grams_.gram_length(t);
    add_suffixes(grams_, m, own(t), m == 2 ? nullptr : sums(t, m - 1), values);
  }

  // The value of a prefix that enters position t by gram e: that of the label, the tuples and the prefix before. The
  // gram's own value is added first, so prefixes that differ in nothing else compare by it alone.
  double extended(int64_t t, int64_t e, double before) const {
    if (alone(t)) return before + emission(t, e);
    return (own(t)[e] + before) + (emission(t, e) + below(t, e));
  }
  // The same without the prefix before.
  double edge(int64_t t, int64_t e) const {
    return alone(t) ? emission(t, e) : emission(t, e) + (own(t)[e] + below(t, e));
  }
  int64_t source(int64_t t, int64_t e) const { return grams_.level(grams_.gram_length(t)).prefix[e]; }
  template <typename Visit>
  void incoming(int64_t t, int64_t state, const Visit& visit) const {
    const Grams::Level& level = grams_.level(grams_.gram_length(t));
    for (int64_t k = level.incoming_begin[state]; k < level.incoming_begin[state + 1]; ++k)
      visit(static_cast<int64_t>(level.incoming[k]));
  }

  // For every state at every position: the best score of a prefix that ends there, and the state before it.
  struct Best {
    std::vector<double> value;   // (length, width)
    std::vector<double> source;  // the same; -1 at position 0, and where the value is -inf
    int64_t width;

    const double* at(int64_t t) const { return value.data() + t * width; }
    int64_t before(int64_t t, int64_t s) const { return static_cast<int64_t>(source[t * width + s]); }
  };

  Best viterbi() const {
    if (grams_.order() == 0) return best_alone();
    int64_t width = 0;  // forbidden transitions may leave fewer pairs than labels
    for (int64_t t = 0; t < std::min(length_, grams_.order()); ++t) width = std::max(width, grams_.states(t));
    Best best{std::vector<double>(length_ * width), std::vector<double>(length_ * width, -1.0), width};
    std::vector<double> entering(width);  // value of entering a state, common to all grams that lead there
    for (int64_t t = 0; t < length_; ++t) {
      double* now = best.value.data() + t * width;
      const double* scores = emission_ + t * grams_.labels();
      if (t == 0) {
        for (int64_t l = 0; l < grams_.labels(); ++l) now[l] = scores[l] > -kInfinity ? scores[l] : -kInfinity;
        continue;
      }
      const int64_t m = grams_.gram_length(t);
      const Grams::Level& states = grams_.level(std::min(t + 1, grams_.order()));
      const double* shorter = m > 2 ? sums(t, m - 1) : nullptr;
      for (int64_t s = 0; s < states.size(); ++s) {
        const int64_t suffix = m <= grams_.order() ? states.suffix[s] : s;
        entering[s] = scores[states.last[s]] + (shorter ? shorter[suffix] : 0.0);
      }
      loops().tuples_viterbi(states.size(), grams_.links(m), own(t), entering.data(), now - width, now,
                             best.source.data() + t * width);
    }
    return best;
  }

  // The best sequence of labels and its value; -inf if all are forbidden.
  double best_sequence(int32_t* labels) const {
    const Best best = viterbi();
    const double* last = best.at(length_ - 1);
    const double* top = std::max_element(last, last + grams_.states(length_ - 1));
    if (*top == -kInfinity) return *top;
    int64_t state = top - last;
    for (int64_t t = length_ - 1; t >= 0; --t) {
      labels[t] = grams_.level(std::min(t + 1, grams_.order())).last[state];
      state = best.before(t, state);
    }
    return *top;
  }

  void forward(std::vector<std::vector<double>>& alpha) const {
    alpha.resize(length_);
    std::vector<double> terms;
    for (int64_t t = 0; t < length_; ++t) {
      alpha[t].assign(grams_.states(t), -kInfinity);
      for (int64_t s = 0; s < grams_.states(t); ++s) {
        terms.clear();
        incoming(t, s, [&](int64_t e) { terms.push_back(edge(t, e) + (t == 0 ? 0.0 : alpha[t - 1][source(t, e)])); });
        alpha[t][s] = log_sum(terms);
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

 private:
  // Whether no tuple ends at a position.
  bool alone(int64_t t) const { return grams_.gram_length(t) == 1; }
  // The same for order 0, whose only state is the empty tuple.
  Best best_alone() const {
    Best best{{}, std::vector<double>(length_, 0.0), 1};
    double value = 0;
    for (int64_t t = 0; t < length_; ++t) {
      const double* scores = emission_ + t * grams_.labels();
      value += *std::max_element(scores, scores + grams_.labels());
      best.value.push_back(value);
    }
    best.source[0] = -1;
    return best;
  }
  double emission(int64_t t, int64_t e) const {
    return emission_[t * grams_.labels() + grams_.level(grams_.gram_length(t)).last[e]];
  }
  // The values of the m-grams that end at position t >= 1 including their suffixes, up to the order.
  const double* sums(int64_t t, int64_t m) const {
    return sums_.data() + (tied_ ? 0 : t - 1) * per_table_ + grams_.level(m).part;
  }
  // The values of the suffixes of gram e.
  double below(int64_t t, int64_t e) const {
    const int64_t m = grams_.gram_length(t);
    return m == 2 ? 0.0 : sums(t, m - 1)[grams_.level(m).suffix[e]];
  }

  const Grams& grams_;
  int64_t length_;
  bool tied_;
  const double* emission_;
  const double* own_;
  int64_t per_table_ = 0;
  std::vector<double> sums_;  // (tables, grams up to the order)
};

// The best prefixes of every state of a trellis, best first, each computed on demand.
class LazyPrefixes {
 public:
  struct Prefix {
    double value;
    int32_t edge;  // the gram by which it enters the state ...
    int32_t rank;  // ... and the rank of the prefix before that
    bool operator<(const Prefix& other) const { return value < other.value; }
  };

  // best: for every position and state, the value of the best prefix that ends there, or -inf. It has `width` states
  // per position and `stride` numbers per state.
  LazyPrefixes(const Trellis& trellis, const double* best, int64_t width, int64_t stride)
      : trellis_(trellis), best_(best), width_(width), stride_(stride), number_(trellis.length() * width, -1) {}

  double best(int64_t t, int64_t state) const { return best_[(t * width_ + state) * stride_]; }

  // Whether a prefix of this rank exists. Requests chain back along the sequence, so this is a loop instead of a
  // recursion.
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

  double value(int64_t t, int64_t state, int64_t rank) { return at_state(t, state).found[rank].value; }

  void labels(int64_t t, int64_t state, int64_t rank, int32_t* out) {
    for (; t >= 0; --t) {
      find(t, state, rank);
      const Prefix prefix = at_state(t, state).found[rank];
      out[t] = trellis_.grams().level(trellis_.grams().gram_length(t)).last[prefix.edge];
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

  // Few states are ever needed.
  State& at_state(int64_t t, int64_t s) {
    int32_t& number = number_[t * width_ + s];
    if (number < 0) {
      number = static_cast<int32_t>(states_.size());
      states_.emplace_back();
    }
    return states_[number];
  }

  void push(State& state, Prefix prefix) {
    if (!(prefix.value > -kInfinity)) return;  // forbidden, or NaN
    state.candidates.push_back(prefix);
    std::push_heap(state.candidates.begin(), state.candidates.end());
  }

  // Finds one more prefix of a state. Returns the previous state that needs one more first, or -1.
  int64_t advance(int64_t t, int64_t s) {
    State& state = at_state(t, s);
    if (!state.begun) {
      state.begun = true;
      trellis_.incoming(t, s, [&](int64_t e) {
        const double before = t > 0 ? best(t - 1, trellis_.source(t, e)) : 0.0;
        push(state, {trellis_.extended(t, e, before), static_cast<int32_t>(e), 0});
      });
    }
    if (!state.expanded && t > 0) {
      const Prefix last = state.found.back();
      const int64_t source = trellis_.source(t, last.edge);
      const State& before = at_state(t - 1, source);
      const int64_t wanted = last.rank + 1;
      if (static_cast<int64_t>(before.found.size()) > wanted)
        push(state,
             {trellis_.extended(t, last.edge, before.found[wanted].value), last.edge, static_cast<int32_t>(wanted)});
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
  const double* best_;
  int64_t width_;
  int64_t stride_;
  std::vector<int32_t> number_;  // (length, width): index among the states in use, or -1
  std::deque<State> states_;     // in use; references to them stay valid
};

// The k best sequences, best first (Huang and Chiang 2005, Algorithm 3): a state's next best prefix is computed on
// demand.
inline void best_sequences(const Trellis& trellis, LazyPrefixes& prefixes, int64_t k, bool tied,
                           std::vector<ScoredOutput>& ys) {
  const int64_t T = trellis.length();
  ys.clear();
  std::vector<LazyPrefixes::Prefix> ends;  // the next candidate of every last state: a heap
  for (int64_t s = 0; s < trellis.grams().states(T - 1); ++s)
    if (const double value = prefixes.best(T - 1, s); value > -kInfinity)
      ends.push_back({value, static_cast<int32_t>(s), 0});
  std::make_heap(ends.begin(), ends.end());
  std::vector<int32_t> labels(static_cast<size_t>(T));
  while (!ends.empty() && static_cast<int64_t>(ys.size()) < k) {
    std::pop_heap(ends.begin(), ends.end());
    const LazyPrefixes::Prefix end = ends.back();
    ends.pop_back();
    prefixes.labels(T - 1, end.edge, end.rank, labels.data());
    ys.push_back({end.value, {}});
    trellis.grams().to_parts(labels.data(), T, tied, ys.back().y);
    if (!prefixes.find(T - 1, end.edge, end.rank + 1)) continue;
    ends.push_back({prefixes.value(T - 1, end.edge, end.rank + 1), end.edge, end.rank + 1});
    std::push_heap(ends.begin(), ends.end());
  }
}

// Draws labels from last to first: the last state by the weights of `ends`, and the gram that enters a state by
// weight(t, gram, source, state).
template <typename Weight>
void draw_labels(const Trellis& trellis, const std::vector<double>& ends, const Weight& weight, Random& random,
                 std::vector<int32_t>& labels) {
  const Grams& grams = trellis.grams();
  std::vector<double> weights;
  std::vector<int64_t> sources;
  labels.resize(static_cast<size_t>(trellis.length()));
  int64_t state = random.choose(ends.data(), static_cast<int64_t>(ends.size()));
  for (int64_t t = trellis.length() - 1;; --t) {
    const Grams::Level& states = grams.level(std::min(t + 1, grams.order()));
    labels[t] = states.last[state];
    if (t == 0) return;
    weights.clear();
    sources.clear();
    trellis.incoming(t, state, [&](int64_t e) {
      sources.push_back(trellis.source(t, e));
      weights.push_back(weight(t, e, sources.back(), state));
    });
    state = sources[random.choose(weights.data(), static_cast<int64_t>(weights.size()))];
  }
}

}  // namespace margrave
