// Arc-factored non-projective dependency trees: best tree, k best, partition function and marginals, samples.
//
// Words are 1..n and the root is 0. The arc from head h to word m is part (m - 1) n + (h < m ? h : h - 1). Its score is
// theta[part], finite or -inf (forbidden). A tree gives every word one head such that all words reach the root. With
// `single_root`, exactly one word has head 0.
//
//   argmax   Edmonds (1967) by path growing on dense rows, O(n^2), single root included
//   kbest    Camerini, Fratta and Maffioli (1980), two O(n^2) runs per tree
//   logsum   the matrix-tree theorem by state reduction (Grassmann, Taksar, Heyman 1985), O(n^3). Nothing is ever
//            subtracted, so marginals stay accurate where an LU of the Laplacian loses all digits.
//   sample   Wilson (1996); where its walks would take too long, exact draws along the same elimination, O(n^3)
//   check    whether heads form a tree
//
// Every function takes a Workspace, which keeps its memory between calls. Use one per thread.
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

#include "engines/wide.h"

namespace margrave::tree {

struct Workspace;

// Writes the best tree to `heads` (n) and returns its score. If there is none, returns -inf and leaves `heads`
// unchanged.
double argmax(int n, const double* theta, bool single_root, Workspace& ws, std::vector<int32_t>& heads);

// Writes the k best distinct trees, best first, to `heads` (count, n) and `values` (count); fewer if fewer exist.
int kbest(int n, const double* theta, bool single_root, int k, Workspace& ws, std::vector<int32_t>& heads,
          std::vector<double>& values);

// Returns log sum over trees of exp(score) and writes the marginal of every part to `mu` (n n). If no tree exists: -inf
// and zeros.
double logsum(int n, const double* theta, bool single_root, Workspace& ws, double* mu);

// The same with log mu - log (1 - mu) of every part in `odds` (n n): -inf if no tree contains it, inf if every tree
// does.
double log_odds(int n, const double* theta, bool single_root, Workspace& ws, double* odds);

// Draws a tree with probability exp(score) / Z into `heads` (n); false if none exists. `rng.uniform()` is in [0, 1).
template <class Rng>
bool sample(int n, const double* theta, bool single_root, Rng& rng, Workspace& ws, std::vector<int32_t>& heads);

enum class HeadError { none, out_of_range, self, cycle, several_roots };

struct HeadCheck {
  HeadError error = HeadError::none;
  int word = 0;  // a word on the cycle, or the second child of the root
};

HeadCheck check(int n, const int32_t* heads, bool single_root);

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

// ---- The best tree, and the runner-up ------------------------------------------------------------------------------

// Edmonds' algorithm. Nodes 1..n are words; larger ids are contracted cycles. A path grows backwards along best
// incoming arcs. It ends at the root or at a finished node, and is then finished too. If it meets itself, the cycle is
// contracted.
//
// Single root: order trees by (number of root arcs, score), as if every root arc cost a symbolic infinity. A cycle
// never contains a root arc, so contraction leaves these infinities alone. The order reduces to one rule: use a root
// arc only if no other arc is left.
class Arborescence {
 public:
  // The smallest change of the best tree: the runner-up is the best tree without this arc. word = 0: there is none.
  struct Swap {
    double loss = std::numeric_limits<double>::infinity();
    int head = 0;
    int word = 0;
  };

  bool solve(int n, const double* theta, bool single_root);
  const std::vector<int32_t>& heads() const { return heads_; }
  Swap runner_up();  // only after solve() without a single root returned true, while theta lives

 private:
  enum State : uint8_t { kNew, kOnPath, kDone };

  void start();
  bool choose_arc(int x);
  int contract_cycle(int x);
  bool expand();
  void order_from_root();
  void mark_descendants(int word);

  double* row(int x) { return rows_.data() + static_cast<size_t>(slot_[x]) * static_cast<size_t>(n_ + 1); }

  template <class Visit>
  void each_word_in(int x, Visit visit) const {
    for (int word = first_[x];; word = next_[word]) {
      visit(word);
      if (word == last_[x]) return;
    }
  }

