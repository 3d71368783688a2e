// Translation by a synchronous grammar, with or without a language model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/lazy_kbest.h"
#include "engines/strings.h"
#include "protocol/checks.h"
#include "translation/chart.h"
#include "translation/language_model.h"
#include "translation/search.h"
#include "translation/synchronous_grammar.h"

namespace margrave {

class SynchronousDecoder {
 public:
  using Features = std::vector<std::pair<int32_t, double>>;

  struct Settings {
    std::string goal;   // the label of whole sentences
    std::string label;  // of copied words
    bool pass_all;      // whether all words may be copied, or only those that no rule translates alone
    double word_value;  // value of the feature that counts words
    std::string model_name, word_name, unknown_name;  // names of the features that are not in rules; empty: words or
                                                      // unknown words are not counted
  };

  struct Translation {
    double score;
    std::string text;
    Features features;
  };

  struct ForestEdge {
    int32_t head;
    std::vector<int32_t> tails;
    std::vector<std::pair<int32_t, std::string>> target;  // the index of a tail; or -1 and a word
    Features features;
  };

  SynchronousDecoder(std::shared_ptr<const SynchronousGrammar> grammar, std::shared_ptr<const LanguageModel> model,
                     Settings settings)
      : grammar_(std::move(grammar)), model_(std::move(model)), settings_(std::move(settings)), tree_(*grammar_) {
    goal_ = find(grammar_->labels(), settings_.goal);
    label_ = find(grammar_->labels(), settings_.label);
    if (goal_ < 0) throw InputError("no rule makes the goal [" + settings_.goal + "]: name it, or add glue rules.");
    if (label_ < 0) throw InputError("no rule has the label [" + settings_.label + "] of unknown words.");
    features_ = grammar_->features();
    if (model_) model_feature_ = add(features_, settings_.model_name);
    if (!settings_.word_name.empty()) word_feature_ = add(features_, settings_.word_name);
    if (!settings_.unknown_name.empty()) unknown_feature_ = add(features_, settings_.unknown_name);
    order_labels();
    names_ = grammar_->target_words();
    begin_ = add(names_, SynchronousGrammar::kBegin);
    end_ = add(names_, SynchronousGrammar::kEnd);
    marked_ = find(grammar_->source_words(), SynchronousGrammar::kBegin) >= 0;
    whole_ = {begin_, gap(0), end_};
    if (model_)
      for (int64_t w = 0; w < names_.size(); ++w) model_words_.push_back(model_->number(names_.name(w)));
  }

  const Vocabulary& features() const { return features_; }

  // The k best translations, best first; with `distinct`, no two have the same words.
  std::vector<Translation> decode(const std::vector<std::string_view>& source, const double* weights, int64_t k,
                                  int64_t beam, bool distinct) const {
    const Sentence sentence = parse(source, weights);
    if (sentence.parse.goal < 0) return {};
    return ranked(sentence, explore(sentence, weights, beam), k, distinct);
  }

  // The k best derivations of one translation. A language model adds the same score to all of them.
  std::vector<Translation> forced(const std::vector<std::string_view>& source,
                                  const std::vector<std::string_view>& target, const double* weights, int64_t k) const {
    const Sentence sentence = parse(source, weights);
    if (sentence.parse.goal < 0) return {};
    std::vector<int32_t> words{begin_};
    for (const std::string_view word : target) {
      words.push_back(number_of(sentence, word));
      if (words.back() < 0) return {};
    }
    words.push_back(end_);
    std::vector<Translation> found = ranked(sentence, run(ForcedTarget(words), sentence, 0), k, false);
    if (!model_) return found;
    std::vector<int32_t> numbers;
    for (const std::string_view word : target) numbers.push_back(model_->number(word));
    const double score = model_->score(numbers);
    for (Translation& translation : found) {
      translation.score += weights[model_feature_] * score;
      translation.features.emplace_back(model_feature_, score);
    }
    return found;
  }

