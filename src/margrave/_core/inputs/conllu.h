// CoNLL-U: ten columns per word, comments, multiword tokens and empty nodes. CoNLL-X has only words. The rules are
// those of `read_conllu` and `read_conllx` (datasets/conllu.py). Here words are rows of a table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs/column_table.h"
#include "inputs/columns.h"
#include "inputs/lines.h"
#include "protocol/checks.h"

namespace margrave {

// A column of words: one of the ten fields, or the value of a key in misc.
struct ConlluColumn {
  int64_t field = 0;
  std::string key;  // including its =; empty: the whole field

  std::string_view of(std::string_view value) const {
    if (key.empty()) return value;
    for (size_t at = 0;;) {
      const size_t bar = value.find('|', at);
      const std::string_view part = value.substr(at, bar == std::string_view::npos ? bar : bar - at);
      if (part.starts_with(key)) return part.substr(key.size());
      if (bar == std::string_view::npos) return "_";
      at = bar + 1;
    }
  }
};

// Sentences with all of their lines.
struct ConlluText {
  static constexpr int64_t kOther = -1;  // a comment, a multiword token, an empty node or a blank line

  struct Line {
    std::string_view text;
    std::string_view end;  // the line feed, preceded by a carriage return if the file has one
    int64_t token;
  };

