// Phrase-based translation by beam search, in which only neighboring phrases swap (004, section 5.2).
//
// A translation is a sequence of phrase pairs. Their source phrases are in source order, except that two neighbors may
// swap: after a covered prefix 0..i, either i..j is translated next, or first j..k and then i..j. The state of a
// partial translation is all that affects the score of the rest: which source words are covered, where the last source
// phrase ended, and the last target words. The orientation of the next phrase is decided together with the last one, so
// states need not remember phrases. Partial translations that cover equally many source words form a stack. Those with
// the same state are one node of the search graph, with one edge each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/paths.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "translation/language_model.h"
#include "translation/phrase_table.h"

namespace margrave {

// Words of translations are numbers of target words. Special ones are negative:
constexpr int32_t kSentenceBegin = -1;
constexpr int32_t kSentenceEnd = -2;
inline int32_t copied_word(int64_t position) { return static_cast<int32_t>(-3 - position); }  // a copied source word

// The numbers of features; dense ones first.
class PhraseFeatures {
 public:
  enum Dense : int32_t {
    kLanguageModel,
    kTranslation,                                     // followed by the other scores of the table
    kForward = kTranslation + PhraseTable::kForward,  // log-probabilities of orientations
    kBackward = kTranslation + PhraseTable::kBackward,
    kWords = kTranslation + PhraseTable::kScores,
    kPhrases,
    kDistance,
    kDense
  };
  // Kinds of sparse features: three target words, a phrase pair, and a pair with an orientation.
  enum Kind : int32_t { kTrigram, kPair, kForwardPair, kBackwardPair = kForwardPair + 3, kKinds = kBackwardPair + 3 };
  static constexpr int64_t kMostWords = (int64_t{1} << 21) - 3;

  int64_t size() const { return size_; }
  int32_t trigram(int32_t a, int32_t b, int32_t c) const {
    if (!spelled(a) || !spelled(b) || !spelled(c)) return -1;
    const auto found = trigrams_.find(code(a, b, c));
    return found == trigrams_.end() ? -1 : found->second;
  }
  // The number of a phrase pair among those with features, or -1.
  int32_t pair(const int32_t* source, int64_t n, const int32_t* target, int64_t m) const {
    return pairs_.find(key(source, n, target, m).data(), n + m + 1);
  }
  // The feature of this kind of the phrase pair with this number.
  int32_t of_pair(int32_t pair, int32_t kind) const { return pair < 0 ? -1 : numbers_[place(pair, kind)]; }
  int32_t add_trigram(int32_t a, int32_t b, int32_t c) {
    if (!spelled(a) || !spelled(b) || !spelled(c)) return -1;
    const auto [place, added] = trigrams_.emplace(code(a, b, c), static_cast<int32_t>(size_));
    if (added) {
      kinds_.push_back(kTrigram);
      const int32_t words[] = {a, b, c};
      add_words(words, 3, nullptr, 0);
    }
    return place->second;
  }
  int32_t add_pair(const int32_t* source, int64_t n, const int32_t* target, int64_t m) {
    const int32_t number = pairs_.add(key(source, n, target, m).data(), n + m + 1);
    if (place(number, kPair) == numbers_.size()) numbers_.resize(numbers_.size() + kKinds - kPair, -1);
    return number;
  }
  int32_t add_of_pair(int32_t pair, int32_t kind) {
    int32_t& number = numbers_[place(pair, kind)];
    if (number < 0) {
      number = static_cast<int32_t>(size_);
      kinds_.push_back(kind);
      const int32_t* words = pairs_.lists().list(pair);
      const int64_t both = pairs_.lists().length(pair), n = std::find(words, words + both, kBetween) - words;
      add_words(words, n, words + n + 1, both - n - 1);
    }
    return number;
  }

  // The sparse features in the order of their numbers, starting at kDense: their kinds and their words.
  const std::vector<int32_t>& kinds() const { return kinds_; }
  const WordLists& first() const { return first_; }    // source words, or the three target words
  const WordLists& second() const { return second_; }  // target words of pairs