  // The derivations found by the search, as edges sorted by head; the last node is the root.
  std::vector<ForestEdge> forest(const std::vector<std::string_view>& source, const double* weights,
                                 int64_t beam) const {
    const Sentence sentence = parse(source, weights);
    if (sentence.parse.goal < 0) return {};
    const DerivationGraph graph = explore(sentence, weights, beam);
    std::vector<ForestEdge> found;
    for (size_t v = 0; v < graph.nodes.size(); ++v)
      for (const int32_t e : graph.nodes[v].edges) {
        const DerivationGraph::Edge& edge = graph.edges[e];
        ForestEdge kept{static_cast<int32_t>(v), {}, {}, features_of(sentence, edge)};
        kept.tails.assign(graph.tails.begin() + edge.tail_begin,
                          graph.tails.begin() + edge.tail_begin + edge.tail_count);
        for (const Symbol symbol : target_of(sentence, edge.origin)) {
          if (is_gap(symbol))
            kept.target.emplace_back(gap_number(symbol), "");
          else if (symbol != begin_ && symbol != end_)
            kept.target.emplace_back(-1, std::string(name(sentence, symbol)));
        }
        found.push_back(std::move(kept));
      }
    return found;
  }

  // The positions of the words that occur in no rule.
  std::vector<int64_t> unknown(const std::vector<std::string_view>& source) const {
    std::vector<int64_t> places;
    for (size_t i = 0; i < source.size(); ++i)
      if (find(grammar_->source_words(), source[i]) < 0) places.push_back(static_cast<int64_t>(i));
    return places;
  }

 private:
  struct Sentence {
    SourceForest parse;
    std::vector<std::vector<Symbol>> passing;  // by source word: its target if it is copied
    std::vector<std::string> passed;           // source words that are not target words
    std::vector<int32_t> model_words;          // by target word, then by word of `passed`
    std::vector<double> scores;                // by edge of the parse
  };

  static int32_t find(const Vocabulary& names, std::string_view name) {
    return names.find(name, hash_bytes(name.data(), name.size()));
  }
  static int32_t add(Vocabulary& names, std::string_view name) {
    return names.add(name, hash_bytes(name.data(), name.size()));
  }

  // Orders the labels such that unary rules apply only after all derivations of the label on their right-hand side.
  void order_labels() {
    const auto n = static_cast<size_t>(grammar_->labels().size());
    std::vector<std::vector<int32_t>> above(n);
    std::vector<int64_t> below(n, 0);
    for (int64_t r = 0; r < grammar_->size(); ++r) {
      const SynchronousRule& rule = grammar_->rule(r);
      if (rule.source.size() != 1 || !is_gap(rule.source[0])) continue;
      above[gap_number(rule.source[0])].push_back(rule.label);
      ++below[rule.label];
    }
    for (size_t label = 0; label < n; ++label)
      if (below[label] == 0) unary_order_.push_back(static_cast<int32_t>(label));
    for (size_t k = 0; k < unary_order_.size(); ++k)
      for (const int32_t label : above[unary_order_[k]])
        if (--below[label] == 0) unary_order_.push_back(label);
    for (size_t label = 0; label < n; ++label)
      if (below[label] > 0)
        throw InputError("rules that replace one label by another lead from [" +
                         std::string(grammar_->labels().name(static_cast<int64_t>(label))) +
                         "] back to itself, which would allow infinitely many derivations.");
  }

  Sentence parse(const std::vector<std::string_view>& source, const double* weights) const {
    Sentence sentence;
    std::vector<int32_t> words;
    std::vector<uint8_t> passes;
    sentence.model_words = model_words_;
    const auto read = [&](std::string_view word, bool may_pass) {
      words.push_back(find(grammar_->source_words(), word));
      bool passing = may_pass;
      if (may_pass && !settings_.pass_all && words.back() >= 0) {
        const int32_t v = tree_.child(0, words.back());
        if (v >= 0)
          for (const int32_t r : tree_.node(v).rules) passing = passing && grammar_->rule(r).label != label_;
      }
      passes.push_back(passing);
      if (number_of(sentence, word) < 0) {
        sentence.passed.emplace_back(word);
        if (model_) sentence.model_words.push_back(model_->number(word));
      }
      sentence.passing.push_back({number_of(sentence, word)});
    };
    if (marked_) read(SynchronousGrammar::kBegin, false);
    for (const std::string_view word : source) {
      if (word == SynchronousGrammar::kBegin || word == SynchronousGrammar::kEnd)
        throw InputError("a source contains " + std::string(word) + ", which stands for its beginning or end.");
      read(word, true);
    }
    if (marked_) read(SynchronousGrammar::kEnd, false);
    if (words.empty()) return sentence;
    sentence.parse = SynchronousChart::parse(*grammar_, tree_, unary_order_, words, passes, label_, goal_);
    if (sentence.parse.goal < 0) return sentence;
    if (!marked_) {
      // Wraps the goal in the beginning and the end of the sentence.
      SourceForest& parsed = sentence.parse;
      parsed.nodes.push_back(
          {goal_, 0, static_cast<int32_t>(words.size()), {static_cast<int32_t>(parsed.edges.size())}});
      parsed.edges.push_back({kWhole, static_cast<int32_t>(parsed.tails.size()), 1});
      parsed.tails.push_back(parsed.goal);
      parsed.goal = static_cast<int32_t>(parsed.nodes.size()) - 1;
    }
    for (size_t e = 0; e < sentence.parse.edges.size(); ++e) {
      double score = 0;
      each_feature(sentence, static_cast<int32_t>(e), [&](int32_t f, double value) { score += weights[f] * value; });
      sentence.scores.push_back(score);
    }
    return sentence;
  }

