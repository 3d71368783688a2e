// Arc-factored non-projective dependency trees: best tree, k best, partition function and marginals, samples.
//
// Arcs are numbered as in engines/tree_arcs.h. The best tree is found in edmonds.h, sums in state_reduction.h.
//
//   argmax   Edmonds (1967) by path growing on dense rows, O(n^2), single root included
//   kbest    Camerini, Fratta and Maffioli (1980), two O(n^2) runs per tree
//   logsum   the matrix-tree theorem by state reduction (Grassmann, Taksar, Heyman 1985), O(n^3). Nothing is ever
//            subtracted, so marginals stay accurate where an LU of the Laplacian loses all digits.
//   sample   Wilson (1996); where its walks would take too long, exact draws along the same elimination, O(n^3)
//
// Every function takes a Workspace, which keeps its memory between calls. Use one per thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engines/edmonds.h"
#include "engines/state_reduction.h"
#include "engines/tree_arcs.h"
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

// Draws the heads word by word, each from its marginals given the heads drawn before. A word is attached to its head
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

  // The row of a word attached to h: where the walk from h first meets the block, which is h itself if h is in the
  // block.
  void attach(const typename StateReduction<T>::Block& block, int middle) {
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

}  // namespace margrave::tree
