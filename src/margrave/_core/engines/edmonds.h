// The best non-projective tree (Edmonds 1967) and the runner-up (Camerini, Fratta and Maffioli 1980).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "engines/tree_arcs.h"

namespace margrave::tree {

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

}  // namespace margrave::tree
