// Dependency trees with labels: the arcs of a structure without labels, each with one of several labels.
//
// Part (h, m, l) exists for every arc (h, m) of the inner structure and every allowed label l, by arc, then by label.
// The other parts of the inner structure follow. The score of a tree is a sum over its parts, so the labels of its arcs
// are independent. The inner structure receives the maximum or the log-sum-exp over the labels of each arc as scores.
// Its answer is then distributed over the labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "simd/loops.h"
#include "structures/arc_trees.h"

namespace margrave {

// The allowed labels of each arc: one of several sets.
struct LabelSets {
  int labels;                    // number of labels
  std::vector<int32_t> of_arc;   // the set of every arc of all sentences
  std::vector<int64_t> begin;    // where each set begins in `members`
  std::vector<int32_t> members;  // of all sets, each ascending
};

class LabeledTreeStructure final : public TreeStructure {
 public:
  // gold: the label of every word, or empty. wrong_label: the cost of a word with the correct head and a wrong label.
  LabeledTreeStructure(std::shared_ptr<const TreesOfArcs> trees, LabelSets sets, std::vector<int32_t> gold,
                       double wrong_label)
      : trees_(std::move(trees)), sets_(std::move(sets)), gold_(std::move(gold)), wrong_label_(wrong_label) {
    if (!(wrong_label >= 0 && wrong_label < kInfinity))
      throw InputError("the cost of a wrong label must be finite and not negative.");
    check_sets();
    number_parts();
    check_gold();
  }

  int64_t size() const override { return trees_->size(); }
  int words(int64_t i) const override { return trees_->words(i); }
  int labels() const override { return sets_.labels; }
  int64_t parts(int64_t i) const override { return arc_parts(i) + trees_->parts(i) - trees_->arc_parts(i); }
  int64_t arc_parts(int64_t i) const override { return begin_of(i)[trees_->arc_parts(i)]; }
  LabeledArc arc(int64_t i, int64_t part) const override {
    const int32_t *const begin = begin_of(i), *const end = begin + trees_->arc_parts(i) + 1;
    const int64_t a = std::upper_bound(begin, end, static_cast<int32_t>(part)) - begin - 1;
    LabeledArc found = trees_->arc(i, a);
    found.label = set_of(i, a)[part - begin[a]];
    return found;
  }

  void tree_parts(int64_t i, std::vector<TreePart>& parts) const override {
    std::vector<TreePart> inner;
    trees_->tree_parts(i, inner);
    parts.clear();
    const int32_t* const begin = begin_of(i);
    const int64_t arcs = trees_->arc_parts(i);
    for (int64_t a = 0; a < arcs; ++a)
      for (int32_t k = 0; k < begin[a + 1] - begin[a]; ++k) {
        parts.push_back(inner[a]);
        parts.back().label = set_of(i, a)[k];
      }
    parts.insert(parts.end(), inner.begin() + arcs, inner.end());
  }

  unsigned offers() const override { return trees_->offers(); }
  bool exact() const override { return trees_->exact(); }
  const std::shared_ptr<const TreesOfArcs>& trees() const { return trees_; }
  bool has_gold() const override { return trees_->has_gold() && (!gold_.empty() || word_begin_.back() == 0); }
  void gold(int64_t i, int64_t, Output& y) const override {
    trees_->gold(i, 0, y);
    const int32_t* labels = gold_labels(i);
    relabel(i, y, [&](int64_t a) { return place_of(i, a, labels[trees_->arc(i, a).word - 1]); });
  }

  // Labeled attachment errors: 1 for every word with a wrong head, and wrong_label for one with only a wrong label.
  double cost(int64_t i, double* delta) const override {
    const int32_t *heads = trees_->gold_heads(i), *labels = gold_labels(i), *begin = begin_of(i);
    std::fill_n(delta, parts(i), 0.0);
    for (int64_t a = 0; a < trees_->arc_parts(i); ++a) {
      const LabeledArc arc = trees_->arc(i, a);
      const bool right = heads[arc.word - 1] == arc.head;
      std::fill(delta + begin[a], delta + begin[a + 1], right ? wrong_label_ : 1.0);
      if (right) delta[begin[a] + place_of(i, a, labels[arc.word - 1])] = 0;
    }
    return 0;
  }