  int n_ = 0, nodes_ = 0;
  const double* theta_ = nullptr;
  bool single_root_ = false;
  std::vector<double> rows_;   // (n, n + 1): by head, the best score of an arc into a node, minus shifts
  std::vector<double> best_;   // by node: score of the arc it chose
  std::vector<double> shift_;  // by word: cost of an arc into it: the chosen arcs of all nodes that contain it
  std::vector<int> slot_;      // by node: its row
  std::vector<int> parent_, head_, word_;  // by node: the cycle that contains it, and the arc it chose
  std::vector<int> first_, last_, next_;   // the words of a node, as a section of one linked list
  std::vector<int> top_;                   // by word: the outermost node that contains it
  std::vector<uint8_t> state_, kept_;      // by node; kept: its own arc is in the tree
  std::vector<int> path_, order_, outside_;
  std::vector<uint8_t> below_;
  std::vector<int32_t> heads_;
};

inline bool Arborescence::solve(int n, const double* theta, bool single_root) {
  n_ = n;
  theta_ = theta;
  single_root_ = single_root;
  start();
  for (int word = 1; word <= n; ++word) {
    path_.clear();
    int x = top_[word];
    while (state_[x] != kDone) {
      if (state_[x] == kOnPath) x = contract_cycle(x);
      if (!choose_arc(x)) return false;
      state_[x] = kOnPath;
      path_.push_back(x);
      x = top_[head_[x]];
    }
    for (const int y : path_) state_[y] = kDone;
  }
  return expand();
}

inline void Arborescence::start() {
  const size_t most = 2 * n_;  // the root, n words and at most n - 1 cycles
  rows_.resize(static_cast<size_t>(n_) * static_cast<size_t>(n_ + 1));
  for (auto* of_node : {&slot_, &parent_, &head_, &word_, &first_, &last_}) of_node->assign(most, 0);
  best_.assign(most, 0);
  state_.assign(most, kNew);
  kept_.assign(most, 1);
  shift_.assign(n_ + 1, 0);
  next_.resize(n_ + 1);
  top_.resize(n_ + 1);
  std::iota(top_.begin(), top_.end(), 0);
  state_[0] = kDone;
  nodes_ = n_ + 1;
  for (int word = 1; word <= n_; ++word) {
    slot_[word] = word - 1;
    first_[word] = last_[word] = word;
    const double* from = theta_ + part(n_, 0, word);
    double* to = row(word);
    std::copy(from, from + word, to);
    to[word] = kForbidden;
    std::copy(from + word, from + n_, to + word + 1);
  }
}

// The best arc into node x from outside; false if there is none.
inline bool Arborescence::choose_arc(int x) {
  const double* scores = row(x);
  int head = 0;
  double best = single_root_ ? kForbidden : scores[0];
  for (int h = 1; h <= n_; ++h) {
    if (scores[h] > best) {
      best = scores[h];
      head = h;
    }
  }
  if (head == 0) best = scores[0];
  if (best == kForbidden) return false;

  double highest = kForbidden;
  each_word_in(x, [&](int word) {
    const double value = theta_[part(n_, head, word)] - shift_[word];
    if (value > highest) {
      highest = value;
      word_[x] = word;
    }
  });
  best_[x] = best;
  head_[x] = head;
  return true;
}

// Contracts the end of the path, from node x on. An arc into a member costs the arc that the member chose.
inline int Arborescence::contract_cycle(int x) {
  const int z = nodes_++;
  slot_[z] = slot_[x];
  double* merged = row(z);
  for (int h = 0; h <= n_; ++h) merged[h] -= best_[x];
  int member;
  do {
    member = path_.back();
    path_.pop_back();
    parent_[member] = z;
    const double given_up = best_[member];
    if (member != x) {
      const double* scores = row(member);
      for (int h = 0; h <= n_; ++h) merged[h] = std::max(merged[h], scores[h] - given_up);
    }
    if (first_[z] == 0) {
      first_[z] = first_[member];
    } else {
      next_[last_[z]] = first_[member];
    }
    last_[z] = last_[member];
    each_word_in(member, [&](int word) { shift_[word] += given_up; });
  } while (member != x);
  each_word_in(z, [&](int word) {
    top_[word] = z;
    merged[word] = kForbidden;
  });
  return z;
}

// From the outermost cycle inwards: the arc into a cycle replaces the arc chosen by the member that it enters.
inline bool Arborescence::expand() {
  for (int z = nodes_ - 1; z > n_; --z) {
    int member = word_[z];
    while (parent_[member] != z) member = parent_[member];
    head_[member] = head_[z];
    word_[member] = word_[z];
    kept_[member] = 0;
  }
  heads_.resize(n_);
  int root_arcs = 0;
  for (int word = 1; word <= n_; ++word) {
    heads_[word - 1] = head_[word];
    root_arcs += head_[word] == 0;
  }
  return !single_root_ || root_arcs == 1;
}

// Camerini et al.: the runner-up replaces one arc of the (contracted) tree by the next best one into the same node,
// from a head that is not below that node.
inline Arborescence::Swap Arborescence::runner_up() {
  order_from_root();
  std::fill(shift_.begin(), shift_.end(), 0.0);
  Swap swap;
  for (int x = 1; x < nodes_; ++x) {
    if (kept_[x]) {
      const int head = head_[x], target = word_[x];
      mark_descendants(target);
      outside_.clear();
      for (int h = 0; h <= n_; ++h) {
        if (!below_[h]) outside_.push_back(h);
      }
      each_word_in(x, [&](int word) {
        for (const int h : outside_) {
          const double loss = best_[x] - (theta_[part(n_, h, word)] - shift_[word]);
          if (loss < swap.loss && !(h == head && word == target)) swap = {loss, head, target};
        }
      });
    }
    each_word_in(x, [&](int word) { shift_[word] += best_[x]; });
  }
  return swap;
}

// Orders every word after its head.
inline void Arborescence::order_from_root() {
  order_.clear();
  below_.assign(n_ + 1, 0);  // here: already in order_
  below_[0] = 1;
  for (int word = 1; word <= n_; ++word) {
    path_.clear();
    for (int x = word; !below_[x]; x = heads_[x - 1]) {
      below_[x] = 1;
      path_.push_back(x);
    }
    order_.insert(order_.end(), path_.rbegin(), path_.rend());
  }
}

inline void Arborescence::mark_descendants(int word) {
  below_[0] = 0;
  for (const int x : order_) below_[x] = x == word || below_[heads_[x - 1]];
}

// ---- The partition function ----------------------------------------------------------------------------------------

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

