// Phrase pairs of word-aligned sentence pairs, with their probabilities (Koehn, Och and Marcu 2003; the features of
// 004, section 5.2).
//
// A pair of phrases is consistent with an alignment if it contains a link and none of its words is linked to a word
// outside. Its orientation towards the phrase before is monotone if the words just before both phrases are linked. It
// is swap if the target word before is linked to the source word after. Otherwise it is discontinuous. The orientation
// towards the phrase after is defined likewise. Both ends of a sentence count as linked words.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "rows/vocabulary.h"

namespace margrave {

// Concatenated lists of words.
struct WordLists {
  std::vector<int64_t> begin{0};
  std::vector<int32_t> words;

  int64_t size() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t length(int64_t k) const { return begin[k + 1] - begin[k]; }
  const int32_t* list(int64_t k) const { return words.data() + begin[k]; }
  void add(const int32_t* first, int64_t n) {
    words.insert(words.end(), first, first + n);
    begin.push_back(static_cast<int64_t>(words.size()));
  }
  void check(const char* what) const {
    const bool good = !begin.empty() && begin.front() == 0 && begin.back() == static_cast<int64_t>(words.size()) &&
                      std::is_sorted(begin.begin(), begin.end());
    if (!good) throw InputError(std::string("the bounds of ") + what + " must ascend from 0 to their number.");
    for (const int32_t word : words)
      if (word < 0) throw InputError(std::string("the words of ") + what + " must not be negative.");
  }
};

// Numbers lists of words in order of first occurrence.
class WordListIndex {
 public:
  const WordLists& lists() const { return lists_; }
  int32_t find(const int32_t* words, int64_t n) const {
    const auto [first, last] = places_.equal_range(hash(words, n));
    for (auto place = first; place != last; ++place)
      if (lists_.length(place->second) == n && std::equal(words, words + n, lists_.list(place->second)))
        return place->second;
    return -1;
  }
  int32_t add(const int32_t* words, int64_t n) {
    const int32_t found = find(words, n);
    if (found >= 0) return found;
    const auto number = static_cast<int32_t>(lists_.size());
    lists_.add(words, n);
    places_.emplace(hash(words, n), number);
    return number;
  }

 private:
  static uint64_t hash(const int32_t* words, int64_t n) {
    return hash_bytes(reinterpret_cast<const char*>(words), static_cast<size_t>(n) * sizeof(int32_t));
  }
  WordLists lists_;
  std::unordered_multimap<uint64_t, int32_t> places_;
};

enum Orientation { kMonotone, kSwap, kDiscontinuous };

struct PhraseTable {
  // log p(target | source), log p(source | target), lexical weights of the same, orientations towards the phrase after
  // (monotone, swap, discontinuous) and towards the one before.
  static constexpr int64_t kScores = 10;
  static constexpr int64_t kForward = 4;
  static constexpr int64_t kBackward = 7;

  WordLists sources;                 // distinct source phrases
  std::vector<int64_t> pairs_begin;  // (sources + 1): the pairs of each source phrase
  WordLists targets;                 // of every pair
  std::vector<float> scores;         // (pairs, kScores)
  WordListIndex index;               // of the source phrases
  int64_t longest = 0;               // source phrase

  PhraseTable(WordLists source_lists, std::vector<int64_t> begin, WordLists target_lists, std::vector<float> values)
      : sources(std::move(source_lists)),
        pairs_begin(std::move(begin)),
        targets(std::move(target_lists)),
        scores(std::move(values)) {
    sources.check("source phrases");
    targets.check("target phrases");
    const bool good = static_cast<int64_t>(pairs_begin.size()) == sources.size() + 1 && pairs_begin.front() == 0 &&
                      pairs_begin.back() == targets.size() && std::is_sorted(pairs_begin.begin(), pairs_begin.end());
    if (!good) throw InputError("the bounds of phrase pairs must ascend from 0 to their number.");
    if (static_cast<int64_t>(scores.size()) != targets.size() * kScores)
      throw InputError("every phrase pair needs " + std::to_string(kScores) + " scores.");
    for (const float score : scores)
      if (!std::isfinite(score)) throw InputError("the scores of phrase pairs must be finite.");
    for (int64_t t = 0; t < targets.size(); ++t)
      if (targets.length(t) == 0) throw InputError("a target phrase is empty.");
    for (int64_t s = 0; s < sources.size(); ++s) {
      if (sources.length(s) == 0) throw InputError("a source phrase is empty.");
      if (index.add(sources.list(s), sources.length(s)) != s) throw InputError("a source phrase occurs twice.");
      longest = std::max(longest, sources.length(s));
    }
  }

  int64_t pairs() const { return targets.size(); }
  const float* scores_of(int64_t pair) const { return scores.data() + pair * kScores; }
};

struct AlignedCorpus {
  WordLists source;
  WordLists target;
  std::vector<int64_t> links_begin;                // (sentences + 1)
  std::vector<std::pair<int32_t, int32_t>> links;  // (source, target) positions

