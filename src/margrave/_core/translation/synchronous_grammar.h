// Synchronous context-free grammars and their files: one rule per line,
//
//   [X] ||| source ||| target ||| features
//
// Gaps are [X,1] and [X,2] on both sides (Joshua), or [X,1] in the source and [1] in the target (cdec). Features are
// numbers, or name=number. Further fields, such as a word alignment, are ignored.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inputs/lines.h"
#include "protocol/checks.h"
#include "rows/vocabulary.h"

namespace margrave {

// Symbols are word numbers, or gap(k): in a source, k is the label of the gap; in a target, its position in the source.
using Symbol = int32_t;
inline Symbol gap(int32_t k) { return -1 - k; }
inline bool is_gap(Symbol symbol) { return symbol < 0; }
inline int32_t gap_number(Symbol symbol) { return -1 - symbol; }

struct SynchronousRule {
  int32_t label;  // of the left-hand side
  std::vector<Symbol> source;
  std::vector<Symbol> target;
  std::vector<std::pair<int32_t, double>> features;  // number and value
  int32_t limit;                                     // maximum number of words that it covers
};

class SynchronousGrammar {
 public:
  static constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
  static constexpr std::string_view kBegin = "<s>", kEnd = "</s>";  // of a sentence, if rules have them

  int64_t size() const { return static_cast<int64_t>(rules_.size()); }
  const SynchronousRule& rule(int64_t r) const { return rules_[r]; }
  const Vocabulary& labels() const { return labels_; }
  const Vocabulary& source_words() const { return source_words_; }
  const Vocabulary& target_words() const { return target_words_; }
  const Vocabulary& features() const { return features_; }
  int64_t line() const { return line_; }  // last line read

  // Begins the next file. prefix: name of unnamed features, followed by their position. sign: factor of all values.
  // limit: maximum number of words that a rule covers.
  void begin(std::string prefix, double sign, int32_t limit) {
    if (!std::isfinite(sign) || limit < 1) throw InputError("a sign must be finite, and a limit at least 1.");
    prefix_ = std::move(prefix);
    sign_ = sign;
    limit_ = limit;
    line_ = 0;
  }

  // Reads the next lines.
  void feed(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
      ++line_;
      if (!lines.good()) throw InputError("not valid UTF-8 text.");
      if (!is_blank(line, kBlanks)) read(line);
    }
  }

 private:
  static constexpr std::string_view kBar = "|||";

  struct Gap {
    std::string_view label;  // may be empty in a target
    int32_t number;          // from 1
  };

  static int32_t add(Vocabulary& names, std::string_view name) {
    return names.add(name, hash_bytes(name.data(), name.size()));
  }

  static std::vector<std::string_view> tokens(std::string_view text) {
    std::vector<std::string_view> found;
    size_t at = text.find_first_not_of(kBlanks);
    while (at != std::string_view::npos) {
      const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
      found.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(kBlanks, end);
    }
    return found;
  }

  void read(std::string_view line) {
    std::vector<std::string_view> fields;
    for (size_t at = 0;;) {
      const size_t bar = line.find(kBar, at);
      fields.push_back(line.substr(at, bar == std::string_view::npos ? bar : bar - at));
      if (bar == std::string_view::npos) break;
      at = bar + kBar.size();
    }
    if (fields.size() < 3) throw InputError("expected [LABEL] ||| source ||| target ||| features.");
    const std::vector<std::string_view> left = tokens(fields[0]);
    if (left.size() != 1 || !bracketed(left[0])) throw InputError("expected one [LABEL] before the first |||.");
    SynchronousRule rule{add(labels_, inside(left[0])), {}, {}, {}, limit_};
    read_sides(tokens(fields[1]), tokens(fields[2]), rule);
    if (fields.size() > 3) read_features(tokens(fields[3]), rule);
    rules_.push_back(std::move(rule));
    if (size() >= std::numeric_limits<int32_t>::max()) throw InputError("more than two billion rules.");
  }

