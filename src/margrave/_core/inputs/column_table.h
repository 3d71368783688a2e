// Sentences whose tokens have columns. Cells point into one text, such as a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

class ColumnTable {
 public:
  ColumnTable(std::shared_ptr<const std::string> text, int64_t width) : text_(std::move(text)), width_(width) {}

  int64_t width() const { return width_; }
  int64_t sentences() const { return static_cast<int64_t>(begin_.size()) - 1; }
  int64_t tokens() const { return begin_.back(); }
  const std::vector<int64_t>& begin() const { return begin_; }
  const std::string_view* row(int64_t token) const { return cells_.data() + token * width_; }
  std::string_view cell(int64_t token, int64_t column) const { return row(token)[column]; }

  // Adds the cells of a row, one after another; the caller ends sentences. Cells must point into the text, or live
  // longer.
  void add(std::string_view cell) { cells_.push_back(cell); }
  void set_width(int64_t width) { width_ = width; }
  void end_sentence() { begin_.push_back(width_ == 0 ? 0 : static_cast<int64_t>(cells_.size()) / width_); }

  ColumnTable without_column(int64_t column) const {
    expect_column(column);
    ColumnTable result(text_, width_ - 1);
    result.begin_ = begin_;
    result.cells_.reserve(cells_.size());
    for (int64_t t = 0; t < tokens(); ++t)
      for (int64_t c = 0; c < width_; ++c)
        if (c != column) result.cells_.push_back(cell(t, c));
    return result;
  }

  ColumnTable slice(int64_t first, int64_t last) const {
    if (first < 0 || last < first || last > sentences())
      throw InputError("a slice of a table must be within its sentences.");
    ColumnTable result(text_, width_);
    const int64_t from = begin_[first];
    result.cells_.assign(row(from), row(begin_[last]));
    for (int64_t s = first; s < last; ++s) result.begin_.push_back(begin_[s + 1] - from);
    return result;
  }

  ColumnTable some(const std::vector<int64_t>& chosen) const {
    ColumnTable result(text_, width_);
    for (const int64_t s : chosen) {
      if (s < 0 || s >= sentences()) throw InputError("a table has no sentence " + std::to_string(s) + ".");
      const auto at = static_cast<size_t>(s);
      result.cells_.insert(result.cells_.end(), row(begin_[at]), row(begin_[at + 1]));
      result.begin_.push_back(result.begin_.back() + begin_[at + 1] - begin_[at]);
    }
    return result;
  }

  void expect_column(int64_t column) const {
    if (column < 0 || column >= width_)
      throw InputError("there is no column " + std::to_string(column) + " among " + std::to_string(width_) + ".");
  }

 private:
  std::shared_ptr<const std::string> text_;
  int64_t width_;
  std::vector<std::string_view> cells_;  // (tokens, width)
  std::vector<int64_t> begin_{0};        // (sentences + 1) in tokens
};

}  // namespace margrave