  int64_t size() const { return source.size(); }
  void check() const {
    source.check("source sentences");
    target.check("target sentences");
    const bool good = target.size() == size() && static_cast<int64_t>(links_begin.size()) == size() + 1 &&
                      links_begin.front() == 0 && links_begin.back() == static_cast<int64_t>(links.size()) &&
                      std::is_sorted(links_begin.begin(), links_begin.end());
    if (!good) throw InputError("every source sentence needs a target sentence and its links.");
    for (int64_t k = 0; k < size(); ++k)
      for (int64_t l = links_begin[k]; l < links_begin[k + 1]; ++l) {
        const auto [s, t] = links[l];
        if (s < 0 || s >= source.length(k) || t < 0 || t >= target.length(k))
          throw InputError("sentence " + std::to_string(k) + ": the link " + std::to_string(s) + "-" +
                           std::to_string(t) + " is out of range: there are " + std::to_string(source.length(k)) +
                           " source and " + std::to_string(target.length(k)) + " target words.");
      }
  }
};

// Counts and then scores the phrase pairs of a corpus.
class PhraseExtraction {
 public:
  // used: which sentences count. longest: words per phrase. most: pairs to keep per source phrase, by p(target |
  // source), then by their order in the corpus.
  PhraseExtraction(const AlignedCorpus& corpus, const std::vector<uint8_t>& used, int64_t longest, int64_t most)
      : corpus_(corpus), longest_(longest), most_(most) {
    for (int64_t k = 0; k < corpus.size(); ++k)
      if (used[k]) count_words(k);
    for (int64_t k = 0; k < corpus.size(); ++k)
      if (used[k]) extract(k);
  }

  PhraseTable table() const {
    std::vector<std::vector<int32_t>> of_source(sources_.lists().size());
    for (size_t p = 0; p < pairs_.size(); ++p) of_source[pairs_[p].source].push_back(static_cast<int32_t>(p));
    WordLists targets;
    std::vector<int64_t> begin{0};
    std::vector<float> scores;
    for (std::vector<int32_t>& numbers : of_source) {
      std::stable_sort(numbers.begin(), numbers.end(),
                       [&](int32_t a, int32_t b) { return pairs_[a].count > pairs_[b].count; });
      if (static_cast<int64_t>(numbers.size()) > most_) numbers.resize(most_);
      for (const int32_t number : numbers) {
        const Pair& pair = pairs_[number];
        targets.add(targets_.lists().list(pair.target), targets_.lists().length(pair.target));
        scores.push_back(static_cast<float>(std::log(pair.count / source_counts_[pair.source])));
        scores.push_back(static_cast<float>(std::log(pair.count / target_counts_[pair.target])));
        scores.push_back(static_cast<float>(pair.lexical[0]));
        scores.push_back(static_cast<float>(pair.lexical[1]));
        for (const auto& counts : pair.orientation) {
          const double total = counts[0] + counts[1] + counts[2];
          for (const double count : counts)
            scores.push_back(static_cast<float>(std::log((count + kSmoothing) / (total + 3 * kSmoothing))));
        }
      }
      begin.push_back(targets.size());
    }
    return PhraseTable(sources_.lists(), std::move(begin), std::move(targets), std::move(scores));
  }

 private:
  static constexpr double kSmoothing = 0.5;  // of orientations, as in Moses
  static constexpr int32_t kNull = -1;       // words without links are linked to it

  struct Pair {
    int32_t source;
    int32_t target;
    double count = 0;
    double lexical[2] = {-kInfinity, -kInfinity};  // the maximum over all occurrences
    double orientation[2][3] = {};                 // forward, backward
  };

  static uint64_t key(int32_t a, int32_t b) {
    return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
  }

  struct Links {
    std::vector<std::vector<int32_t>> of_source;  // the target words of each source word
    std::vector<std::vector<int32_t>> of_target;
  };
  Links links_of(int64_t k) const {
    Links links{std::vector<std::vector<int32_t>>(corpus_.source.length(k)),
                std::vector<std::vector<int32_t>>(corpus_.target.length(k))};
    for (int64_t l = corpus_.links_begin[k]; l < corpus_.links_begin[k + 1]; ++l) {
      const auto [s, t] = corpus_.links[l];
      std::vector<int32_t>& of = links.of_source[s];
      if (std::find(of.begin(), of.end(), t) != of.end()) continue;
      of.push_back(t);
      links.of_target[t].push_back(s);
    }
    return links;
  }

  void count_words(int64_t k) {
    const Links links = links_of(k);
    const int32_t* source = corpus_.source.list(k);
    const int32_t* target = corpus_.target.list(k);
    const auto count = [&](int32_t s, int32_t t) {
      ++word_pairs_[key(s, t)];
      ++source_words_[s];
      ++target_words_[t];
    };
    for (size_t s = 0; s < links.of_source.size(); ++s) {
      if (links.of_source[s].empty()) count(source[s], kNull);
      for (const int32_t t : links.of_source[s]) count(source[s], target[t]);
    }
    for (size_t t = 0; t < links.of_target.size(); ++t)
      if (links.of_target[t].empty()) count(kNull, target[t]);
  }

