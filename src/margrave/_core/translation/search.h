// Derivations of a parsed sentence, scored by a model whose scores depend on neighboring words: cube pruning
// (Chiang 2007; Huang and Chiang 2007).
//
// A Model scores the words that a rule adds around its gaps. It provides
//
//   struct State                                       what later rules need to know about a string
//   bool combine(target, tails, State&, double&) const the state of a rule's string and what the model adds to the
//                                                      scores of its tails; false: no such string
//   bool possible(target) const                        whether a rule with this target can be used at all
//   double weight() const                              the factor of what it adds
//   std::vector<int32_t> key(State) const              equal for strings that all later rules treat alike
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/lazy_kbest.h"
#include "engines/strings.h"
#include "translation/language_model.h"
#include "translation/synchronous_grammar.h"

namespace margrave {

// No model: only the rules.
struct RulesAlone {
  struct State {};
  bool combine(const std::vector<Symbol>&, const std::vector<const State*>&, State&, double&) const { return true; }
  bool possible(const std::vector<Symbol>&) const { return true; }
  double weight() const { return 0; }
  std::vector<int32_t> key(const State&) const { return {}; }
};

// A language model. The first words of a string are scored without context until it is known.
class NgramScorer {
 public:
  struct Word {
    int32_t word;
    LanguageModel::State after;  // the state after it, and
    double score;                // its score, if nothing comes before the string
  };
  struct State {
    std::vector<Word> first;         // the words whose scores can still change: at most the first order - 1
    bool begins = false;             // whether the string begins with <s>: then there are no such words
    LanguageModel::State right = 0;  // after the last word
  };

  // words: by target word, its number in the model.
  NgramScorer(const LanguageModel& model, const std::vector<int32_t>& words, double weight)
      : model_(model), words_(words), weight_(weight), most_(static_cast<size_t>(model.order()) - 1) {}

  bool combine(const std::vector<Symbol>& target, const std::vector<const State*>& tails, State& state,
               double& score) const {
    score = 0;
    state.first.clear();
    state.begins = false;
    state.right = model_.empty();
    for (const Symbol symbol : target) {
      if (!is_gap(symbol)) {
        const int32_t word = words_[symbol];
        if (word == model_.begin_word()) {
          state.begins = state.begins || state.first.empty();
          state.right = model_.begin();
        } else {
          score += append(word, state);
        }
        continue;
      }
      const State& inner = *tails[gap_number(symbol)];
      if (inner.begins) {
        state.begins = state.begins || state.first.empty();
        state.right = inner.right;
        continue;
      }
      bool same = false;  // whether the rest is scored as if nothing came before the string
      for (const Word& word : inner.first) {
        if (same) {
          keep(word, state);
          continue;
        }
        score += append(word.word, state) - word.score;
        same = state.right == word.after;
      }
      // With fewer words, the state after the last one depends on what comes before.
      if (same || inner.first.size() == most_) state.right = inner.right;
    }
    return true;
  }
  bool possible(const std::vector<Symbol>&) const { return true; }
  double weight() const { return weight_; }

  std::vector<int32_t> key(const State& state) const {
    std::vector<int32_t> found{state.right, static_cast<int32_t>(state.begins)};
    for (const Word& word : state.first) found.push_back(word.word);
    return found;
  }

 private:
  double append(int32_t word, State& state) const {
    const double score = model_.step(state.right, word, state.right);
    keep({word, state.right, score}, state);
    return score;
  }
  void keep(const Word& word, State& state) const {
    if (!state.begins && state.first.size() < most_) state.first.push_back(word);
  }

  const LanguageModel& model_;
  const std::vector<int32_t>& words_;
  double weight_;
  size_t most_;
};

// Only derivations of a given target: every string must be a substring of it.
class ForcedTarget {
 public:
  struct State {
    std::vector<int32_t> words;
  };

  // target: including the words that begin and end a sentence, if rules have them.
  explicit ForcedTarget(const std::vector<int32_t>& target) {
    for (size_t i = 0; i <= target.size(); ++i)
      for (size_t j = i; j <= target.size(); ++j)
        pieces_.insert(
            std::vector<int32_t>(target.begin() + static_cast<int64_t>(i), target.begin() + static_cast<int64_t>(j)));
  }

  bool combine(const std::vector<Symbol>& target, const std::vector<const State*>& tails, State& state, double&) const {
    state.words.clear();
    for (const Symbol symbol : target) {
      if (!is_gap(symbol)) {
        state.words.push_back(symbol);
        continue;
      }
      const std::vector<int32_t>& inner = tails[gap_number(symbol)]->words;
      state.words.insert(state.words.end(), inner.begin(), inner.end());
    }
    return pieces_.contains(state.words);
  }
  // The words between two gaps must be contiguous in the target.
  bool possible(const std::vector<Symbol>& target) const {
    std::vector<int32_t> run;
    for (const Symbol symbol : target) {
      if (!is_gap(symbol)) {
        run.push_back(symbol);
        continue;
      }
      if (!pieces_.contains(run)) return false;
      run.clear();
    }
    return pieces_.contains(run);
  }
  double weight() const { return 0; }
  std::vector<int32_t> key(const State& state) const { return state.words; }