  // Calls visitor.marginals(m, mu of the n arcs into m) for every word in order. Calls visitor.clamp(block, middle)
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

  visitor.clamp(block, middle);
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
  void clamp(const Block&, int) {}
};

// Visitor that stores log-odds.
struct LogOdds {
  double* odds;
  int n;

  void log_odds(int m, const double* of_word) { std::copy(of_word, of_word + n, odds + part(n, 0, m + 1)); }
  template <class Block>
  void clamp(const Block&, int) {}
};

// ---- Samples -------------------------------------------------------------------------------------------------------

// The part of a word that a uniform number u in [0, 1) selects, given the cumulative weights of the word's n parts.
inline int draw(int n, const double* cumulative, double u) {
  const double* const end = cumulative + n;
  const double* chosen = std::upper_bound(cumulative, end, u * end[-1]);
  if (chosen == end) chosen = std::lower_bound(cumulative, end, end[-1]);  // rounding made u * total equal to the total
  return static_cast<int>(chosen - cumulative);
}

inline int head_of(int chosen, int word) { return chosen < word ? chosen : chosen + 1; }

// Wilson's algorithm: walk from every word to the tree so far, and keep the walk without its loops. Returns false after
// more than `budget` steps. Restarting with another method introduces no bias: the erased loops, and so the number of
// steps, are independent of the tree (Wilson 1996, section 3).
template <class Rng>
bool wilson(int n, const double* theta, Rng& rng, int64_t budget, std::vector<double>& cumulative,
            std::vector<int32_t>& heads) {
  const auto size = static_cast<size_t>(n);
  cumulative.resize(size * size);
  for (size_t m = 0; m < size; ++m) {
    const double* scores = theta + m * size;
    const double scale = *std::max_element(scores, scores + n);
    if (scale == kForbidden) return false;
    double sum = 0;
    for (size_t h = 0; h < size; ++h) cumulative[m * size + h] = sum += std::exp(scores[h] - scale);
  }
  // A head is stored as -1 - head until the walk that chose it ends.
  heads.assign(size, -1);
  for (int start = 1; start <= n; ++start) {
    for (int word = start; word > 0 && heads[word - 1] < 0;) {
      if (budget-- == 0) return false;
      const size_t m = static_cast<size_t>(word - 1);
      const int head = head_of(draw(n, cumulative.data() + m * size, rng.uniform()), word);
      heads[m] = -1 - head;
      word = head;
    }
    for (int word = start; word > 0 && heads[word - 1] < 0;) {
      int32_t& head = heads[word - 1];
      head = -1 - head;
      word = head;
    }
  }
  return true;
}

// Draws the heads word by word, each from its marginals given the heads drawn before. A word is clamped to its head
// before it is eliminated.
template <class T>
struct Draws {
  const double* uniform;
  int32_t* heads;
  int n;

  void marginals(int m, double* mu) {
    std::partial_sum(mu, mu + n, mu);
    heads[m] = head_of(draw(n, mu, uniform[m]), m + 1);
  }