 private:
  static bool spelled(int32_t word) { return word >= kSentenceEnd; }
  static uint64_t code(int32_t a, int32_t b, int32_t c) {
    const auto shifted = [](int32_t word) { return static_cast<uint64_t>(word - kSentenceEnd); };
    return shifted(a) << 42 | shifted(b) << 21 | shifted(c);
  }
  static constexpr int32_t kBetween = -1;  // separates the two phrases of a pair
  static std::vector<int32_t> key(const int32_t* source, int64_t n, const int32_t* target, int64_t m) {
    std::vector<int32_t> words(source, source + n);
    words.push_back(kBetween);
    words.insert(words.end(), target, target + m);
    return words;
  }
  static size_t place(int32_t pair, int32_t kind) {
    return static_cast<size_t>(pair) * (kKinds - kPair) + static_cast<size_t>(kind - kPair);
  }
  void add_words(const int32_t* first, int64_t n, const int32_t* second, int64_t m) {
    if (size_ >= (int64_t{1} << 31) - 1) throw InputError("there are too many features.");
    first_.add(first, n);
    second_.add(second, m);
    ++size_;
  }

  int64_t size_ = kDense;
  std::unordered_map<uint64_t, int32_t> trigrams_;
  WordListIndex pairs_;
  std::vector<int32_t> numbers_;  // of the features of every pair, by kind; -1: none
  std::vector<int32_t> kinds_;
  WordLists first_, second_;
};

struct FeatureRows {
  std::vector<int64_t> begin{0};
  std::vector<int32_t> index;
  std::vector<double> value;

  void put(int64_t feature, double amount) {
    if (feature < 0 || amount == 0) return;
    index.push_back(static_cast<int32_t>(feature));
    value.push_back(amount);
  }
  void end_row() { begin.push_back(static_cast<int64_t>(index.size())); }
};

// The translations kept by a search: a lattice whose edges have one target word each, or none at the end.
struct SearchGraph {
  std::shared_ptr<Paths> paths;
  std::vector<int32_t> words;    // of every edge; -1: none
  std::vector<double> scores;    // of every edge, under the weights of the search
  FeatureRows rows;              // of every edge
  int64_t unknown = 0;           // source words without a translation
  std::vector<Output> complete;  // the best path of every complete translation in the last stack, best first
};

struct SearchSettings {
  int64_t beam = 100;    // nodes per stack; 0: all
  int64_t options = 20;  // translations per source phrase; 0: all
  int64_t reach = 6;     // maximum number of source words in two phrases that swap
  bool sparse = false;   // whether to use sparse features
};

class PhraseSearch {
 public:
  PhraseSearch(std::shared_ptr<const PhraseTable> table, std::shared_ptr<const LanguageModel> model,
               std::vector<int32_t> model_words, SearchSettings settings)
      : table_(std::move(table)), model_(std::move(model)), model_words_(std::move(model_words)), settings_(settings) {
    if (!table_ || !model_) throw InputError("a search needs a phrase table and a language model.");
    for (const int32_t word : model_words_)
      if (word < 0 || word >= model_->words().size()) throw InputError("a word of the language model is out of range.");
    for (const int32_t word : table_->targets.words)
      if (word >= static_cast<int32_t>(model_words_.size()))
        throw InputError("a target word has no number in the language model.");
    if (static_cast<int64_t>(model_words_.size()) > PhraseFeatures::kMostWords)
      throw InputError("there are too many target words.");
  }

  // features: the index of the weights. With `grow`, new features of the graph are added to it.
  SearchGraph search(const int32_t* source, int64_t n, const double* weights, int64_t dim, PhraseFeatures& features,
                     bool grow) const {
    Run run{*this, source, n, weights, dim, features};
    run.collect_options();
    run.estimate_rest();
    run.fill_stacks();
    return run.graph(grow);
  }