  // log of the product over the words of one side of the mean probability given the words linked to them.
  double lexical(bool of_target, const Links& links, int64_t k, int64_t first, int64_t last) const {
    const auto& linked = of_target ? links.of_target : links.of_source;
    const int32_t* own = of_target ? corpus_.target.list(k) : corpus_.source.list(k);
    const int32_t* other = of_target ? corpus_.source.list(k) : corpus_.target.list(k);
    const auto& totals = of_target ? source_words_ : target_words_;
    const auto probability = [&](int32_t word, int32_t given) {
      return word_pairs_.at(of_target ? key(given, word) : key(word, given)) / totals.at(given);
    };
    double sum = 0;
    for (int64_t w = first; w < last; ++w) {
      const std::vector<int32_t>& to = linked[w];
      double mean = to.empty() ? probability(own[w], kNull) : 0;
      for (const int32_t each : to) mean += probability(own[w], other[each]) / static_cast<double>(to.size());
      sum += std::log(mean);
    }
    return sum;
  }

  void extract(int64_t k) {
    const Links links = links_of(k);
    const int64_t n = corpus_.source.length(k);
    const int64_t m = corpus_.target.length(k);
    const auto linked = [&](int64_t s, int64_t t) {
      if (s < 0 || t < 0) return s < 0 && t < 0;
      if (s >= n || t >= m) return s >= n && t >= m;
      const std::vector<int32_t>& of = links.of_source[s];
      return std::find(of.begin(), of.end(), static_cast<int32_t>(t)) != of.end();
    };
    for (int64_t s1 = 0; s1 < n; ++s1) {
      int64_t t1 = m, t2 = -1;  // the target words linked to the source phrase
      for (int64_t s2 = s1 + 1; s2 <= std::min(n, s1 + longest_); ++s2) {
        for (const int32_t t : links.of_source[s2 - 1]) {
          t1 = std::min<int64_t>(t1, t);
          t2 = std::max<int64_t>(t2, t + 1);
        }
        if (t2 - t1 > longest_) break;
        if (t2 < 0 || !within(links, t1, t2, s1, s2)) continue;
        // Words without links may be added at both ends.
        for (int64_t first = t1; first >= 0; --first) {
          if (first < t1 && !links.of_target[first].empty()) break;
          for (int64_t last = t2; last <= m && last - first <= longest_; ++last) {
            if (last > t2 && !links.of_target[last - 1].empty()) break;
            Pair& pair = pair_of(corpus_.source.list(k) + s1, s2 - s1, corpus_.target.list(k) + first, last - first);
            ++pair.count;
            ++source_counts_[pair.source];
            ++target_counts_[pair.target];
            pair.lexical[0] = std::max(pair.lexical[0], lexical(true, links, k, first, last));
            pair.lexical[1] = std::max(pair.lexical[1], lexical(false, links, k, s1, s2));
            const int forward = linked(s2, last) ? kMonotone : linked(s1 - 1, last) ? kSwap : kDiscontinuous;
            const int backward = linked(s1 - 1, first - 1) ? kMonotone : linked(s2, first - 1) ? kSwap : kDiscontinuous;
            ++pair.orientation[0][forward];
            ++pair.orientation[1][backward];
          }
        }
      }
    }
  }

  // Whether the target words t1..t2 are linked only to source words of s1..s2.
  static bool within(const Links& links, int64_t t1, int64_t t2, int64_t s1, int64_t s2) {
    for (int64_t t = t1; t < t2; ++t)
      for (const int32_t s : links.of_target[t])
        if (s < s1 || s >= s2) return false;
    return true;
  }

  Pair& pair_of(const int32_t* source, int64_t n, const int32_t* target, int64_t m) {
    const int32_t s = sources_.add(source, n);
    const int32_t t = targets_.add(target, m);
    source_counts_.resize(sources_.lists().size(), 0.0);
    target_counts_.resize(targets_.lists().size(), 0.0);
    const auto [place, added] = numbers_.emplace(key(s, t), static_cast<int32_t>(pairs_.size()));
    if (added) pairs_.push_back({s, t});
    return pairs_[place->second];
  }

  const AlignedCorpus& corpus_;
  int64_t longest_;
  int64_t most_;
  std::unordered_map<uint64_t, double> word_pairs_;
  std::unordered_map<int32_t, double> source_words_, target_words_;
  WordListIndex sources_, targets_;
  std::vector<double> source_counts_, target_counts_;
  std::unordered_map<uint64_t, int32_t> numbers_;
  std::vector<Pair> pairs_;
};

}  // namespace margrave
