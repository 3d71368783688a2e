// The matrix-tree theorem by state reduction (Grassmann, Taksar, Heyman 1985): sums over non-projective trees.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "engines/tree_arcs.h"
#include "engines/wide.h"

namespace margrave::tree {

// The walk from word m steps to head h with weight w_hm = exp(theta_hm - c_m). Eliminating word k leaves the walk as
// seen on the other words and the root:
//
//   s_k = sum_j w_jk,   w_ji += (w_jk / s_k) w_ki     (i, j: what is left, j != i)
//
// and Z = exp(sum_m c_m) prod_k s_k. Rows of eliminated words stay, divided by s_k, and are updated like the others:
// the row of h is the distribution of where the walk from h first meets a remaining node. With only word m left, its
// entry for the root is the probability esc_h that the walk from h reaches the root before m. A tree is the walk
// without its loops, so the head of m is where the walk goes when it leaves m for the last time:
//
//   R_m = w_0m + sum_h w_hm esc_h,   mu_0m = w_0m / R_m,   mu_hm = w_hm esc_h / R_m,   and s_m = R_m for the last word.
//
// Divide and conquer makes every word the last one: eliminate the second half and recurse into the first, then vice
// versa. This takes 3/2 n^3 multiply-adds, in loops of length n over contiguous memory.
//
// Single root: let the root arcs be infinitesimal, w_0m = epsilon v_m. Then only trees with the fewest root arcs count.
// Sums of positive numbers never lose their leading order, so the limit can be taken term by term. The root is `rare`:
// its column holds multiples of epsilon, and s_k is the sum over words. If that sum is 0, the walk from k stays within
// the eliminated words and must leave for the root from there. Then s_k = epsilon v_k, epsilon is used up, root arcs
// are no longer possible, and the column of the root becomes that of k. If this happens twice, no tree has a single
// root.
//
// T is double, or Wide if double fails: a sum is zero, or so small or large that underflow or overflow may have changed
// it.
template <class T>
class StateReduction {
 public:
  // The column of the root and those of words first..last-1, from 0; entry m of a column is the arc into word m.
  struct Block {
    T* root;
    T* words;
    int first, last;
    bool rare;
  };

  // Calls visitor.marginals(m, mu of the n arcs into m) for every word in order. Calls visitor.attach(block, middle)
  // before words first..middle-1, all visited, are eliminated. A visitor with a function log_odds(m, numbers of the n
  // arcs into m) receives log mu - log (1 - mu) instead of mu. Returns false on failure.
  template <class Visitor>
  bool run(int n, const double* theta, bool single_root, Visitor& visitor) {
    n_ = n;
    theta_ = theta;
    single_root_ = single_root;
    return load(theta) && divide(Block{columns_, columns_ + n, 0, n, single_root}, spare_, visitor);
  }

  // log Z, after run() returned true.
  double log_partition() const { return product_.log() + log_scale_; }

 private:
  static constexpr bool kWide = std::is_same_v<T, Wide>;
  // Underflow changes a double by at most 1e-308. Before it reaches a result, this error is divided by at most three
  // small sums (that of the row, the probability of leaving a loop, R_m), and 1e-308 / 1e-270 is negligible. Multiples
  // of epsilon may also grow; an overflow makes R_m infinite or NaN.
  static constexpr double kSmallest = 1e-90, kLargest = 1e90;

  static T exp(double x) {
    if constexpr (kWide)
      return Wide::exp(x);
    else
      return std::exp(x);
  }
  static bool usable(T sum) {
    if constexpr (kWide)
      return !sum.zero();
    else
      return sum > kSmallest && sum < kLargest;
  }
  static bool zero(T x) {
    if constexpr (kWide)
      return x.zero();
    else
      return x == 0;
  }
  static double value(T x) {
    if constexpr (kWide)
      return x.value();
    else
      return x;
  }
  static void add_multiple(int n, T factor, const T* __restrict from, T* __restrict to) {
    for (int i = 0; i < n; ++i) to[i] = to[i] + factor * from[i];
  }
  size_t columns(int count) const { return static_cast<size_t>(count) * static_cast<size_t>(n_); }

  bool load(const double* theta);
  double scale_of(const double* scores) const;
  bool eliminate(Block& block, int k, int first, int last);
  template <class Visitor>
  bool divide(Block block, T* spare, Visitor& visitor);
  bool marginals(const Block& block);
  bool log_odds(const Block& block);

