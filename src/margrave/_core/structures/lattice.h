// A dataset whose outputs are the paths of one lattice per example: an acyclic graph whose edges are the parts and
// carry words. The good outputs of an example are the paths whose words form one of its good strings.
//
// Many paths may form a good string, so good outputs are not listed. The product of the lattice with the trie of its
// good strings divides the paths in two: each node of the product knows the current prefix of a good string, or that
// there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engines/paths.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/random.h"
#include "protocol/scratch.h"
#include "protocol/structure.h"
#include "rows/vocabulary.h"

namespace margrave {

class LatticeStructure final : public Structure, public GoodInference {
 public:
  using Words = std::vector<int32_t>;

  struct Example {
    Paths paths;
    Words words;              // by edge; -1: none
    std::vector<Words> good;  // the good strings, best first
  };

  // costs: the cost of an output is the number of its edges that are in no good output; otherwise 0.
  LatticeStructure(std::vector<Example> examples, Vocabulary names, bool has_gold, bool costs)
      : examples_(std::move(examples)), names_(std::move(names)), has_gold_(has_gold), costs_(costs) {
    for (size_t i = 0; i < examples_.size(); ++i) {
      const Example& example = examples_[i];
      const auto where = [&] { return "example " + std::to_string(i) + ": "; };
      if (example.words.size() != static_cast<size_t>(example.paths.edges()))
        throw InputError(where() + "every edge needs a word.");
      for (const int32_t word : example.words) check_word(word, true);
      for (const Words& string : example.good)
        for (const int32_t word : string) check_word(word, false);
      if (example.paths.count() == 0) throw InputError(where() + "no path leads from its first node to its last.");
      if (!has_gold_) continue;
      products_.push_back(product(example));
      if (products_.back().good.count() == 0)
        throw InputError(where() + "no path of its lattice spells a good string.");
      listed_.push_back(listed(example));
    }
  }

  // Which examples have no path that forms a good string.
  static std::vector<uint8_t> unreachable(const std::vector<Example>& examples) {
    std::vector<uint8_t> flags;
    for (const Example& example : examples) flags.push_back(product(example).good.count() == 0);
    return flags;
  }

  int64_t size() const override { return static_cast<int64_t>(examples_.size()); }
  int64_t parts(int64_t i) const override { return of(i).paths.edges(); }
  unsigned offers() const override { return kArgmax | kArgmaxByCost | kLogsum | kKbest | kSample | kUntied | kEntropy; }
  bool has_gold() const override { return has_gold_; }
  int64_t gold_count(int64_t i) const override { return has_gold_ ? static_cast<int64_t>(listed_[i].size()) : 1; }
  void gold(int64_t i, int64_t k, Output& y) const override {
    check_gold();
    y = listed_[i][k];
  }
  double cost(int64_t i, double* delta) const override {
    check_gold();
    std::fill(delta, delta + parts(i), costs_ ? 1.0 : 0.0);
    const Paths& good = products_[i].good;
    for (int64_t e = 0; e < good.edges(); ++e)
      if (good.part(e) >= 0) delta[good.part(e)] = 0;
    return 0;
  }

  double argmax(int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    return of(i).paths.argmax(theta, y, scratch);
  }
  double logsum(int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return of(i).paths.logsum(theta, parts(i), mu, scratch);
  }
  void argmax_by_cost(int64_t i, const double* theta, const double* delta, const Needless&,
                      std::vector<CostedOutput>& ys, Scratch&) const override {
    of(i).paths.argmax_by_cost(theta, delta, parts(i), ys);
  }
  void kbest(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys,
             Scratch& scratch) const override {
    of(i).paths.kbest(theta, k, ys, scratch);
  }
  void kbest_strings(int64_t i, const double* theta, int64_t k, std::vector<ScoredOutput>& ys, Scratch& scratch) const {
    of(i).paths.kbest_strings(theta, of(i).words.data(), k, ys, scratch);
  }
  void sample(int64_t i, const double* theta, Random& random, Output& y, Scratch& scratch) const override {
    std::vector<Output> ys(1);
    of(i).paths.sample(theta, random, ys, scratch);
    y = std::move(ys[0]);
  }
  void sample_many(int64_t i, const double* theta, Random& random, std::vector<Output>& ys,
                   Scratch& scratch) const override {
    of(i).paths.sample(theta, random, ys, scratch);
  }

  // A path is Markov in its nodes; t are the logs of the conditionals of its edges.
  double entropy(int64_t i, const double* mu, double* t, Scratch& scratch) const override {
    const Paths& paths = of(i).paths;
    double* through = scratch.take(paths.nodes());
    std::fill(through, through + paths.nodes(), 0.0);
    through[0] = 1;
    for (int64_t e = 0; e < paths.edges(); ++e) through[paths.head(e)] += mu[e];
    double sum = 0;
    for (int64_t e = 0; e < paths.edges(); ++e) {
      t[e] = mu[e] > 0 ? std::log(mu[e] / through[paths.tail(e)]) : -kInfinity;
      if (mu[e] > 0) sum -= mu[e] * t[e];
    }
    return sum;
  }

