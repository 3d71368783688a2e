// Arcs of dependency trees: their numbers, the score of a tree, and whether heads form a tree.
//
// Words are 1..n and the root is 0. The arc from head h to word m is part (m - 1) n + (h < m ? h : h - 1). Its score is
// theta[part], finite or -inf (forbidden). A tree gives every word one head such that all words reach the root. With
// `single_root`, exactly one word has head 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace margrave::tree {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

inline size_t part(int n, int head, int word) {
  return static_cast<size_t>(word - 1) * static_cast<size_t>(n) + static_cast<size_t>(head < word ? head : head - 1);
}

struct Arc {
  int16_t head, word;
};

inline Arc arc_of(int n, int64_t part_number) {
  const int64_t word = part_number / n + 1, place = part_number % n;  // head positions skip the word itself
  return {static_cast<int16_t>(place < word ? place : place + 1), static_cast<int16_t>(word)};
}

inline double score(int n, const double* theta, const int32_t* heads) {
  double sum = 0;
  for (int word = 1; word <= n; ++word) sum += theta[part(n, heads[word - 1], word)];
  return sum;
}

enum class HeadError { none, out_of_range, self, cycle, several_roots };

struct HeadCheck {
  HeadError error = HeadError::none;
  int word = 0;  // a word on the cycle, or the second child of the root
};

// Whether heads form a tree, and if not, why.
inline HeadCheck check(int n, const int32_t* heads, bool single_root) {
  for (int word = 1; word <= n; ++word) {
    const int head = heads[word - 1];
    if (head < 0 || head > n) return {HeadError::out_of_range, word};
    if (head == word) return {HeadError::self, word};
  }
  std::vector<int> reached_from(static_cast<size_t>(n) + 1, 0);
  for (int start = 1; start <= n; ++start) {
    int word = start;
    while (word > 0 && reached_from[word] == 0) {
      reached_from[word] = start;
      word = heads[word - 1];
    }
    if (word > 0 && reached_from[word] == start) return {HeadError::cycle, word};
  }
  if (single_root) {
    const int32_t* first = std::find(heads, heads + n, 0);
    const int32_t* second = std::find(first + 1, heads + n, 0);
    if (second != heads + n) return {HeadError::several_roots, static_cast<int>(second - heads) + 1};
  }
  return {};
}

}  // namespace margrave::tree