 private:
  static constexpr double kUnknown = -10.0;               // the log-probabilities of a copied word
  static constexpr double kLog10 = 2.302585092994045684;  // language models have logarithms to base 10

  // Which source words are covered.
  enum Kind : int32_t {
    kAligned,  // 0..i; the last phrase ended at i, and the next one begins there
    kJump,     // 0..i; the last phrase ended at i, and the next one begins later
    kAfter,    // 0..i; the last phrase ended at j: it was swapped with the one before
    kGap,      // 0..i and j..k; i..j is next
  };
  // The relevant context in the target words so far.
  struct Context {
    LanguageModel::State model = 0;
    int32_t last = kSentenceBegin, before = kSentenceBegin;  // only with sparse features
    bool operator==(const Context&) const = default;
  };
  struct State {
    int32_t kind = kAligned;
    int32_t i = 0, j = 0, k = 0;
    Context context{};
    bool operator==(const State&) const = default;
  };
  struct StateHash {
    size_t operator()(const State& state) const {
      static_assert(sizeof(State) == 7 * sizeof(int32_t));
      return hash_bytes(reinterpret_cast<const char*>(&state), sizeof(State));
    }
  };
  struct Node {
    State state;
    double score;
    double total;  // with the estimate of the rest
    int64_t best;  // edge
    int64_t last;  // last edge into this node; edges are linked
  };
  struct Edge {
    int64_t tail;
    int64_t option;  // -1: the end of the sentence
    int32_t forward, backward;
    int32_t distance;
    double score;
    int64_t before;  // the previous edge into the same node
  };
  struct Option {
    int64_t pair;  // -1: a copied source word
    const int32_t* target;
    int64_t length;
    int64_t first, last;  // source
    int32_t sparse;       // the number of the pair among those with features, or -1
    double fixed;         // score without the language model, trigrams and orientations
    double inner;         // ... plus the words whose context is within the phrase
    double estimate;      // ... plus the first words without their context
    double forward[3], backward[3];
  };
  struct Stack {
    std::unordered_map<State, int64_t, StateHash> nodes;
    std::vector<int64_t> order;
    std::vector<double> best;  // the best totals of new nodes: a heap with the lowest on top
  };

  struct Run {
    const PhraseSearch& of;
    const int32_t* source;
    int64_t n;
    const double* weights;
    int64_t dim;
    PhraseFeatures& features;
    std::vector<Option> options{};
    std::vector<std::vector<int64_t>> by_span{};  // n * (longest + 1)
    std::vector<int32_t> copies{};
    std::vector<double> rest{};  // (n + 1) * (n + 1)
    std::vector<Node> nodes{};
    std::vector<Edge> edges{};
    std::vector<Stack> stacks{};
    int64_t unknown = 0;

    int64_t longest() const { return std::max<int64_t>(of.table_->longest, 1); }
    const std::vector<int64_t>& span(int64_t first, int64_t last) const {
      return by_span[first * (longest() + 1) + last - first];
    }
    double weight(int64_t feature) const { return feature >= 0 && feature < dim ? weights[feature] : 0.0; }

    // ---- options -----------------------------------------------------------------------------------------------