  double argmax_among(bool good, int64_t i, const double* theta, Output& y, Scratch& scratch) const override {
    return among(good, i).argmax(theta, y, scratch);
  }
  double logsum_among(bool good, int64_t i, const double* theta, double* mu, Scratch& scratch) const override {
    return among(good, i).logsum(theta, parts(i), mu, scratch);
  }

  // The words of a path, joined by blanks. Its edges must ascend.
  std::string spelled(int64_t i, const int32_t* parts, int64_t count) const {
    std::string text;
    for (int64_t k = 0; k < count; ++k) {
      if (parts[k] < 0 || parts[k] >= this->parts(i)) throw InputError("a part of an output is not an edge.");
      const int32_t word = of(i).words[parts[k]];
      if (word < 0) continue;
      if (!text.empty()) text += ' ';
      text += names_.name(word);
    }
    return text;
  }

 private:
  struct Product {
    Paths good;
    Paths others;
  };

  // Good strings by their prefixes; state 0 is the empty prefix.
  class Trie {
   public:
    explicit Trie(const std::vector<Words>& strings) {
      for (const Words& string : strings) {
        int32_t state = 0;
        for (const int32_t word : string) {
          const auto [place, added] = next_.emplace(std::pair(state, word), static_cast<int32_t>(ends_.size()));
          if (added) ends_.push_back(0);
          state = place->second;
        }
        ends_[state] = 1;
      }
    }
    static constexpr int32_t kOutside = -1;  // not a prefix of a good string
    int32_t step(int32_t state, int32_t word) const {
      if (word < 0 || state == kOutside) return state;
      const auto found = next_.find({state, word});
      return found == next_.end() ? kOutside : found->second;
    }
    bool is_good(int32_t state) const { return state != kOutside && ends_[state] != 0; }

   private:
    std::map<std::pair<int32_t, int32_t>, int32_t> next_;
    std::vector<uint8_t> ends_ = {0};
  };

  const Example& of(int64_t i) const { return examples_[i]; }
  void check_gold() const {
    if (!has_gold_) throw InputError("this problem was bound without gold outputs.");
  }
  void check_word(int32_t word, bool none) const {
    if (word < (none ? -1 : 0) || word >= names_.size()) throw InputError("the number of a word is out of range.");
  }
  const Paths& among(bool good, int64_t i) const {
    check_gold();
    return good ? products_[i].good : products_[i].others;
  }

  static Product product(const Example& example) {
    const Paths& paths = example.paths;
    const Trie trie(example.good);
    std::vector<std::vector<std::pair<int32_t, int32_t>>> states(paths.nodes());  // by node: (trie, number)
    states[0] = {{0, 0}};
    int32_t count = 1;
    std::vector<int32_t> tails, heads, parts;
    for (int64_t v = 1; v < paths.nodes(); ++v) {
      std::map<int32_t, int32_t> number;
      std::vector<std::pair<int32_t, std::pair<int32_t, int32_t>>> arriving;  // head, (tail, edge)
      for (int64_t e = paths.begin(v); e < paths.begin(v + 1); ++e)
        for (const auto& [state, tail] : states[paths.tail(e)]) {
          const auto [place, added] = number.emplace(trie.step(state, example.words[e]), count);
          if (added) ++count;
          arriving.push_back({place->second, {tail, static_cast<int32_t>(e)}});
        }
      for (const auto& [state, at_number] : number) states[v].emplace_back(state, at_number);
      std::stable_sort(arriving.begin(), arriving.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [head, from] : arriving) {
        heads.push_back(head);
        tails.push_back(from.first);
        parts.push_back(from.second);
      }
    }
    const auto ending = [&](bool good) {
      std::vector<int32_t> t = tails, h = heads, p = parts;
      for (const auto& [state, number] : states.back()) {
        if (trie.is_good(state) != good) continue;
        t.push_back(number);
        h.push_back(count);
        p.push_back(-1);
      }
      return Paths(count + 1, std::move(t), std::move(h), std::move(p)).trimmed();
    };
    return {ending(true), ending(false)};
  }

  // The good outputs, string by string, up to the limit of listed ones.
  static std::vector<Output> listed(const Example& example) {
    std::vector<Output> found;
    std::set<Words> done;
    for (const Words& string : example.good) {
      if (!done.insert(string).second) continue;
      const Paths good = product({example.paths, example.words, {string}}).good;
      if (good.count() == 0) continue;
      const std::vector<double> zeros(std::max<int64_t>(example.paths.edges(), 1), 0.0);
      std::vector<ScoredOutput> ys;
      Scratch scratch;
      good.kbest(zeros.data(), kListedGood - static_cast<int64_t>(found.size()), ys, scratch);
      for (ScoredOutput& y : ys) found.push_back(std::move(y.y));
      if (static_cast<int64_t>(found.size()) >= kListedGood) break;
    }
    return found;
  }

  std::vector<Example> examples_;
  Vocabulary names_;
  bool has_gold_;
  bool costs_;
  std::vector<Product> products_;
  std::vector<std::vector<Output>> listed_;
};

}  // namespace margrave