  // The number of a target word, or -1.
  int32_t number_of(const Sentence& sentence, std::string_view word) const {
    const int32_t number = find(names_, word);
    if (number >= 0) return number;
    const auto place = std::find(sentence.passed.begin(), sentence.passed.end(), word);
    return place == sentence.passed.end() ? -1
                                          : static_cast<int32_t>(names_.size() + (place - sentence.passed.begin()));
  }

  const std::vector<Symbol>& target_of(const Sentence& sentence, int32_t origin) const {
    static const std::vector<Symbol> kOnly{gap(0)};
    if (origin < 0) return kOnly;
    const int32_t rule = sentence.parse.edges[origin].rule;
    if (rule == kWhole) return whole_;
    return rule >= 0 ? grammar_->rule(rule).target : sentence.passing[-1 - rule];
  }

  template <class Visit>
  void each_feature(const Sentence& sentence, int32_t origin, const Visit& visit) const {
    if (origin < 0) return;
    const int32_t rule = sentence.parse.edges[origin].rule;
    if (rule == kWhole) return;
    if (rule >= 0)
      for (const auto& [feature, value] : grammar_->rule(rule).features) visit(feature, value);
    else if (unknown_feature_ >= 0)
      visit(unknown_feature_, 1.0);
    if (word_feature_ < 0) return;
    int64_t words = 0;
    for (const Symbol symbol : target_of(sentence, origin)) words += !is_gap(symbol);
    if (words > 0) visit(word_feature_, settings_.word_value * static_cast<double>(words));
  }

  Features features_of(const Sentence& sentence, const DerivationGraph::Edge& edge) const {
    std::map<int32_t, double> sums;
    add_features(sentence, edge, sums);
    return Features(sums.begin(), sums.end());
  }
  void add_features(const Sentence& sentence, const DerivationGraph::Edge& edge,
                    std::map<int32_t, double>& sums) const {
    each_feature(sentence, edge.origin, [&](int32_t f, double value) { sums[f] += value; });
    if (edge.added != 0) sums[model_feature_] += edge.added;
  }

  template <class Model>
  DerivationGraph run(const Model& model, const Sentence& sentence, int64_t beam) const {
    const SourceForest& parsed = sentence.parse;
    return search(
        model, static_cast<int32_t>(parsed.nodes.size()),
        [&](int32_t v) -> const std::vector<int32_t>& { return parsed.nodes[v].edges; },
        [&](int32_t e) {
          const SourceForest::Edge& edge = parsed.edges[e];
          return RuleUse{&target_of(sentence, e), sentence.scores[e], parsed.tails.data() + edge.tail_begin,
                         edge.tail_count};
        },
        beam);
  }

  // Without a model, all derivations are kept.
  DerivationGraph explore(const Sentence& sentence, const double* weights, int64_t beam) const {
    if (!model_) return run(RulesAlone(), sentence, 0);
    return run(NgramScorer(*model_, sentence.model_words, weights[model_feature_]), sentence, beam);
  }

  // The graph for LazyKbest.
  struct Derivations {
    const SynchronousDecoder& decoder;
    const Sentence& sentence;
    const DerivationGraph& graph;

