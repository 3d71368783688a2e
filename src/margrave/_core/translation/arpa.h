// Language models in ARPA format.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs/lines.h"
#include "protocol/checks.h"
#include "translation/language_model.h"

namespace margrave {

// Reads a file piece by piece. An error is an InputError, and line() is its line.
class ArpaReader {
 public:
  int64_t line() const { return line_; }

  // The next piece of the text: whole lines, except at the end of the file.
  void feed(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
      ++line_;
      if (!lines.good()) throw InputError("not valid UTF-8 text.");
      read(line);
    }
  }

  LanguageModel finish() {
    if (stage_ == Stage::kBefore) throw InputError("not a language model in ARPA format: there is no line \\data\\.");
    if (stage_ != Stage::kAfter)
      throw InputError("the file is cut short: it ends " + place() + ", and the line \\end\\ is missing.");
    return LanguageModel(std::move(words_), std::move(tree_), std::move(score_), std::move(backoff_));
  }

 private:
  enum class Stage { kBefore, kCounts, kNgrams, kAfter };
  // At most this many n-grams are reserved in advance, since the counts in the header may be wrong.
  static constexpr int64_t kMostReserved = int64_t{1} << 23;

  std::string place() const {
    if (stage_ != Stage::kNgrams) return "before the 1-grams";
    return "after " + std::to_string(read_) + " of " + std::to_string(counts_[n_ - 1]) + " " + std::to_string(n_) +
           "-grams";
  }

  void read(std::string_view line) {
    if (is_blank(line, kBlanks) || stage_ == Stage::kAfter) return;
    if (line.front() == '\\' && stage_ != Stage::kBefore && heading(trimmed(line))) return;
    switch (stage_) {
      case Stage::kBefore:
        if (trimmed(line) == "\\data\\") stage_ = Stage::kCounts;
        break;
      case Stage::kCounts: read_count(trimmed(line)); break;
      case Stage::kNgrams: read_ngram(line); break;
      case Stage::kAfter: break;
    }
  }

  static std::string_view trimmed(std::string_view line) {
    const size_t first = line.find_first_not_of(kBlanks);
    return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
  }

  // The headings of sections. A line of 1-grams can begin with a backslash only if its score is missing.
  bool heading(std::string_view line) {
    if (stage_ == Stage::kNgrams) end_section();
    if (line == "\\end\\") {
      if (n_ != static_cast<int>(counts_.size()) || n_ == 0)
        throw InputError("\\end\\ before the " + std::to_string(n_ + 1) + "-grams.");
      stage_ = Stage::kAfter;
      return true;
    }
    const std::string expected = "\\" + std::to_string(n_ + 1) + "-grams:";
    if (line != expected || n_ == static_cast<int>(counts_.size()))
      throw InputError("expected " + (n_ == static_cast<int>(counts_.size()) && n_ > 0 ? "\\end\\" : expected) +
                       ", not " + shown(line) + ".");
    ++n_;
    read_ = 0;
    stage_ = Stage::kNgrams;
    return true;
  }

  void end_section() {
    if (read_ != counts_[n_ - 1])
      throw InputError("the file has " + std::to_string(read_) + " " + std::to_string(n_) +
                       "-grams, and its beginning says " + std::to_string(counts_[n_ - 1]) + ".");
    if (n_ == 1 && words_.find(LanguageModel::kUnknown,
                               hash_bytes(LanguageModel::kUnknown.data(), LanguageModel::kUnknown.size())) < 0)
      add_word(LanguageModel::kUnknown, LanguageModel::kUnlisted, 0);
    for (const std::string_view word : {LanguageModel::kBegin, LanguageModel::kEnd})
      if (words_.find(word, hash_bytes(word.data(), word.size())) < 0)
        throw InputError("the 1-grams lack " + std::string(word) + ", which every sentence needs.");
  }