 private:
  std::set<std::vector<int32_t>> pieces_;
};

// A forest whose nodes have states of a model. Tails come before their heads; the last node is the root.
struct DerivationGraph {
  struct Edge {
    int32_t origin;  // the edge of the parse
    double score;    // of the rule and of what the model adds
    double added;    // by the model, without its weight
    int32_t tail_begin;
    int32_t tail_count;
  };
  struct Node {
    double best = -std::numeric_limits<double>::infinity();
    int32_t best_edge = -1;
    std::vector<int32_t> edges;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<int32_t> tails;
};

// An edge of a forest before the search: the target of its rule, its score, and its tails.
struct RuleUse {
  const std::vector<Symbol>* target;
  double score;
  const int32_t* tails;
  int32_t tail_count;
};

// The search over a forest with `nodes` nodes, the last of which is the root. edges(v) are the edge numbers of a node,
// and edge_of(e) is the edge. At most `beam` combinations are expanded per node; 0: all.
template <class Model, class Edges, class EdgeOf>
DerivationGraph search(const Model& model, int32_t nodes, const Edges& edges, const EdgeOf& edge_of, int64_t beam) {
  using State = typename Model::State;
  struct Candidate {
    double value;  // of the whole derivation
    double score;  // of the edge
    double added;
    int32_t edge;
    std::vector<int32_t> ranks;
    State state;
    bool operator<(const Candidate& other) const { return value < other.value; }
  };

  DerivationGraph graph;
  std::vector<State> states;                       // by node of the graph
  std::vector<std::vector<int32_t>> found(nodes);  // by node of the forest: its nodes in the graph, best first
  std::vector<const State*> tails;
  for (int32_t v = 0; v < nodes; ++v) {
    std::vector<Candidate> heap;
    std::set<std::pair<int32_t, std::vector<int32_t>>> seen;
    std::unordered_map<std::vector<int32_t>, int32_t, HashOfWords> by_key;
    const auto propose = [&](int32_t e, std::vector<int32_t> ranks) {
      const RuleUse edge = edge_of(e);
      tails.clear();
      double below = 0;
      for (int32_t k = 0; k < edge.tail_count; ++k) {
        const std::vector<int32_t>& of_tail = found[edge.tails[k]];
        if (static_cast<size_t>(ranks[k]) >= of_tail.size()) return;
        const int32_t u = of_tail[ranks[k]];
        below += graph.nodes[u].best;
        tails.push_back(&states[u]);
      }
      if (edge.tail_count > 0 && !seen.emplace(e, ranks).second) return;
      Candidate candidate{0, edge.score, 0, e, std::move(ranks), {}};
      const bool exists = model.combine(*edge.target, tails, candidate.state, candidate.added);
      candidate.score += model.weight() * candidate.added;
      candidate.value = exists ? candidate.score + below : -std::numeric_limits<double>::infinity();
      heap.push_back(std::move(candidate));
      std::push_heap(heap.begin(), heap.end());
    };
    for (const int32_t e : edges(v))
      if (model.possible(*edge_of(e).target)) propose(e, std::vector<int32_t>(edge_of(e).tail_count, 0));
    for (int64_t taken = 0; !heap.empty() && (beam == 0 || taken < beam);) {
      std::pop_heap(heap.begin(), heap.end());
      Candidate best = std::move(heap.back());
      heap.pop_back();
      const RuleUse edge = edge_of(best.edge);
      for (size_t k = 0; k < best.ranks.size(); ++k) {
        std::vector<int32_t> ranks = best.ranks;
        ++ranks[k];
        propose(best.edge, std::move(ranks));
      }
      if (best.value == -std::numeric_limits<double>::infinity()) continue;
      ++taken;
      const auto [place, added] = by_key.try_emplace(model.key(best.state), static_cast<int32_t>(graph.nodes.size()));
      if (added) {
        found[v].push_back(place->second);
        graph.nodes.emplace_back();
        states.push_back(std::move(best.state));
      }
      DerivationGraph::Node& node = graph.nodes[place->second];
      const auto number = static_cast<int32_t>(graph.edges.size());
      graph.edges.push_back(
          {best.edge, best.score, best.added, static_cast<int32_t>(graph.tails.size()), edge.tail_count});
      for (int32_t k = 0; k < edge.tail_count; ++k) graph.tails.push_back(found[edge.tails[k]][best.ranks[k]]);
      node.edges.push_back(number);
      if (best.value > node.best) {
        node.best = best.value;
        node.best_edge = number;
      }
    }
    std::stable_sort(found[v].begin(), found[v].end(),
                     [&](int32_t a, int32_t b) { return graph.nodes[a].best > graph.nodes[b].best; });
  }
  // Adds one root above all nodes of the whole sentence.
  DerivationGraph::Node root;
  for (const int32_t u : found.back()) {
    if (graph.nodes[u].best > root.best) {
      root.best = graph.nodes[u].best;
      root.best_edge = static_cast<int32_t>(graph.edges.size());
    }
    root.edges.push_back(static_cast<int32_t>(graph.edges.size()));
    graph.edges.push_back({-1, 0.0, 0.0, static_cast<int32_t>(graph.tails.size()), 1});
    graph.tails.push_back(u);
  }
  graph.nodes.push_back(std::move(root));
  return graph;
}

}  // namespace margrave