  // The row of a word clamped to h: where the walk from h first meets the block, which is h itself if h is in the
  // block.
  void clamp(const typename StateReduction<T>::Block& block, int middle) {
    for (int m = block.first; m < middle; ++m) {
      const int head = heads[m] - 1;  // numbered like m; the root is -1
      const bool met = head < 0 || (block.first <= head && head < block.last);
      block.root[m] = met ? T(head < 0 ? 1.0 : 0.0) : block.root[head];
      T* column = block.words;
      for (int j = block.first; j < block.last; ++j, column += n) {
        column[m] = met ? T(head == j ? 1.0 : 0.0) : column[head];
      }
    }
  }
};

// ---- The public functions ------------------------------------------------------------------------------------------

struct Workspace {
  Arborescence arborescence;
  StateReduction<double> plain;
  StateReduction<Wide> wide;
  std::vector<double> scores, mu, cumulative, uniform;
};

inline double argmax(int n, const double* theta, bool single_root, Workspace& ws, std::vector<int32_t>& heads) {
  if (!ws.arborescence.solve(n, theta, single_root)) return kForbidden;
  heads = ws.arborescence.heads();
  return score(n, theta, heads.data());
}

// A set of trees is defined by constraints: required arcs and forbidden arcs. A branch is a set whose best tree is
// known, with an arc of that tree that the set's second best tree does not contain. Splitting there gives two sets: one
// has the old tree as its best, the other the new one. Both yield new branches.
//
// Single root: the first split is by the child of the root. Trees with the same child r as the best one need no other
// root arc. They are searched as if several roots were allowed, which halves the time. The best tree with another child
// is a branch of its own. When it becomes the next best tree, the set is split again by its child.
inline int kbest(int n, const double* theta, bool single_root, int k, Workspace& ws, std::vector<int32_t>& heads,
                 std::vector<double>& values) {
  struct Constraint {
    int before;  // the constraints of a set are a linked list, ended by -1
    int head, word;
    bool required;
  };
  struct Branch {
    double value;  // of the second best tree
    int constraints;
    int root;        // the only child of the root; 0: any, or several
    int tree;        // the best one
    int head, word;  // the split arc; word 0: all trees with another child of the root, whose best is `other`
    bool operator<(const Branch& than) const { return value < than.value; }
  };
  const auto size = static_cast<size_t>(n);
  std::vector<Constraint> constraints;
  std::vector<Branch> queue;
  std::vector<int32_t> other;
  heads.clear();
  values.clear();
  const auto tree = [&](int t) { return heads.begin() + static_cast<ptrdiff_t>(t) * n; };

  const auto solve = [&](int last, int root) {
    ws.scores.assign(theta, theta + size * size);
    const auto require = [&](int head, int word) {
      double* scores = ws.scores.data() + part(n, 0, word);
      const double kept = ws.scores[part(n, head, word)];
      std::fill(scores, scores + n, kForbidden);
      ws.scores[part(n, head, word)] = kept;
    };
    if (root > 0) {
      for (int word = 1; word <= n; ++word)
        if (word != root) ws.scores[part(n, 0, word)] = kForbidden;
      require(0, root);
    }
    for (int i = last; i >= 0; i = constraints[i].before) {
      const Constraint& c = constraints[i];
      if (c.required)
        require(c.head, c.word);
      else
        ws.scores[part(n, c.head, c.word)] = kForbidden;
    }
    return ws.arborescence.solve(n, ws.scores.data(), single_root && root == 0);
  };
  const auto record = [&](const std::vector<int32_t>& best) {
    heads.insert(heads.end(), best.begin(), best.end());
    values.push_back(score(n, theta, best.data()));
    return static_cast<int>(values.size()) - 1;
  };
  const auto add = [&](const Branch& branch) {
    queue.push_back(branch);
    std::push_heap(queue.begin(), queue.end());
  };
  // Requires solve(last, root), where tree t is known to be best.
  const auto push = [&](int last, int root, int t) {
    const std::vector<int32_t>& best = ws.arborescence.heads();
    const auto differs = std::mismatch(best.begin(), best.end(), tree(t));
    if (differs.first != best.end()) {  // a tie: this tree is as good and comes next
      const int word = static_cast<int>(differs.first - best.begin()) + 1;
      add({score(n, theta, best.data()), last, root, t, *differs.second, word});
    } else {
      const Arborescence::Swap swap = ws.arborescence.runner_up();
      if (swap.word == 0) return;
      add({values[t] - swap.loss, last, root, t, swap.head, swap.word});
    }
  };
  const auto with = [&](int last, int head, int word, bool required) {
    constraints.push_back({last, head, word, required});
    return static_cast<int>(constraints.size()) - 1;
  };
  // Splits the set of all trees without forbidden root arcs, whose best is t, by the child of the root.
  const auto split_by_root = [&](int last, int t) {
    const int root = static_cast<int>(std::find(tree(t), tree(t) + n, 0) - tree(t)) + 1;
    if (solve(-1, root)) push(-1, root, t);
    const int without = with(last, 0, root, false);
    if (!solve(without, 0)) return;
    other = ws.arborescence.heads();
    add({score(n, theta, other.data()), without, 0, -1, 0, 0});
  };

  if (k < 1 || !solve(-1, 0)) return 0;
  const int first = record(ws.arborescence.heads());
  if (k > 1 && single_root) split_by_root(-1, first);
  if (k > 1 && !single_root) push(-1, 0, first);
  while (static_cast<int>(values.size()) < k && !queue.empty()) {
    std::pop_heap(queue.begin(), queue.end());
    const Branch branch = queue.back();
    queue.pop_back();
    if (branch.word == 0) {
      const int t = record(other);
      if (t + 1 < k) split_by_root(branch.constraints, t);
      continue;
    }
    const int without = with(branch.constraints, branch.head, branch.word, false);
    if (!solve(without, branch.root)) continue;
    const int t = record(ws.arborescence.heads());
    if (t + 1 == k) break;
    push(without, branch.root, t);
    const int required = with(branch.constraints, branch.head, branch.word, true);
    if (solve(required, branch.root)) push(required, branch.root, branch.tree);
  }

  // Rounding may have swapped neighbors.
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
  std::vector<int32_t> sorted_heads;
  std::vector<double> sorted_values;
  for (const size_t t : order) {
    sorted_heads.insert(sorted_heads.end(), tree(static_cast<int>(t)), tree(static_cast<int>(t) + 1));
    sorted_values.push_back(values[t]);
  }
  heads.swap(sorted_heads);
  values.swap(sorted_values);
  return static_cast<int>(values.size());
}