    void collect_options() {
      const PhraseTable& table = *of.table_;
      by_span.resize(n * (longest() + 1));
      copies.resize(n);
      for (int64_t first = 0; first < n; ++first) {
        for (int64_t last = first + 1; last <= std::min(n, first + table.longest); ++last) {
          const int32_t s = table.index.find(source + first, last - first);
          if (s < 0) continue;
          std::vector<int64_t>& numbers = by_span[first * (longest() + 1) + last - first];
          for (int64_t pair = table.pairs_begin[s]; pair < table.pairs_begin[s + 1]; ++pair) {
            numbers.push_back(static_cast<int64_t>(options.size()));
            options.push_back(option(pair, table.targets.list(pair), table.targets.length(pair), first, last));
          }
          keep_best(numbers);
        }
        std::vector<int64_t>& single = by_span[first * (longest() + 1) + 1];
        if (!single.empty()) continue;
        ++unknown;
        copies[first] = copied_word(first);
        single.push_back(static_cast<int64_t>(options.size()));
        options.push_back(option(-1, &copies[first], 1, first, first + 1));
      }
    }
    void keep_best(std::vector<int64_t>& numbers) const {
      const int64_t most = of.settings_.options;
      if (most == 0 || static_cast<int64_t>(numbers.size()) <= most) return;
      std::stable_sort(numbers.begin(), numbers.end(),
                       [&](int64_t a, int64_t b) { return options[a].estimate > options[b].estimate; });
      numbers.resize(most);
    }
    double table_score(int64_t pair, int64_t k) const {
      if (pair >= 0) return static_cast<double>(of.table_->scores_of(pair)[k]);
      return k < PhraseTable::kForward ? kUnknown : -std::log(3.0);
    }
    double sparse_weight(const Option& option, int32_t kind) const {
      return weight(features.of_pair(option.sparse, kind));
    }
    Option option(int64_t pair, const int32_t* target, int64_t length, int64_t first, int64_t last) const {
      Option found{pair, target, length, first, last, -1, 0, 0, 0, {}, {}};
      if (of.settings_.sparse && pair >= 0) found.sparse = features.pair(source + first, last - first, target, length);
      double& fixed = found.fixed;
      for (int64_t k = 0; k < PhraseTable::kForward; ++k)
        fixed += weights[PhraseFeatures::kTranslation + k] * table_score(pair, k);
      fixed += weights[PhraseFeatures::kWords] * static_cast<double>(length) - weights[PhraseFeatures::kPhrases];
      fixed += sparse_weight(found, PhraseFeatures::kPair);
      for (int32_t o = 0; o < 3; ++o) {
        found.forward[o] = weights[PhraseFeatures::kForward + o] * table_score(pair, PhraseTable::kForward + o) +
                           sparse_weight(found, PhraseFeatures::kForwardPair + o);
        found.backward[o] = weights[PhraseFeatures::kBackward + o] * table_score(pair, PhraseTable::kBackward + o) +
                            sparse_weight(found, PhraseFeatures::kBackwardPair + o);
      }
      found.inner = found.estimate = fixed;
      const int64_t needed = of.model_->order() - 1;
      Context context{of.model_->empty()};
      for (int64_t w = 0; w < length; ++w) {
        const double gain = weights[PhraseFeatures::kLanguageModel] * of.step(context, target[w]);
        found.estimate += gain;
        if (w >= needed) found.inner += gain;
      }
      return found;
    }

    // ---- stacks ------------------------------------------------------------------------------------------------

    double& rest_of(int64_t first, int64_t last) { return rest[first * (n + 1) + last]; }
    void estimate_rest() {
      rest.assign((n + 1) * (n + 1), 0.0);
      for (int64_t length = 1; length <= n; ++length)
        for (int64_t first = 0; first + length <= n; ++first) {
          double best = -kInfinity;
          if (length <= longest())
            for (const int64_t k : span(first, first + length)) best = std::max(best, options[k].estimate);
          for (int64_t middle = first + 1; middle < first + length; ++middle)
            best = std::max(best, rest_of(first, middle) + rest_of(middle, first + length));
          rest_of(first, first + length) = best;
        }
    }
    double rest_after(const State& state) {
      return state.kind == kGap ? rest_of(state.i, state.j) + rest_of(state.k, n) : rest_of(state.i, n);
    }

    void fill_stacks() {
      stacks.resize(n + 2);  // the last one is for the end of the sentence
      Node start{{}, 0.0, 0.0, -1, -1};
      start.state.context.model = of.model_->begin();
      for (const int32_t kind : {kAligned, kJump}) {
        if (kind == kJump && n < 2) continue;
        start.state.kind = kind;
        stacks[0].order.push_back(static_cast<int64_t>(nodes.size()));
        nodes.push_back(start);
      }
      for (int64_t covered = 0; covered <= n; ++covered) {
        Stack& stack = stacks[covered];
        std::stable_sort(stack.order.begin(), stack.order.end(),
                         [&](int64_t a, int64_t b) { return nodes[a].total > nodes[b].total; });
        if (covered > 0 && of.settings_.beam > 0 && static_cast<int64_t>(stack.order.size()) > of.settings_.beam)
          stack.order.resize(of.settings_.beam);
        for (const int64_t node : stack.order) expand(node, covered);
        stack.nodes.clear();
      }
    }