  bool constrained() const override { return trees_->constrained(); }
  void forbid(int64_t i, double* theta) const override {
    std::vector<double> arcs(static_cast<size_t>(trees_->parts(i)), 0.0);
    trees_->forbid(i, arcs.data());
    const int32_t* begin = begin_of(i);
    for (int64_t a = 0; a < trees_->arc_parts(i); ++a)
      if (arcs[a] == -kInfinity) std::fill(theta + begin[a], theta + begin[a + 1], -kInfinity);
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    check_tree_scores(i, theta, parts(i));
    const double value = trees_->argmax(i, best_of_labels(i, theta, scratch), y, scratch);
    relabel(i, y, [&](int64_t a) { return best_place(i, a, theta); });
    return value;
  }

  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    check_tree_scores(i, theta, parts(i));
    const double* scores = sum_of_labels(i, theta, mu, scratch);
    double* of_arcs = scratch.take(trees_->parts(i));
    const double value = trees_->logsum(i, scores, of_arcs, scratch);
    const int32_t* begin = begin_of(i);
    for (int64_t a = 0; a < trees_->arc_parts(i); ++a)
      for (int64_t part = begin[a]; part < begin[a + 1]; ++part) mu[part] *= of_arcs[a];
    std::copy(of_arcs + trees_->arc_parts(i), of_arcs + trees_->parts(i), mu + arc_parts(i));
    return value;
  }

  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    check_tree_scores(i, theta, parts(i));
    trees_->argmax_by_cost_of(i, begin_of(i), theta, delta, ys);
  }

  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    sample_many(i, theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  // All draws share the sums over labels and those of the inner structure.
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    check_tree_scores(i, theta, parts(i));
    double* shares = scratch.take(parts(i));
    const double* scores = sum_of_labels(i, theta, shares, scratch);
    trees_->sample_many(i, scores, random, ys, scratch);
    const int32_t* begin = begin_of(i);
    for (Output& y : ys)
      relabel(i, y, [&](int64_t a) { return random.choose(shares + begin[a], begin[a + 1] - begin[a]); });
  }

  // The k best labeled trees are labelings of the k best trees under the best labels. Reason: a labeled tree is at most
  // as good as its tree with the best labels, and each tree before that one gives a labeled tree that is at least as
  // good. The labelings of each tree are enumerated from the best one on, as needed.
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    check_tree_scores(i, theta, parts(i));
    ys.clear();
    std::vector<ScoredOutput> trees;
    trees_->kbest(i, best_of_labels(i, theta, scratch), k, trees, scratch);
    if (trees.empty() || k < 1) return;
    Labelings labelings(*this, i, theta, trees);
    for (int64_t rank = 0; rank < k && labelings.next(); ++rank) {
      ys.push_back({0, labelings.output()});
      for (const int32_t part : ys.back().y) ys.back().value += theta[part];
    }
    // Rounding may have swapped neighbors.
    std::stable_sort(ys.begin(), ys.end(), [](const auto& a, const auto& b) { return a.value > b.value; });
  }

 private:
  // Enumerates the labelings of several trees, best first, with a heap. A labeling lists the arcs with a label other
  // than their best one, and the rank of that label. The arcs of a tree are sorted by the loss of their second label.
  // So each labeling except the best has exactly one predecessor with no larger loss. It lowers the rank of the last
  // changed arc by one. If that would give the best label, the arc before it gets its second label instead, unless that
  // arc is already changed.
  class Labelings {
   public:
    Labelings(const LabeledTreeStructure& structure, int64_t example, const double* theta,
              const std::vector<ScoredOutput>& trees)
        : of_(structure), i_(example), theta_(theta), trees_(trees), choices_(trees.size()) {
      push({trees[0].value, 0, 0, -1, -1, 0});
    }

    bool next() {
      if (heap_.empty()) return false;
      std::pop_heap(heap_.begin(), heap_.end());
      last_ = static_cast<int64_t>(states_.size());
      states_.push_back(heap_.back());
      heap_.pop_back();
      const State s = states_.back();
      if (s.place < 0) {
        choices_[s.tree] = choices_of(trees_[s.tree].y);
        if (s.tree + 1 < trees_.size()) push({trees_[s.tree + 1].value, 0, s.tree + 1, -1, -1, 0});
        change(s, 0, 0, 1, -1);
        return true;
      }
      change(s, s.base, s.place, s.rank + 1, s.before);
      change(s, trees_[s.tree].value - s.value, s.place + 1, 1, last_);
      if (s.rank == 1) change(s, s.base, s.place + 1, 1, s.before);
      return true;
    }

    // The parts of the labeling that next() has found.
    Output output() const {
      const State& s = states_[last_];
      Output y = trees_[s.tree].y;
      of_.relabel(i_, y, [&](int64_t a) { return of_.best_place(i_, a, theta_); });
      for (int64_t k = last_; k >= 0 && states_[k].place >= 0; k = states_[k].before) {
        const State& changed = states_[k];
        const Choice& choice = choices_[changed.tree][changed.place];
        *std::find(y.begin(), y.end(), choice.ranked[0]) = choice.ranked[changed.rank];
      }
      std::sort(y.begin(), y.end());
      return y;
    }

   private:
    struct State {
      double value;
      double base;  // loss of the arcs before `place`
      size_t tree;
      int64_t before;  // the state with the arcs before `place`, or -1
      int64_t place;   // the last arc with another label; -1: none
      int64_t rank;    // of its label
      bool operator<(const State& other) const { return value < other.value; }
    };
    struct Choice {
      std::vector<int32_t> ranked;  // the parts of an arc, best first
    };

    void push(const State& state) {
      heap_.push_back(state);
      std::push_heap(heap_.begin(), heap_.end());
    }
    void change(const State& s, double base, int64_t place, int64_t rank, int64_t before) {
      const std::vector<Choice>& choices = choices_[s.tree];
      if (place >= static_cast<int64_t>(choices.size())) return;
      const std::vector<int32_t>& ranked = choices[place].ranked;
      if (rank >= static_cast<int64_t>(ranked.size())) return;
      const double loss = theta_[ranked[0]] - theta_[ranked[rank]];
      push({trees_[s.tree].value - (base + loss), base, s.tree, before, place, rank});
    }
    // The arcs of a tree with several possible labels.
    std::vector<Choice> choices_of(const Output& y) const {
      std::vector<Choice> choices;
      const int32_t* begin = of_.begin_of(i_);
      for (const int32_t a : y) {
        if (a >= of_.trees_->arc_parts(i_)) continue;
        Choice choice;
        for (int32_t part = begin[a]; part < begin[a + 1]; ++part)
          if (theta_[part] > -kInfinity) choice.ranked.push_back(part);
        std::stable_sort(choice.ranked.begin(), choice.ranked.end(),
                         [&](int32_t one, int32_t other) { return theta_[one] > theta_[other]; });
        if (choice.ranked.size() > 1) choices.push_back(std::move(choice));
      }
      const auto second = [&](const Choice& c) { return theta_[c.ranked[0]] - theta_[c.ranked[1]]; };
      std::stable_sort(choices.begin(), choices.end(),
                       [&](const Choice& a, const Choice& b) { return second(a) < second(b); });
      return choices;
    }

    const LabeledTreeStructure& of_;
    int64_t i_;
    const double* theta_;
    const std::vector<ScoredOutput>& trees_;
    std::vector<std::vector<Choice>> choices_;  // by tree
    std::vector<State> states_, heap_;          // found, and candidates
    int64_t last_ = -1;
  };

  const int32_t* begin_of(int64_t i) const {
    return part_begin_.data() + trees_->first_arc(i) + i;  // each example has one entry more than arcs
  }
  int32_t set_number(int64_t i, int64_t a) const { return sets_.of_arc[trees_->first_arc(i) + a]; }
  const int32_t* set_of(int64_t i, int64_t a) const { return sets_.members.data() + sets_.begin[set_number(i, a)]; }
  const int32_t* gold_labels(int64_t i) const {
    if (gold_.empty()) throw InputError("this problem was bound without gold labels.");
    return gold_.data() + word_begin_[i];
  }
  // The index of a label among those of an arc, or -1.
  int64_t place_of(int64_t i, int64_t a, int32_t label) const {
    const int32_t *first = set_of(i, a), *last = first + (begin_of(i)[a + 1] - begin_of(i)[a]);
    const int32_t* found = std::lower_bound(first, last, label);
    return found != last && *found == label ? found - first : -1;
  }
  int64_t best_place(int64_t i, int64_t a, const double* theta) const {
    const int32_t* begin = begin_of(i);
    return std::max_element(theta + begin[a], theta + begin[a + 1]) - (theta + begin[a]);
  }

  // Turns parts of the inner structure into parts with labels; place(a) is the index of the label of arc a.
  template <class Place>
  void relabel(int64_t i, Output& y, const Place& place) const {
    const int64_t arcs = trees_->arc_parts(i);
    const int32_t* begin = begin_of(i);
    for (int32_t& part : y)
      part = static_cast<int32_t>(part < arcs ? begin[part] + place(part) : part - arcs + begin[arcs]);
  }

  // Scores of the inner structure: the best label of every arc.
  const double* best_of_labels(int64_t i, const double* theta, Scratch& scratch) const {
    double* scores = inner_scores(i, theta, scratch);
    const int32_t* begin = begin_of(i);
    for (int64_t a = 0; a < trees_->arc_parts(i); ++a)
      scores[a] = *std::max_element(theta + begin[a], theta + begin[a + 1]);
    return scores;
  }
  // The same with log-sum-exp, and the share of every label of an arc.
  const double* sum_of_labels(int64_t i, const double* theta, double* shares, Scratch& scratch) const {
    double* scores = inner_scores(i, theta, scratch);
    double* shifted = scratch.take(arc_parts(i) + 1);  // by the best label of each arc
    shifted[arc_parts(i)] = 0;                         // makes the largest 0 in any case
    double* weights = scratch.take(arc_parts(i) + 1);
    const int32_t* begin = begin_of(i);
    for (int64_t a = 0; a < trees_->arc_parts(i); ++a) {
      scores[a] = *std::max_element(theta + begin[a], theta + begin[a + 1]);
      for (int64_t part = begin[a]; part < begin[a + 1]; ++part)
        shifted[part] = theta[part] > -kInfinity ? theta[part] - scores[a] : -kInfinity;
    }
    ChainTable exps{weights, nullptr, 0, 0, false};
    loops().exp_range(arc_parts(i) + 1, shifted, &exps);
    for (int64_t a = 0; a < trees_->arc_parts(i); ++a) {
      const double sum = std::accumulate(weights + begin[a], weights + begin[a + 1], 0.0);
      for (int64_t part = begin[a]; part < begin[a + 1]; ++part) shares[part] = sum > 0 ? weights[part] / sum : 0.0;
      if (sum > 0) scores[a] += std::log(sum);
    }
    return scores;
  }
  double* inner_scores(int64_t i, const double* theta, Scratch& scratch) const {
    double* scores = scratch.take(trees_->parts(i));
    std::copy(theta + arc_parts(i), theta + parts(i), scores + trees_->arc_parts(i));
    return scores;
  }

  void check_sets() const {
    const auto wrong = [](const std::string& what) { throw InputError("the labels of arcs: " + what + "."); };
    const auto sets = static_cast<int64_t>(sets_.begin.size()) - 1;
    if (sets_.labels < 1) wrong("there are none");
    if (sets < 0 || sets_.begin.front() != 0 || sets_.begin.back() != static_cast<int64_t>(sets_.members.size()))
      wrong("bounds of sets must go from 0 to the number of their members");
    for (int64_t s = 0; s < sets; ++s)
      if (sets_.begin[s] > sets_.begin[s + 1]) wrong("bounds of sets must ascend");
    for (int64_t s = 0; s < sets; ++s) {
      int32_t before = -1;
      for (int64_t k = sets_.begin[s]; k < sets_.begin[s + 1]; ++k) {
        const int32_t label = sets_.members[k];
        if (label <= before || label >= sets_.labels)
          wrong("set " + std::to_string(s) + " must have ascending numbers below " + std::to_string(sets_.labels));
        before = label;
      }
    }
    if (static_cast<int64_t>(sets_.of_arc.size()) != trees_->first_arc(size()))
      wrong("there must be one set for each of " + std::to_string(trees_->first_arc(size())) + " arcs, not " +
            std::to_string(sets_.of_arc.size()));
    for (int64_t i = 0; i < size(); ++i) {
      for (int64_t a = 0; a < trees_->arc_parts(i); ++a) {
        const auto s = static_cast<size_t>(set_number(i, a));
        if (set_number(i, a) < 0 || set_number(i, a) >= sets)
          wrong("there is no set " + std::to_string(set_number(i, a)) + " of " + std::to_string(sets));
        if (sets_.begin[s] == sets_.begin[s + 1]) {
          const LabeledArc arc = trees_->arc(i, a);
          Treebank::refuse(i, arc.word, "the arc from " + std::to_string(arc.head) + " has no label");
        }
      }
    }
  }

  void number_parts() {
    part_begin_.reserve(static_cast<size_t>(trees_->first_arc(size()) + size()));
    for (int64_t i = 0; i < size(); ++i) {
      word_begin_.push_back(word_begin_.back() + words(i));
      int64_t next = 0;
      for (int64_t a = 0; a <= trees_->arc_parts(i); ++a) {
        if (next + trees_->parts(i) > std::numeric_limits<int32_t>::max())
          throw InputError("example " + std::to_string(i) +
                           " has more parts than can be numbered: allow fewer arcs or labels.");
        part_begin_.push_back(static_cast<int32_t>(next));
        if (a == trees_->arc_parts(i)) break;
        const auto s = static_cast<size_t>(set_number(i, a));
        next += sets_.begin[s + 1] - sets_.begin[s];
      }
    }
  }

  void check_gold() const {
    if (gold_.empty()) return;
    if (static_cast<int64_t>(gold_.size()) != word_begin_.back()) throw InputError("there must be one label per word.");
    if (!trees_->has_gold()) throw InputError("there are gold labels, but no gold heads.");
    Output y;
    for (int64_t i = 0; i < size(); ++i) {
      trees_->gold(i, 0, y);
      for (const int32_t a : y) {
        if (a >= trees_->arc_parts(i)) continue;
        const LabeledArc arc = trees_->arc(i, a);
        const int32_t label = gold_labels(i)[arc.word - 1];
        if (place_of(i, a, label) < 0)
          Treebank::refuse(i, arc.word,
                           "its label " + std::to_string(label) + " is not allowed for the arc from its head " +
                               std::to_string(arc.head));
      }
    }
  }

  std::shared_ptr<const TreesOfArcs> trees_;
  LabelSets sets_;
  std::vector<int32_t> gold_;
  double wrong_label_;
  std::vector<int64_t> word_begin_{0};
  std::vector<int32_t> part_begin_;  // of every arc, from 0 in each example
};

}  // namespace margrave
