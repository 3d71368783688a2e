// Base of the structures of alignments of two sequences: their lengths and gold matches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/alignment.h"
#include "protocol/checks.h"
#include "protocol/structure.h"

namespace margrave {

// Concatenated sequences of letters.
struct Sequences {
  std::vector<int64_t> begin;
  std::vector<int32_t> letters;

  int64_t size() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t length(int64_t k) const { return begin[k + 1] - begin[k]; }
  const int32_t* of(int64_t k) const { return letters.data() + begin[k]; }

  void check(int64_t alphabet, const char* what) const {
    if (begin.empty() || begin.front() != 0 || begin.back() != static_cast<int64_t>(letters.size()) ||
        !std::is_sorted(begin.begin(), begin.end()))
      throw InputError(std::string("the bounds of ") + what + " must ascend from 0 to the number of letters.");
    for (int64_t k = 0; k < size(); ++k) {
      if (length(k) == 0) throw InputError(std::string(what) + " " + std::to_string(k) + " is empty.");
      if (length(k) > std::numeric_limits<int32_t>::max() / 4)
        throw InputError(std::string(what) + " " + std::to_string(k) + " is too long.");
    }
    for (const int32_t letter : letters)
      if (letter < 0 || letter >= alphabet) throw InputError("a letter is not in the alphabet.");
  }
};

// Known alignments: for each example its matched pairs (i, j), flat.
struct Matches {
  std::vector<int64_t> begin;  // in pairs; empty: unknown
  std::vector<int32_t> pairs;

  bool known() const { return !begin.empty(); }
  int64_t count(int64_t k) const { return begin[k + 1] - begin[k]; }
  const int32_t* of(int64_t k) const { return pairs.data() + 2 * begin[k]; }

  void check(int64_t examples) const {
    if (!known()) return;
    if (static_cast<int64_t>(begin.size()) != examples + 1 || begin.front() != 0 || pairs.size() % 2 != 0 ||
        begin.back() != static_cast<int64_t>(pairs.size() / 2) || !std::is_sorted(begin.begin(), begin.end()))
      throw InputError("there must be one list of matched pairs per example.");
  }
  void check(int64_t k, int64_t n, int64_t m) const {
    const auto refuse = [&](const std::string& what) {
      throw InputError("example " + std::to_string(k) + ": " + what + ".");
    };
    const int32_t* p = of(k);
    int64_t i = -1, j = -1;
    for (int64_t q = 0; q < count(k); ++q, p += 2) {
      if (p[0] < 0 || p[1] < 0 || p[0] >= n || p[1] >= m)
        refuse("the pair (" + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ") is outside of sequences of " +
               std::to_string(n) + " and " + std::to_string(m) + " letters");
      if (p[0] <= i || p[1] <= j) refuse("matched pairs must ascend in both sequences");
      i = p[0];
      j = p[1];
    }
  }
  // The steps of an alignment: unmatched letters of x come before those of y.
  void path(int64_t k, alignment::Path& path) const {
    path.clear();
    const int32_t* p = of(k);
    for (int64_t q = 0; q < count(k); ++q, p += 2) {
      if (q > 0) {
        for (int32_t i = p[-2] + 1; i < p[0]; ++i) path.push_back({alignment::kX, i, p[-1]});
        for (int32_t j = p[-1] + 1; j < p[1]; ++j) path.push_back({alignment::kY, p[0] - 1, j});
      }
      path.push_back({alignment::kM, p[0], p[1]});
    }
  }
};

inline constexpr int64_t kMostPlaces = int64_t{1} << 27;  // parts, or cells of tables: 1 GB per array

inline void check_cells(int64_t example, int64_t n, int64_t m) {
  if (n > kMostPlaces / m)
    throw InputError("example " + std::to_string(example) + " has " + std::to_string(n) + " times " +
                     std::to_string(m) + " places, more than " + std::to_string(kMostPlaces) +
                     ": only the best alignment of tied parts takes so little memory that it can be found.");
}

// Base of all structures of alignments.
class Alignments : public Structure {
 public:
  Alignments(std::vector<int64_t> of_x, std::vector<int64_t> of_y, Matches gold)
      : n_(std::move(of_x)), m_(std::move(of_y)), gold_(std::move(gold)) {
    if (n_.size() != m_.size()) throw InputError("there must be as many sequences x as sequences y.");
    gold_.check(size());
    for (int64_t i = 0; i < size(); ++i) {
      if (n(i) < 1 || m(i) < 1) throw InputError("example " + std::to_string(i) + " has an empty sequence.");
      if (has_gold()) gold_.check(i, n(i), m(i));
    }
  }

  int64_t size() const override { return static_cast<int64_t>(n_.size()); }
  int64_t n(int64_t i) const { return n_[i]; }
  int64_t m(int64_t i) const { return m_[i]; }
  int64_t longest(int64_t i) const { return std::max(n(i), m(i)); }
  bool has_gold() const override { return gold_.known(); }
  const Matches& gold_matches() const { return gold_; }

  // The matched pairs of an output. Tied parts must be in the order in which inference returns them.
  virtual void matches(int64_t i, const int32_t* parts, int64_t size, std::vector<int32_t>& found) const = 0;
  // The posterior probabilities of all pairs of places, from marginals of the parts.
  virtual void match_table(int64_t i, const double* mu, double* table) const = 0;

 protected:
  void gold_path(int64_t i, alignment::Path& path) const {
    if (!has_gold()) throw InputError("this problem was bound without gold outputs.");
    gold_.path(i, path);
  }

 private:
  std::vector<int64_t> n_, m_;
  Matches gold_;
};

}  // namespace margrave