    void expand(int64_t node, int64_t covered) {
      const State state = nodes[node].state;
      const auto each = [&](int64_t first, int64_t last, const auto& visit) {
        if (last - first > longest()) return;
        for (const int64_t k : span(first, last)) visit(k, covered + last - first);
      };
      if (state.kind == kGap) {  // the skipped phrase
        each(state.i, state.j, [&](int64_t k, int64_t count) {
          State next{kAfter, state.k, state.j, 0, {}};
          apply(node, k, kDiscontinuous, kSwap, state.k - state.i, next, count);
        });
        return;
      }
      const int32_t before = state.kind == kAfter ? state.j : state.i;  // where the last phrase ended
      const int32_t backward = state.kind == kAligned ? kMonotone : kDiscontinuous;
      if (state.kind != kJump && state.i == n) {
        finish(node);
        return;
      }
      if (state.kind != kJump)
        for (int64_t last = state.i + 1; last <= std::min(n, state.i + longest()); ++last)
          each(state.i, last, [&](int64_t k, int64_t count) {
            const int32_t end = static_cast<int32_t>(last);
            apply(node, k, kMonotone, backward, state.i - before, {kAligned, end, 0, 0, {}}, count);
            if (last + 2 <= n)
              apply(node, k, kDiscontinuous, backward, state.i - before, {kJump, end, 0, 0, {}}, count);
          });
      if (state.kind == kAligned) return;
      for (int64_t first = state.i + 1; first < n && first - state.i <= longest(); ++first)
        for (int64_t last = first + 1; last <= std::min(n, state.i + of.settings_.reach); ++last) {
          if (last - first > longest() || span(state.i, first).empty()) continue;
          each(first, last, [&](int64_t k, int64_t count) {
            const State next{kGap, state.i, static_cast<int32_t>(first), static_cast<int32_t>(last), {}};
            apply(node, k, kSwap, backward, static_cast<int32_t>(first) - before, next, count);
          });
        }
    }

    // Appends the phrase of an option to a node. forward: the orientation of the phrase after it.
    void apply(int64_t node, int64_t number, int32_t forward, int32_t backward, int64_t distance, State next,
               int64_t covered) {
      const Option& option = options[number];
      const Node& from = nodes[node];
      const double fixed = from.score + option.forward[forward] + option.backward[backward] -
                           weights[PhraseFeatures::kDistance] * static_cast<double>(distance);
      const double after = rest_after(next);
      if (after == -kInfinity) return;
      Stack& stack = stacks[covered];
      // Log-probabilities are not positive, so this is an upper bound, apart from the weights of trigrams.
      const bool full = of.settings_.beam > 0 && static_cast<int64_t>(stack.best.size()) == of.settings_.beam;
      if (full && weights[PhraseFeatures::kLanguageModel] >= 0 && fixed + option.inner + after < stack.best.front())
        return;
      next.context = from.state.context;
      double score = fixed + option.fixed;
      for (int64_t w = 0; w < option.length; ++w) score += append(next.context, option.target[w]);
      add(stack, next, {node, number, forward, backward, static_cast<int32_t>(distance), score, -1}, score + after);
    }
    void finish(int64_t node) {
      const Node& from = nodes[node];
      Context context = from.state.context;
      const double score = from.score + append(context, kSentenceEnd);
      const State end{kAligned, static_cast<int32_t>(n), 0, 0, {}};
      add(stacks[n + 1], end, {node, -1, 0, 0, 0, score, -1}, score);
    }
    void add(Stack& stack, const State& state, Edge edge, double total) {
      if (!std::isfinite(total))
        throw InputError("the score of a translation is not finite: the weights are too large.");
      const auto number = static_cast<int64_t>(edges.size());
      const auto [place, added] = stack.nodes.emplace(state, static_cast<int64_t>(nodes.size()));
      if (added) {
        stack.order.push_back(static_cast<int64_t>(nodes.size()));
        nodes.push_back({state, edge.score, total, number, number});
        if (of.settings_.beam > 0) {
          const auto greater = [](double a, double b) { return a > b; };
          stack.best.push_back(total);
          std::push_heap(stack.best.begin(), stack.best.end(), greater);
          if (static_cast<int64_t>(stack.best.size()) > of.settings_.beam) {
            std::pop_heap(stack.best.begin(), stack.best.end(), greater);
            stack.best.pop_back();
          }
        }
      } else {
        Node& node = nodes[place->second];
        edge.before = node.last;
        node.last = number;
        if (edge.score > node.score) {
          node.score = edge.score;
          node.total = total;
          node.best = number;
        }
      }
      edges.push_back(edge);
    }