  std::shared_ptr<const std::string> text;
  ColumnTable table;
  std::vector<Line> lines;
  std::vector<int32_t> heads;  // of all words; -1: not annotated
  int64_t stopped = 0;         // at the sentence that ends with this line, counted from 1; 0: read to the end
};

namespace conllu {

inline constexpr int64_t kFields = 10;
inline constexpr int64_t kHead = 6;
inline constexpr int64_t kRelation = 7;
inline constexpr int64_t kMisc = 9;
using Row = std::array<std::string_view, kFields>;

// A number without leading zeros, or -1. Numbers of more than nine digits also give -1.
inline int64_t number_of(std::string_view text) {
  if (text.empty() || text.size() > 9 || (text.size() > 1 && text[0] == '0')) return -1;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

inline bool split_fields(std::string_view line, Row& row) {
  size_t at = 0;
  for (size_t k = 0; k < kFields; ++k) {
    const size_t tab = line.find('\t', at);
    if ((tab == std::string_view::npos) != (k + 1 == kFields)) return false;
    row[k] = line.substr(at, tab == std::string_view::npos ? tab : tab - at);
    if (row[k].empty()) return false;
    at = tab + 1;
  }
  return true;
}

// The heads of a sentence (-1: not annotated) must lead to a root, or some are not annotated. Words are counted from 1.
class HeadCheck {
 public:
  bool good(const std::vector<int64_t>& heads) {
    const auto n = static_cast<int64_t>(heads.size());
    bool rooted = false;
    for (const int64_t head : heads) {
      if (head > n) return false;
      rooted = rooted || head <= 0;
    }
    if (!rooted) return false;
    // walk: the start from which each word was first reached. A walk that meets itself has found a cycle.
    walk_.assign(heads.size() + 1, 0);
    for (int64_t start = 1; start <= n; ++start) {
      int64_t word = start;
      while (word > 0 && walk_[word] == 0) {
        walk_[word] = start;
        word = heads[word - 1];
      }
      if (word > 0 && walk_[word] == start) return false;
    }
    return true;
  }

 private:
  std::vector<int64_t> walk_;
};

// Reads the lines of one sentence after another.
class Parser {
 public:
  // words_only: the rules of CoNLL-X. trees: read heads, which must form trees.
  Parser(std::shared_ptr<const std::string> text, std::vector<ConlluColumn> columns, bool words_only, bool trees)
      : columns_(std::move(columns)),
        parsed_{text, ColumnTable(text, static_cast<int64_t>(columns_.size())), {}, {}, 0},
        words_only_(words_only),
        trees_(trees) {}

  ConlluText parse() && {
    Lines lines(*parsed_.text);
    std::vector<ConlluText::Line> block;
    bool good = true;
    bool more = true;
    while (more) {
      std::string_view line;
      more = lines.next(line);
      good = good && (!more || lines.good());
      if (more && !is_blank(line, " \t")) {
        block.push_back({line, lines.end(), ConlluText::kOther});
        continue;
      }
      if (!good || (!block.empty() && !sentence(block))) {
        parsed_.stopped = std::max<int64_t>(1, lines.number());
        break;
      }
      if (more) {
        parsed_.lines.push_back({line, lines.end(), ConlluText::kOther});
      } else if (!block.empty()) {
        close();
      }
      block.clear();
    }
    return std::move(parsed_);
  }

 private:
  // Ends the last line of a text like the lines before it, and adds the blank line that ends a sentence.
  void close() {
    std::string_view& end = parsed_.lines.back().end;
    if (!end.ends_with('\n')) end = parsed_.lines.size() > 1 ? parsed_.lines[parsed_.lines.size() - 2].end : "\n";
    parsed_.lines.push_back({{}, end, ConlluText::kOther});
  }

  bool sentence(const std::vector<ConlluText::Line>& block) {
    const size_t lines_before = parsed_.lines.size();
    words_.clear();
    heads_.clear();
    last_empty_ = {};
    covered_ = 0;
    covers_ = false;
    bool begun = false;  // comments come before the first row
    for (ConlluText::Line line : block) {
      if (line.text[0] == '#' && !words_only_) {
        if (begun) return undo(lines_before);
      } else {
        Row row;
        if (!split_fields(line.text, row) || !place(row)) return undo(lines_before);
        begun = true;
        if (is_word_) line.token = parsed_.table.tokens() + static_cast<int64_t>(words_.size()) - 1;
      }
      parsed_.lines.push_back(line);
    }
    if (words_.empty() || covered_ > static_cast<int64_t>(words_.size()) || (trees_ && !check_.good(heads_)))
      return undo(lines_before);
    for (const Row& word : words_)
      for (const ConlluColumn& column : columns_) parsed_.table.add(column.of(word[column.field]));
    for (const int64_t head : heads_) parsed_.heads.push_back(static_cast<int32_t>(head));
    parsed_.table.end_sentence();
    return true;
  }

  bool undo(size_t lines) {
    parsed_.lines.resize(lines);
    return false;
  }

  // Whether a row may follow the rows so far: a word, a range (3-4) before its first word, or an empty node (3.1).
  bool place(const Row& row) {
    const std::string_view id = row[0];
    const auto last = static_cast<int64_t>(words_.size());
    is_word_ = false;
    if (const size_t dot = id.find('.'); dot != std::string_view::npos && !words_only_) {
      const std::string_view part = id.substr(dot + 1);
      if (number_of(id.substr(0, dot)) != last || !is_count(part) || !ascends(last_empty_, part) || covers_)
        return false;
      last_empty_ = part;
      return true;
    }
    if (const size_t dash = id.find('-'); dash != std::string_view::npos && !words_only_) {
      const int64_t first = number_of(id.substr(0, dash));
      const int64_t end = number_of(id.substr(dash + 1));
      if (first != last + 1 || end <= first || first <= covered_ || covers_) return false;
      covered_ = end;
      covers_ = true;
      return true;
    }
    if (number_of(id) != last + 1) return false;
    const bool annotated = trees_ && row[kHead] != "_";
    const int64_t head = annotated ? number_of(row[kHead]) : -1;
    if (head < 0 && annotated) return false;
    is_word_ = true;
    covers_ = false;
    last_empty_ = {};
    words_.push_back(row);
    heads_.push_back(head);
    return true;
  }

  // is_count: a positive number of any length. ascends: whether one such number is smaller than another.
  static bool is_count(std::string_view text) {
    return !text.empty() && text[0] != '0' && text.find_first_not_of("0123456789") == std::string_view::npos;
  }
  static bool ascends(std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }

  std::vector<ConlluColumn> columns_;
  ConlluText parsed_;
  bool words_only_;
  bool trees_;
  std::vector<Row> words_;
  std::vector<int64_t> heads_;
  std::string_view last_empty_;  // the second number of the previous empty node after the same word
  int64_t covered_ = 0;          // the last word of the last range
  bool covers_ = false;          // whether the previous row is a range
  bool is_word_ = false;
  HeadCheck check_;
};

// Sets a key of misc to another value; _ removes the key.
inline std::string with_key(std::string_view misc, const std::string& key, std::string_view value) {
  std::string result;
  const auto add = [&](std::string_view part) {
    if (!result.empty()) result += '|';
    result += part;
  };
  for (size_t at = 0;;) {
    const size_t bar = misc.find('|', at);
    const std::string_view part = misc.substr(at, bar == std::string_view::npos ? bar : bar - at);
    if (part != "_" && !part.starts_with(key)) add(part);
    if (bar == std::string_view::npos) break;
    at = bar + 1;
  }
  if (value != "_") {
    add(key);
    result += value;
  }
  return result.empty() ? "_" : result;
}

}  // namespace conllu

inline ConlluText parse_conllu(std::shared_ptr<const std::string> text, std::vector<ConlluColumn> columns,
                               bool words_only, bool trees) {
  return conllu::Parser(std::move(text), std::move(columns), words_only, trees).parse();
}

// A column to fill in: one of these texts for each word, by number.
struct Filled {
  ConlluColumn column;
  std::vector<std::string> texts;
  const int32_t* number;
};

// All lines with their own ends, and with columns of words filled in. Probabilities go to misc (null: none). If a head
// changes, its relation is unknown unless relations are filled in too.
inline std::string conllu_lines(const ConlluText& parsed, const std::vector<Filled>& filled,
                                const double* probability) {
  bool heads = false, relations = false;
  for (const Filled& each : filled) {
    heads = heads || each.column.field == conllu::kHead;
    relations = relations || each.column.field == conllu::kRelation;
    for (const std::string& text : each.texts)
      if (text.empty() || text.find_first_of(std::string_view("\t\n\r\0", 4)) != std::string::npos)
        throw InputError("the label '" + shown(text) + "' cannot be written as a field of CoNLL-U.");
  }
  std::string text;
  text.reserve(parsed.text->size() + parsed.lines.size());
  std::string misc;
  for (const ConlluText::Line& line : parsed.lines) {
    if (line.token < 0) {
      text += line.text;
      text += line.end;
      continue;
    }
    conllu::Row row;
    conllu::split_fields(line.text, row);
    const std::string_view head = row[conllu::kHead];
    for (const Filled& each : filled) {
      const std::string& value = each.texts[each.number[line.token]];
      if (each.column.key.empty()) {
        row[each.column.field] = value;
      } else {
        misc = conllu::with_key(row[conllu::kMisc], each.column.key, value);
        row[conllu::kMisc] = misc;
      }
    }
    if (heads && !relations && row[conllu::kHead] != head) row[conllu::kRelation] = "_";
    if (probability) {
      std::string number;
      append_probability(probability[line.token], number);
      misc = conllu::with_key(row[conllu::kMisc], "Probability=", number);
      row[conllu::kMisc] = misc;
    }
    for (size_t k = 0; k < row.size(); ++k) {
      if (k > 0) text += '\t';
      text += row[k];
    }
    text += line.end;
  }
  return text;
}

}  // namespace margrave