  static bool bracketed(std::string_view token) {
    return token.size() > 2 && token.front() == '[' && token.back() == ']';
  }
  static std::string_view inside(std::string_view token) { return token.substr(1, token.size() - 2); }

  static bool parse_number(std::string_view text, int32_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  }

  // [X,1], [X] or [1]; unnumbered gaps of a source are numbered in order.
  static Gap parse_gap(std::string_view token, bool source, size_t before) {
    const std::string_view text = inside(token);
    const size_t comma = text.rfind(',');
    Gap found{text, static_cast<int32_t>(before) + 1};
    if (comma != std::string_view::npos && parse_number(text.substr(comma + 1), found.number)) {
      found.label = text.substr(0, comma);
    } else if (!source && parse_number(text, found.number)) {
      found.label = {};
    } else if (!source) {
      throw InputError("expected a gap such as [X,1] or [1] in the target, not " + shown(token) + ".");
    }
    return found;
  }

  void read_sides(const std::vector<std::string_view>& source, const std::vector<std::string_view>& target,
                  SynchronousRule& rule) {
    if (source.empty()) throw InputError("the source of the rule is empty.");
    std::vector<Gap> gaps;
    for (const std::string_view token : source) {
      if (bracketed(token)) {
        gaps.push_back(parse_gap(token, true, gaps.size()));
        rule.source.push_back(gap(add(labels_, gaps.back().label)));
      } else {
        rule.source.push_back(add(source_words_, token));
      }
    }
    std::unordered_map<int64_t, size_t> place_of;
    for (size_t k = 0; k < gaps.size(); ++k)
      if (!place_of.emplace(gaps[k].number, k).second) unbalanced(source, target);
    std::vector<uint8_t> used(gaps.size(), 0);
    for (const std::string_view token : target) {
      if (!bracketed(token)) {
        rule.target.push_back(add(target_words_, token));
        continue;
      }
      const Gap found = parse_gap(token, false, 0);
      const auto same = place_of.find(found.number);
      if (same == place_of.end()) unbalanced(source, target);
      const size_t place = same->second;
      if (used[place] || (!found.label.empty() && found.label != gaps[place].label)) unbalanced(source, target);
      used[place] = 1;
      rule.target.push_back(gap(static_cast<int32_t>(place)));
    }
    if (std::find(used.begin(), used.end(), 0) != used.end()) unbalanced(source, target);
    if (rule.source.size() == 1 && is_gap(rule.source[0]) && gap_number(rule.source[0]) == rule.label)
      throw InputError("the rule replaces a label by itself, which would allow infinitely many derivations.");
  }

  [[noreturn]] static void unbalanced(const std::vector<std::string_view>& source,
                                      const std::vector<std::string_view>& target) {
    const auto listed = [](const std::vector<std::string_view>& side) {
      std::string text;
      for (const std::string_view token : side)
        if (bracketed(token)) text += (text.empty() ? "" : " ") + std::string(token);
      return text.empty() ? std::string("none") : shown(text);
    };
    throw InputError("the gaps of the source (" + listed(source) + ") and of the target (" + listed(target) +
                     ") are not the same: each must occur once on both sides.");
  }

  void read_features(const std::vector<std::string_view>& values, SynchronousRule& rule) {
    int64_t unnamed = 0;
    for (const std::string_view token : values) {
      const size_t equals = token.rfind('=');
      const bool named = equals != std::string_view::npos && equals > 0;
      const std::string_view digits = named ? token.substr(equals + 1) : token;
      double value = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
        throw InputError("expected a number or name=number among the features, not " + shown(token) + ".");
      const int32_t number =
          add(features_, named ? std::string(token.substr(0, equals)) : prefix_ + std::to_string(unnamed));
      if (!named) ++unnamed;
      if (value != 0) rule.features.emplace_back(number, sign_ * value);
    }
  }

  std::string prefix_;
  double sign_ = 1;
  int32_t limit_ = kNoLimit;
  int64_t line_ = 0;
  std::vector<SynchronousRule> rules_;
  Vocabulary labels_;
  Vocabulary source_words_;
  Vocabulary target_words_;
  Vocabulary features_;
};

}  // namespace margrave