    // The score of a word after a context, which is updated.
    double append(Context& context, int32_t word) const {
      const bool weighted = of.settings_.sparse && dim > PhraseFeatures::kDense;
      const double trigram = weighted ? weight(features.trigram(context.before, context.last, word)) : 0.0;
      return trigram + weights[PhraseFeatures::kLanguageModel] * of.step(context, word);
    }

    // ---- the graph ---------------------------------------------------------------------------------------------

    SearchGraph graph(bool grow) {
      if (stacks.back().order.empty()) throw InputError("the search found no complete translation: use a larger beam.");
      // Nodes that lead to the end, by stack; both starts are node 0.
      std::vector<uint8_t> leads(nodes.size(), 0);
      leads[stacks.back().order[0]] = 1;
      for (int64_t covered = n + 1; covered > 0; --covered)
        for (const int64_t v : stacks[covered].order)
          if (leads[v])
            for (int64_t e = nodes[v].last; e >= 0; e = edges[e].before) leads[edges[e].tail] = 1;
      SearchGraph found;
      found.unknown = unknown;
      std::vector<int32_t> number(nodes.size(), 0);
      std::vector<std::vector<int32_t>> parts(edges.size());
      std::vector<int32_t> tails, heads;
      int32_t count = 1;
      const auto add_edge = [&](int32_t tail, int32_t head, const Edge& edge, int64_t w, Context& context) {
        Option* option = edge.option < 0 ? nullptr : &options[edge.option];
        const int32_t word = option == nullptr ? kSentenceEnd : option->target[w];
        tails.push_back(tail);
        heads.push_back(head);
        found.words.push_back(word);
        describe(found.rows, edge, option, w, context, word, grow);
        double score = 0;
        for (int64_t k = found.rows.begin[found.rows.begin.size() - 2]; k < found.rows.begin.back(); ++k)
          score += found.rows.value[k] * weight(found.rows.index[k]);
        found.scores.push_back(score);
      };
      for (int64_t covered = 1; covered <= n + 1; ++covered)
        for (const int64_t v : stacks[covered].order) {
          if (!leads[v]) continue;
          std::vector<int64_t> arriving;
          for (int64_t e = nodes[v].last; e >= 0; e = edges[e].before) arriving.push_back(e);
          std::reverse(arriving.begin(), arriving.end());
          std::vector<std::pair<int32_t, Context>> ends;  // where the last word of each edge begins
          for (const int64_t e : arriving) {
            const Edge& edge = edges[e];
            Context context = nodes[edge.tail].state.context;
            int32_t tail = number[edge.tail];
            const int64_t length = edge.option < 0 ? 1 : options[edge.option].length;
            for (int64_t w = 0; w + 1 < length; ++w) {
              parts[e].push_back(static_cast<int32_t>(tails.size()));
              add_edge(tail, count, edge, w, context);
              tail = count++;
            }
            ends.emplace_back(tail, context);
          }
          number[v] = count++;
          for (size_t k = 0; k < arriving.size(); ++k) {
            const Edge& edge = edges[arriving[k]];
            const int64_t length = edge.option < 0 ? 1 : options[edge.option].length;
            parts[arriving[k]].push_back(static_cast<int32_t>(tails.size()));
            add_edge(ends[k].first, number[v], edge, length - 1, ends[k].second);
          }
        }
      list_complete(parts, found);
      std::vector<int32_t> own(tails.size());
      for (size_t e = 0; e < own.size(); ++e) own[e] = static_cast<int32_t>(e);
      found.paths = std::make_shared<Paths>(count, std::move(tails), std::move(heads), std::move(own));
      return found;
    }