    int64_t nodes() const { return static_cast<int64_t>(graph.nodes.size()); }
    double best(int64_t v) const { return graph.nodes[v].best; }
    int64_t best_edge(int64_t v) const { return graph.nodes[v].best_edge; }
    template <class Visit>
    void each_edge(int64_t v, const Visit& visit) const {
      for (const int32_t e : graph.nodes[v].edges) visit(e);
    }
    int64_t tail_count(int64_t e) const { return graph.edges[e].tail_count; }
    int64_t tail(int64_t e, int64_t j) const { return graph.tails[graph.edges[e].tail_begin + j]; }
    double score(int64_t e) const { return graph.edges[e].score; }
  };
  struct DistinctDerivations : Derivations {
    Strings& strings;
    int64_t string(int64_t e, const std::vector<int64_t>& keys) const {
      const std::vector<Symbol>& target = this->decoder.target_of(this->sentence, this->graph.edges[e].origin);
      return strings.join(target.data(), target.data() + target.size(), keys);
    }
  };

  std::vector<Translation> ranked(const Sentence& sentence, const DerivationGraph& graph, int64_t k,
                                  bool distinct) const {
    const Derivations derivations{*this, sentence, graph};
    Strings strings;
    if (distinct) return listed(DistinctDerivations{derivations, strings}, k);
    return listed(derivations, k);
  }

  template <class Graph>
  std::vector<Translation> listed(const Graph& derivations, int64_t k) const {
    LazyKbest<Graph> lazy(derivations);
    std::vector<Translation> found;
    const int64_t root = derivations.nodes() - 1;
    for (int64_t rank = 0; rank < k && lazy.request(root, rank); ++rank) {
      Translation translation{lazy.value(root, rank), {}, {}};
      std::map<int32_t, double> sums;
      std::vector<int64_t> edges;
      lazy.each_edge(root, rank, [&](int64_t e) {
        edges.push_back(e);
        add_features(derivations.sentence, derivations.graph.edges[e], sums);
      });
      translation.text = spelled(derivations, edges);
      translation.features.assign(sums.begin(), sums.end());
      found.push_back(std::move(translation));
    }
    return found;
  }

  // The text of a derivation. Its edges are listed top down, the last tail of an edge first.
  template <class Graph>
  std::string spelled(const Graph& derivations, const std::vector<int64_t>& edges) const {
    std::vector<std::string> open;  // texts of the latest edges, a stack
    for (size_t k = edges.size(); k-- > 0;) {
      const DerivationGraph::Edge& edge = derivations.graph.edges[edges[k]];
      // The first tail is read last, since the edges are read in reverse.
      const size_t first = open.size() - static_cast<size_t>(edge.tail_count);
      std::string text;
      for (const Symbol symbol : target_of(derivations.sentence, edge.origin)) {
        if (!is_gap(symbol) && (symbol == begin_ || symbol == end_)) continue;
        const std::string_view piece = is_gap(symbol)
                                           ? std::string_view(open[first + static_cast<size_t>(gap_number(symbol))])
                                           : name(derivations.sentence, symbol);
        if (!text.empty() && !piece.empty()) text += ' ';
        text += piece;
      }
      open.resize(first);
      open.push_back(std::move(text));
    }
    return open.empty() ? std::string() : open.back();
  }

  std::string_view name(const Sentence& sentence, Symbol word) const {
    return word < names_.size() ? names_.name(word) : std::string_view(sentence.passed[word - names_.size()]);
  }

  static constexpr int32_t kWhole = std::numeric_limits<int32_t>::min();  // the rule that begins and ends a sentence

  std::shared_ptr<const SynchronousGrammar> grammar_;
  std::shared_ptr<const LanguageModel> model_;
  Settings settings_;
  RuleTree tree_;
  std::vector<int32_t> unary_order_;
  Vocabulary features_;
  Vocabulary names_;  // target words, and those that begin and end sentences
  std::vector<int32_t> model_words_;
  std::vector<Symbol> whole_;
  int32_t goal_ = -1;
  int32_t label_ = -1;
  int32_t begin_ = -1;
  int32_t end_ = -1;
  int32_t model_feature_ = -1;
  int32_t word_feature_ = -1;
  int32_t unknown_feature_ = -1;
  bool marked_ = false;
};

}  // namespace margrave
