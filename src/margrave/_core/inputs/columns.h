// CoNLL columns: one token per line in columns, and a blank line between sentences. The rules are those of
// `read_columns` (datasets/columns.py).
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs/column_table.h"
#include "inputs/lines.h"

namespace margrave {

// The content before the first malformed line.
struct ParsedColumns {
  ColumnTable table;                        // the complete sentences
  std::vector<std::string_view> header;     // the names of the columns, if requested
  int64_t stopped = 0;                      // at this line, counted from 1; 0: read to the end
  std::shared_ptr<const std::string> text;  // the names point into it
};

inline constexpr std::array<bool, 256> kIsBlank = [] {
  std::array<bool, 256> blank{};
  for (const char c : kBlanks) blank[static_cast<unsigned char>(c)] = true;
  return blank;
}();

inline void split_at_blanks(std::string_view line, std::vector<std::string_view>& fields) {
  const char* p = line.data();
  const char* const end = p + line.size();
  const auto blank = [](char c) { return kIsBlank[static_cast<unsigned char>(c)]; };
  for (;;) {
    while (p < end && blank(*p)) ++p;
    if (p == end) return;
    const char* const begin = p;
    while (p < end && !blank(*p)) ++p;
    fields.emplace_back(begin, static_cast<size_t>(p - begin));
  }
}

inline void split_at(std::string_view separator, std::string_view line, std::vector<std::string_view>& fields) {
  for (size_t at = 0;;) {
    const size_t found = line.find(separator, at);
    fields.push_back(line.substr(at, found == std::string_view::npos ? found : found - at));
    if (found == std::string_view::npos) return;
    at = found + separator.size();
  }
}

// separator: nullopt means runs of blanks. width: the required number of columns; 0 means as many as in the first line.
inline ParsedColumns parse_columns(std::shared_ptr<const std::string> text, const std::optional<std::string>& separator,
                                   int64_t width, bool header) {
  ParsedColumns parsed{ColumnTable(text, width), {}, 0, text};
  Lines lines(*text);
  std::vector<std::string_view> fields;
  std::vector<std::string_view> open;  // the cells of the incomplete sentence
  const auto end_sentence = [&] {
    if (open.empty()) return;
    for (const std::string_view cell : open) parsed.table.add(cell);
    parsed.table.end_sentence();
    open.clear();
  };
  for (std::string_view line; lines.next(line);) {
    fields.clear();
    if (lines.good()) {
      if (!separator)
        split_at_blanks(line, fields);
      else if (!is_blank(line, kBlanks))
        split_at(*separator, line, fields);
      if (fields.empty()) {
        end_sentence();
        continue;
      }
      if (width == 0) parsed.table.set_width(width = static_cast<int64_t>(fields.size()));
    }
    if (!lines.good() || static_cast<int64_t>(fields.size()) != width) {
      parsed.stopped = lines.number();
      return parsed;
    }
    if (header && parsed.header.empty())
      parsed.header = fields;
    else
      open.insert(open.end(), fields.begin(), fields.end());
  }
  end_sentence();
  return parsed;
}

// Columns to append to the tokens of a table: a label, by number, and optionally a probability.
struct Added {
  std::vector<std::string> labels;
  const int32_t* number;
  const double* probability;  // null: none
};

inline void append_probability(double p, std::string& text) {
  char digits[320];  // The largest number has 309 digits before the point.
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, p, std::chars_format::fixed, 4);
  text.append(digits, end);
}

// Every row with its label, and a blank line after every sentence.
inline std::string column_lines(const ColumnTable& table, const std::string& separator, const Added& added) {
  std::string text;
  text.reserve(static_cast<size_t>(table.tokens()) * 24);
  for (int64_t s = 0; s < table.sentences(); ++s) {
    for (int64_t t = table.begin()[s]; t < table.begin()[s + 1]; ++t) {
      for (int64_t c = 0; c < table.width(); ++c) {
        text += table.cell(t, c);
        text += separator;
      }
      text += added.labels[added.number[t]];
      if (added.probability) {
        text += separator;
        append_probability(added.probability[t], text);
      }
      text += '\n';
    }
    text += '\n';
  }
  return text;
}

}  // namespace margrave