    // The features of the w-th word of an edge; updates the context. The features of a phrase are at its first word.
    void describe(FeatureRows& rows, const Edge& edge, Option* option, int64_t w, Context& context, int32_t word,
                  bool grow) {
      using F = PhraseFeatures;
      if (of.settings_.sparse)
        rows.put(grow ? features.add_trigram(context.before, context.last, word)
                      : features.trigram(context.before, context.last, word),
                 1);
      rows.put(F::kLanguageModel, of.step(context, word));
      if (option != nullptr) {
        rows.put(F::kWords, 1);
        if (w == 0) {
          for (int64_t k = 0; k < PhraseTable::kForward; ++k)
            rows.put(F::kTranslation + k, table_score(option->pair, k));
          rows.put(F::kForward + edge.forward, table_score(option->pair, PhraseTable::kForward + edge.forward));
          rows.put(F::kBackward + edge.backward, table_score(option->pair, PhraseTable::kBackward + edge.backward));
          rows.put(F::kPhrases, -1);
          rows.put(F::kDistance, -static_cast<double>(edge.distance));
          if (of.settings_.sparse && option->pair >= 0) {
            if (grow && option->sparse < 0)
              option->sparse = features.add_pair(source + option->first, option->last - option->first, option->target,
                                                 option->length);
            for (const int32_t kind :
                 {static_cast<int32_t>(F::kPair), F::kForwardPair + edge.forward, F::kBackwardPair + edge.backward})
              rows.put(grow ? features.add_of_pair(option->sparse, kind) : features.of_pair(option->sparse, kind), 1);
          }
        }
      }
      rows.end_row();
    }

    // The best path to the end through every node of the last stack.
    void list_complete(const std::vector<std::vector<int32_t>>& parts, SearchGraph& found) const {
      std::vector<int64_t> last;
      for (int64_t e = nodes[stacks.back().order[0]].last; e >= 0; e = edges[e].before) last.push_back(e);
      std::stable_sort(last.begin(), last.end(), [&](int64_t a, int64_t b) { return edges[a].score > edges[b].score; });
      for (int64_t e : last) {
        Output y;
        while (e >= 0) {
          y.insert(y.end(), parts[e].begin(), parts[e].end());
          e = nodes[edges[e].tail].best;
        }
        std::sort(y.begin(), y.end());
        found.complete.push_back(std::move(y));
      }
    }
  };

  int32_t in_model(int32_t word) const {
    if (word >= 0) return model_words_[word];
    return word == kSentenceBegin ? model_->begin_word()
           : word == kSentenceEnd ? model_->end_word()
                                  : model_->unknown_word();
  }
  // The log-probability of a word after a context, which is updated.
  double step(Context& context, int32_t word) const {
    const double found = kLog10 * model_->step(context.model, in_model(word), context.model);
    if (settings_.sparse) {
      context.before = context.last;
      context.last = word;
    }
    return found;
  }

  std::shared_ptr<const PhraseTable> table_;
  std::shared_ptr<const LanguageModel> model_;
  std::vector<int32_t> model_words_;  // the number of every target word in the language model
  SearchSettings settings_;
};

}  // namespace margrave