  int n_ = 0;
  const double* theta_ = nullptr;
  bool single_root_ = false;
  std::vector<T> memory_;
  T *weights_ = nullptr, *columns_ = nullptr, *pivots_ = nullptr, *spare_ = nullptr;
  std::vector<double> scales_, mu_, before_;
  double log_scale_ = 0, root_scale_ = 0;
  Wide product_;  // of the pivots
};

template <class T>
bool StateReduction<T>::load(const double* theta) {
  size_t spare = 0;
  for (int words = n_; words > 1; words -= words / 2) spare += columns(words + 1);
  memory_.resize(std::max(memory_.size(), columns(2 * n_ + 2) + spare));
  weights_ = memory_.data();          // (n, n): by part
  columns_ = weights_ + columns(n_);  // (n + 1, n): the same by head, root first
  pivots_ = columns_ + columns(n_ + 1);
  spare_ = pivots_ + n_;
  scales_.resize(n_);
  mu_.resize(n_);

  double root_scale = kForbidden;
  for (int m = 0; m < n_; ++m) {
    const double* scores = theta + columns(m);
    scales_[m] = scale_of(scores);
    if (scales_[m] == kForbidden) return false;
    root_scale = std::max(root_scale, scores[0] - scales_[m]);
  }
  if (root_scale == kForbidden) return false;
  if (!single_root_) root_scale = 0;
  root_scale_ = root_scale;
  log_scale_ = std::accumulate(scales_.begin(), scales_.end(), root_scale);

  for (int m = 0; m < n_; ++m) {
    const double* scores = theta + columns(m);
    T* weights = weights_ + columns(m);
    weights[0] = exp(scores[0] - scales_[m] - root_scale);
    for (int h = 1; h < n_; ++h) weights[h] = exp(scores[h] - scales_[m]);
    T* column = columns_ + m;  // the root, then word by word
    for (int h = 0; h <= m; ++h, column += n_) *column = weights[h];
    *column = T();
    for (int h = m + 1; h < n_; ++h) *(column += n_) = weights[h];
  }
  return true;
}

// c_m makes the largest weight 1. With a single root, the root arcs have their own scale, the same for all words.
template <class T>
double StateReduction<T>::scale_of(const double* scores) const {
  double scale = kForbidden;
  for (int h = single_root_ ? 1 : 0; h < n_; ++h) scale = std::max(scale, scores[h]);
  return scale == kForbidden ? scores[0] : scale;
}

// Eliminates word k while words first..last-1 are left.
template <class T>
bool StateReduction<T>::eliminate(Block& block, int k, int first, int last) {
  const auto column_of = [&](int word) { return block.words + columns(word - block.first); };
  const T* const gone = column_of(k);
  T sum = block.rare ? T() : block.root[k];
  for (int j = first; j < last; ++j) sum = sum + column_of(j)[k];
  const bool only_root = block.rare && zero(sum);
  if (only_root) sum = block.root[k];
  if (!usable(sum)) return false;
  pivots_[k] = sum;
  if (only_root) {
    std::copy(gone, gone + n_, block.root);
    block.root[k] = T(1.0);
    block.rare = false;
    return true;
  }

  const auto update = [&](T* column) {
    const T through = column[k] / sum;
    if (!zero(through)) add_multiple(n_, through, gone, column);
    column[k] = through;
  };
  update(block.root);
  if (last - first == 1) return true;  // the column of the last word is never read
  for (int j = first; j < last; ++j) update(column_of(j));
  return true;
}

template <class T>
template <class Visitor>
bool StateReduction<T>::divide(Block block, T* spare, Visitor& visitor) {
  const int first = block.first, last = block.last;
  if (last - first == 1) {
    if (!marginals(block)) return false;
    if constexpr (requires { visitor.log_odds(first, mu_.data()); }) {
      if (!log_odds(block)) return false;
      visitor.log_odds(first, mu_.data());
    } else {
      visitor.marginals(first, mu_.data());
    }
    return true;
  }
  const int middle = first + (last - first) / 2;
  Block copy{spare, spare + n_, first, last, block.rare};
  std::copy(block.root, block.root + n_, copy.root);
  std::copy(block.words, block.words + columns(last - first), copy.words);
  for (int k = last - 1; k >= middle; --k) {
    if (!eliminate(copy, k, first, k)) return false;
  }
  T* const rest = spare + columns(last - first + 1);
  if (!divide(Block{copy.root, copy.words, first, middle, copy.rare}, rest, visitor)) return false;

  visitor.attach(block, middle);
  for (int k = first; k < middle; ++k) {
    if (!eliminate(block, k, k + 1, last)) return false;
  }
  return divide(Block{block.root, block.words + columns(middle - first), middle, last, block.rare}, spare, visitor);
}

// The marginals of the arcs into the only word left.
template <class T>
bool StateReduction<T>::marginals(const Block& block) {
  const int m = block.first;
  const T* escape = block.root;
  const T* weights = weights_ + columns(m);
  const T from_root = single_root_ && !block.rare ? T() : weights[0];
  T sum = from_root;
  for (int h = 1; h <= m; ++h) sum = sum + weights[h] * escape[h - 1];
  for (int h = m + 1; h < n_; ++h) sum = sum + weights[h] * escape[h];
  if (!usable(sum)) return false;
  mu_[0] = value(from_root / sum);
  for (int h = 1; h <= m; ++h) mu_[h] = value(weights[h] * escape[h - 1] / sum);
  for (int h = m + 1; h < n_; ++h) mu_[h] = value(weights[h] * escape[h] / sum);
  if (m == 0) {  // the first word that is left alone: all others have pivots
    product_ = Wide(sum);
    for (int k = 1; k < n_; ++k) product_ = product_ * Wide(pivots_[k]);
  }
  return true;
}

// log mu - log (1 - mu) of the arcs into the only word left, in place of their marginals. No subtraction occurs in 1 -
// mu or in sums over the other arcs. Logs are taken before multiplying, so weights outside the range of doubles are
// harmless. Returns false if the probability that a head escapes to the root underflows. A marginal may round it to 0,
// but a log-odds of -inf would mean that no tree contains the arc.
template <class T>
bool StateReduction<T>::log_odds(const Block& block) {
  const int m = block.first;
  const double* scores = theta_ + columns(m);
  const auto log_of = [](T x) {
    if constexpr (kWide)
      return x.zero() ? kForbidden : x.log();
    else
      return std::log(x);
  };
  double* const logs = mu_.data();  // of w_hm esc_h
  logs[0] = single_root_ && !block.rare ? kForbidden : scores[0] - scales_[m] - root_scale_;
  for (int k = 1; k < n_; ++k) {
    const T escape = block.root[k <= m ? k - 1 : k];
    if (!kWide && scores[k] != kForbidden && !usable(escape)) return false;
    logs[k] = scores[k] == kForbidden ? kForbidden : scores[k] - scales_[m] + log_of(escape);
  }
  int best = 0;
  for (int k = 1; k < n_; ++k)
    if (logs[k] > logs[best]) best = k;
  double second = kForbidden, beside = 0;  // beside: the sum of all but the best one
  for (int k = 0; k < n_; ++k)
    if (k != best) second = std::max(second, logs[k]);
  before_.resize(n_);
  double sum = 0;
  for (int k = 0; k < n_; ++k) {  // sums of the entries before and, below, after
    before_[k] = sum;
    sum += std::exp(logs[k] - logs[best]);
    if (k != best && second > kForbidden) beside += std::exp(logs[k] - second);
  }
  sum = 0;
  for (int k = n_ - 1; k >= 0; --k) {
    const double own = logs[k], weight = std::exp(own - logs[best]);
    if (k != best) logs[k] = own - logs[best] - std::log(before_[k] + sum);
    sum += weight;
  }
  logs[best] = second > kForbidden ? logs[best] - second - std::log(beside) : -kForbidden;
  return true;
}

// Visitor of StateReduction::run that stores the marginals.
struct Marginals {
  double* mu;
  int n;

  void marginals(int m, const double* of_word) { std::copy(of_word, of_word + n, mu + part(n, 0, m + 1)); }
  template <class Block>
  void attach(const Block&, int) {}
};

// Visitor that stores log-odds.
struct LogOdds {
  double* odds;
  int n;

  void log_odds(int m, const double* of_word) { std::copy(of_word, of_word + n, odds + part(n, 0, m + 1)); }
  template <class Block>
  void attach(const Block&, int) {}
};

}  // namespace margrave::tree
