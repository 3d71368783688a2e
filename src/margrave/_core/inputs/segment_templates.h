// Attributes of spans of tokens: applies templates to the texts of a span, and returns rows of numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engines/segments.h"
#include "protocol/checks.h"
#include "rows/tokens.h"
#include "rows/vocabulary.h"

namespace margrave {

// The texts of all tokens: by token, the number of a value, or -1 if it has none.
struct TokenTexts {
  std::vector<std::string> values;
  std::vector<int32_t> numbers;
};

struct SegmentTemplate {
  enum class Kind { kString, kLength, kFirst, kLast, kBefore, kAfter, kNgram, kDictionary };

  std::string name;
  Kind kind;
  int64_t n = 1;        // kNgram only
  int64_t texts = 0;    // which texts of the tokens; kDictionary joins them by blanks
  int64_t phrases = 0;  // kDictionary only: which dictionary
};

class SegmentTemplates {
 public:
  using Dictionary = std::unordered_set<std::string>;

  SegmentTemplates(std::vector<SegmentTemplate> templates, std::vector<Dictionary> dictionaries)
      : templates_(std::move(templates)), dictionaries_(std::move(dictionaries)) {
    for (const SegmentTemplate& each : templates_) {
      if (each.n < 1) throw InputError("n-grams have at least one token.");
      if (each.texts < 0) throw InputError("a template's texts are out of range.");
      if (each.kind == SegmentTemplate::Kind::kDictionary &&
          (each.phrases < 0 || each.phrases >= static_cast<int64_t>(dictionaries_.size())))
        throw InputError("a template's dictionary is out of range.");
    }
  }

  // One row for every span of at most `longest` tokens, by end and length (Segments). `growing`: by span, whether its
  // new names are added to the vocabulary; empty: none. Other unknown names are left out. With hash bits there is no
  // vocabulary.
  std::shared_ptr<Tokens> rows(const std::vector<int64_t>& begin, const std::vector<TokenTexts>& texts, int64_t longest,
                               Vocabulary* vocabulary, int hash_bits, const std::vector<uint8_t>& growing) const {
    check(begin, texts, longest, vocabulary, hash_bits);
    const Segments spans({static_cast<int32_t>(longest)});
    int64_t total = 0;
    for (size_t i = 0; i + 1 < begin.size(); ++i) total += spans.spans(begin[i + 1] - begin[i]);
    if (!growing.empty() && static_cast<int64_t>(growing.size()) != total)
      throw InputError("there must be one flag per span.");
    std::string name;
    if (vocabulary && !growing.empty()) {
      each_span(begin, spans, [&](int64_t row, int64_t first, int64_t last, int64_t s, int64_t e) {
        if (!growing[row]) return;
        each_attribute(texts, first, last, s, e, name,
                       [&] { vocabulary->add(name, hash_bytes(name.data(), name.size())); });
      });
    }
    auto tokens = std::make_shared<Tokens>();
    tokens->row_begin.reserve(static_cast<size_t>(total) + 1);
    int64_t example = 0;
    each_span(begin, spans, [&](int64_t row, int64_t first, int64_t last, int64_t s, int64_t e) {
      while (begin[example] < first) {
        tokens->example_begin.push_back(row);
        ++example;
      }
      each_attribute(texts, first, last, s, e, name, [&] {
        const uint64_t hash = hash_bytes(name.data(), name.size());
        const int32_t id =
            vocabulary ? vocabulary->find(name, hash) : static_cast<int32_t>(hash & ((uint64_t{1} << hash_bits) - 1));
        if (id >= 0) tokens->index.push_back(id);
      });
      tokens->row_begin.push_back(static_cast<int64_t>(tokens->index.size()));
    });
    while (static_cast<size_t>(example) + 1 < begin.size()) {
      tokens->example_begin.push_back(total);
      ++example;
    }
    return tokens;
  }

 private:
  static void check(const std::vector<int64_t>& begin, const std::vector<TokenTexts>& texts, int64_t longest,
                    const Vocabulary* vocabulary, int hash_bits) {
    if (begin.empty() || begin.front() != 0 || !std::is_sorted(begin.begin(), begin.end()))
      throw InputError("token bounds must ascend from 0.");
    if (longest < 1 || longest > 1'000'000) throw InputError("spans have from 1 to 1000000 tokens.");
    if (!vocabulary && (hash_bits < 1 || hash_bits > 30))
      throw InputError("a vocabulary or a number of hash bits is needed.");
    for (const TokenTexts& each : texts) {
      if (static_cast<int64_t>(each.numbers.size()) != begin.back())
        throw InputError("there must be one text per token.");
      for (const int32_t number : each.numbers)
        if (number < -1 || number >= static_cast<int64_t>(each.values.size()))
          throw InputError("the number of a text is out of range.");
    }
  }

  // Calls visit(row, first, last, s, e) for the span from token s up to e of an example with the tokens first .. last.
  template <typename Visit>
  static void each_span(const std::vector<int64_t>& begin, const Segments& spans, const Visit& visit) {
    int64_t row = 0;
    for (size_t i = 0; i + 1 < begin.size(); ++i)
      for (int64_t e = begin[i] + 1; e <= begin[i + 1]; ++e)
        for (int64_t m = 1; m <= std::min(spans.most(), e - begin[i]); ++m)
          visit(row++, begin[i], begin[i + 1], e - m, e);
  }

  // Appends the texts of some tokens, joined by blanks; false if one has none.
  static bool join(const TokenTexts& texts, int64_t from, int64_t to, std::string& name) {
    for (int64_t t = from; t < to; ++t) {
      const int32_t number = texts.numbers[t];
      if (number < 0) return false;
      if (t > from) name += ' ';
      name += texts.values[number];
    }
    return true;
  }

  template <typename Visit>
  void each_attribute(const std::vector<TokenTexts>& texts, int64_t first, int64_t last, int64_t s, int64_t e,
                      std::string& name, const Visit& visit) const {
    using Kind = SegmentTemplate::Kind;
    for (const SegmentTemplate& each : templates_) {
      if (each.kind == Kind::kLength) {
        name = each.name + "=" + std::to_string(e - s);
        visit();
        continue;
      }
      if (each.texts >= static_cast<int64_t>(texts.size())) throw InputError("a template's texts are out of range.");
      const TokenTexts& of = texts[each.texts];
      if (each.kind == Kind::kDictionary) {
        name.clear();
        if (!join(of, s, e, name) || !dictionaries_[each.phrases].contains(name)) continue;
        name = each.name;
        visit();
        continue;
      }
      int64_t from = s;
      int64_t to = e;
      switch (each.kind) {
        case Kind::kFirst: to = s + 1; break;
        case Kind::kLast: from = e - 1; break;
        case Kind::kBefore: from = s - 1, to = s; break;
        case Kind::kAfter: from = e, to = e + 1; break;
        case Kind::kNgram: to = s + each.n; break;
        default: break;
      }
      for (; from >= first && to <= (each.kind == Kind::kNgram ? e : last); ++from, ++to) {
        name = each.name;
        name += '=';
        if (join(of, from, to, name)) visit();
        if (each.kind != Kind::kNgram) break;
      }
    }
  }

  std::vector<SegmentTemplate> templates_;
  std::vector<Dictionary> dictionaries_;
};

}  // namespace margrave