inline double log_odds(int n, const double* theta, bool single_root, Workspace& ws, double* odds) {
  LogOdds all{odds, n};
  if (ws.plain.run(n, theta, single_root, all)) return ws.plain.log_partition();
  if (ws.wide.run(n, theta, single_root, all)) return ws.wide.log_partition();
  std::fill(odds, odds + static_cast<ptrdiff_t>(n) * n, kForbidden);
  return kForbidden;
}

inline double logsum(int n, const double* theta, bool single_root, Workspace& ws, double* mu) {
  Marginals all{mu, n};
  if (ws.plain.run(n, theta, single_root, all)) return ws.plain.log_partition();
  if (ws.wide.run(n, theta, single_root, all)) return ws.wide.log_partition();
  std::fill(mu, mu + static_cast<ptrdiff_t>(n) * n, 0.0);
  return kForbidden;
}

template <class Rng>
bool sample(int n, const double* theta, bool single_root, Rng& rng, Workspace& ws, std::vector<int32_t>& heads) {
  const auto size = static_cast<size_t>(n);
  if (single_root) {  // draw the root's child, then forbid other root arcs and other heads of that word
    ws.mu.resize(size * size);
    ws.cumulative.resize(size);
    if (logsum(n, theta, true, ws, ws.mu.data()) == kForbidden) return false;
    double sum = 0;
    for (size_t m = 0; m < size; ++m) ws.cumulative[m] = sum += ws.mu[m * size];
    const auto child = static_cast<size_t>(draw(n, ws.cumulative.data(), rng.uniform()));
    ws.scores.assign(theta, theta + size * size);
    for (size_t m = 0; m < size; ++m) {
      double* scores = ws.scores.data() + m * size;
      if (m == child) {
        std::fill(scores + 1, scores + n, kForbidden);
      } else {
        scores[0] = kForbidden;
      }
    }
    theta = ws.scores.data();
  }
  const int64_t budget = int64_t{n} * n;  // steps that take about as long as the elimination
  if (wilson(n, theta, rng, budget, ws.cumulative, heads)) return true;

  // One uniform number per word, drawn in advance. If doubles fail halfway, Wide then draws the same tree. Drawing a
  // new one would favor the trees on which doubles succeed.
  ws.uniform.resize(size);
  for (double& u : ws.uniform) u = rng.uniform();
  heads.assign(size, 0);
  Draws<double> plain{ws.uniform.data(), heads.data(), n};
  Draws<Wide> wide{ws.uniform.data(), heads.data(), n};
  return ws.plain.run(n, theta, false, plain) || ws.wide.run(n, theta, false, wide);
}

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