  // ngram 3=43751
  void read_count(std::string_view line) {
    int n = 0;
    int64_t count = -1;
    if (line.starts_with("ngram ")) {
      const char* end = line.data() + line.size();
      auto parsed = std::from_chars(line.data() + 6, end, n);
      if (parsed.ec == std::errc() && parsed.ptr < end && *parsed.ptr == '=') {
        parsed = std::from_chars(parsed.ptr + 1, end, count);
        if (parsed.ec != std::errc() || parsed.ptr != end) count = -1;
      }
    }
    if (count < 0 || n != static_cast<int>(counts_.size()) + 1)
      throw InputError("expected a line of the form ngram " + std::to_string(counts_.size() + 1) + "=NUMBER, not " +
                       shown(line) + ".");
    if (n > LanguageModel::kMostOrder || count > std::numeric_limits<int32_t>::max())
      throw InputError("a language model has n-grams of at most 100 words, and at most two billion of them.");
    counts_.push_back(count);
    total_ = std::min(total_ + count, kMostReserved);
    tree_.reserve(total_);
    score_.reserve(total_ + 1);
    backoff_.reserve(total_ + 1);
  }

  static std::string_view next_field(std::string_view& rest) {
    const size_t first = std::min(rest.find_first_not_of(kBlanks), rest.size());
    const size_t last = std::min(rest.find_first_of(kBlanks, first), rest.size());
    const std::string_view field = rest.substr(first, last - first);
    rest.remove_prefix(last);
    return field;
  }

  static bool parse(std::string_view text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  }

  void read_ngram(std::string_view line) {
    std::string_view rest = line;
    double score = 0;
    double backoff = 0;
    const std::string_view first = next_field(rest);
    if (!parse(first, score) || score > 0)
      throw InputError("expected the logarithm of a probability, not " + shown(first) + ".");
    const char* begin = rest.data();
    fields_.clear();
    for (int k = 0; k < n_; ++k) fields_.push_back(next_field(rest));
    const std::string_view weight = next_field(rest);
    if (fields_.back().empty() || !next_field(rest).empty())
      throw InputError("expected a score, " + std::to_string(n_) + (n_ == 1 ? " word" : " words") +
                       " and perhaps a back-off weight.");
    if (!weight.empty() && !parse(weight, backoff))
      throw InputError("expected a back-off weight, not " + shown(weight) + ".");
    if (++read_ > counts_[n_ - 1])
      throw InputError("this is " + std::to_string(n_) + "-gram " + std::to_string(read_) +
                       ", and the beginning of the file says " + std::to_string(counts_[n_ - 1]) + ".");
    // No n-gram is longer, so these weights would never be used.
    if (n_ == static_cast<int>(counts_.size())) backoff = 0;
    if (n_ == 1)
      add_word(fields_[0], score, backoff);
    else
      add_ngram({begin, static_cast<size_t>(fields_.back().data() - begin)}, score, backoff);
  }

  void add_word(std::string_view word, double score, double backoff) {
    const int32_t number = words_.add(word, hash_bytes(word.data(), word.size()));
    store(tree_.add(NgramTree::kRoot, number), score, backoff);
  }

  // Files are usually sorted, so many lines share their context with the line before.
  void add_ngram(std::string_view context, double score, double backoff) {
    if (context != context_) {
      context_ = context;
      node_ = NgramTree::kRoot;
      for (int k = 0; k + 1 < n_; ++k) {
        node_ = tree_.add(node_, number(fields_[k]));
        if (node_ == static_cast<int32_t>(score_.size())) {
          score_.push_back(std::numeric_limits<double>::quiet_NaN());
          backoff_.push_back(0);
        }
      }
    }
    store(tree_.add(node_, number(fields_.back())), score, backoff);
  }

  int32_t number(std::string_view word) const {
    const int32_t found = words_.find(word, hash_bytes(word.data(), word.size()));
    if (found < 0) throw InputError("the word " + shown(word) + " is not among the 1-grams.");
    return found;
  }

  void store(int32_t v, double score, double backoff) {
    if (v < static_cast<int32_t>(score_.size())) throw InputError("this n-gram occurs twice.");
    score_.push_back(score);
    backoff_.push_back(backoff);
  }

  Stage stage_ = Stage::kBefore;
  int64_t line_ = 0;
  int n_ = 0;         // the length of the n-grams of the section
  int64_t read_ = 0;  // n-grams of the section
  int64_t total_ = 0;
  std::vector<int64_t> counts_;  // by length, from 1
  std::vector<std::string_view> fields_;
  std::string context_;  // of the line before
  int32_t node_ = NgramTree::kRoot;
  Vocabulary words_;
  NgramTree tree_;
  std::vector<double> score_{0.0};
  std::vector<double> backoff_{0.0};
};

}  // namespace margrave
