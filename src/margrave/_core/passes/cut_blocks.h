// The constraints of the n-slack cutting plane (003, Algorithm 1), and their multipliers, block by block.
//
// Block i holds the constraints S_i found so far, with multipliers b_y >= 0 of H(y) <= xi_i (rescaling.h). The paper's
// alpha is factor * b. With w = sum_i sum_y alpha_y A_i'(y_gold - y), the duals of Propositions 4 to 9 are
//
//   D = sum_y linear_y b_y - 1/2 |w|^2 - sum_i (sum_y b_y)^2 / (2 C_i)     the last term with quadratic slack only,
//
// with sum_y b_y <= C_i for linear slack. P - D is the sum of `gap` below over the examples.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "losses/rescaling.h"
#include "passes/batch.h"
#include "passes/gram.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"
#include "solvers/block_qp.h"

namespace margrave {

struct Cut {
  Output y;  // sorted parts
  double cost;
  double linear;
  double factor;
  double multiplier;
  int64_t idle;           // rounds without mass
  double value = 0;       // H when last evaluated
  int64_t variable = -1;  // index among the jointly optimized ones (joint_cuts.h)
};

struct CutBlock {
  std::vector<Cut> cuts;
  GramMatrix gram;  // factor_a factor_b <A_i'(y_gold - y_a), A_i'(y_gold - y_b)>, of the first constraints

  double mass() const {
    double sum = 0;
    for (const Cut& cut : cuts) sum += cut.multiplier;
    return sum;
  }
  double slack() const {
    double xi = 0;
    for (const Cut& cut : cuts) xi = std::max(xi, cut.value);
    return xi;
  }
  void remove(size_t gone) {
    cuts.erase(cuts.begin() + static_cast<int64_t>(gone));
    if (gone < gram.rows()) gram.remove(gone);
  }
};

// The memory limit of all Gram matrices, in doubles. A matrix that does not fit is freed after the visit and computed
// again at the next.
struct GramMemory {
  int64_t most;
  int64_t used = 0;

  // Accounts for the change of the block's Gram matrix by `visit`.
  template <typename Visit>
  auto around(CutBlock& block, const Visit& visit) {
    struct Account {
      GramMemory& memory;
      CutBlock& block;
      ~Account() {
        memory.used += size(block);
        if (memory.used <= memory.most) return;
        memory.used -= size(block);
        block.gram = {};
      }
    };
    used -= size(block);
    const Account account{*this, block};
    return visit();
  }

 private:
  static int64_t size(const CutBlock& block) { return static_cast<int64_t>(block.gram.values().size()); }
};

// The data of a pass.
struct Cutting {
  const Problem& problem;
  Rescaling rule;
  const LossFamily& family;  // for C and the sample weights
  double* w;
  std::vector<CutBlock>& blocks;
  GramMemory& memory;

  double weight(int64_t i) const { return family.weight(i); }
  CutBlock& block(int64_t i) const { return blocks[i]; }
  double cap(int64_t i) const { return rule.slack == 1 ? weight(i) : kInfinity; }
  double q(int64_t i) const { return rule.slack == 2 ? 1 / weight(i) : 0.0; }

  // The share of an example in P - D at slack xi. A hard margin has no such share; returns the residual of its slopes.
  double gap(int64_t i, const CutBlock& block, double xi) const {
    double of_cuts = 0;
    for (const Cut& cut : block.cuts) of_cuts += cut.multiplier * cut.value;
    if (rule.slack == 1) return weight(i) * xi - of_cuts;
    const double S = block.mass();
    if (rule.slack == 2) return 0.5 * weight(i) * xi * xi + 0.5 * S * S / weight(i) - of_cuts;
    double left = xi;
    for (const Cut& cut : block.cuts)
      if (cut.multiplier > 0) left = std::max(left, std::fabs(cut.value));
    return left;
  }
  // The tolerance of a block's slopes for this gap.
  double slopes(int64_t i, const CutBlock& block, double gap) const {
    return rule.slack == 0 ? gap : gap / std::max(weight(i), block.mass());
  }
};

struct CuttingSettings {
  double epsilon;  // minimum violation beyond the slack to enter S
  int64_t rounds;  // after this many without mass, a constraint leaves S
};

namespace cutting {

inline constexpr double kShare = 1e-2;      // of the residual of its slopes, to which a block is solved
inline constexpr double kRounding = 1e-13;  // relative

inline double violation(const Cut& cut, const double* theta, double gold_score) {
  return cut.linear - cut.factor * (gold_score - score_of(theta, cut.y));
}

inline void evaluate_cuts(const Cutting& task, int64_t i, const double* theta, CutBlock& block, Worker& worker) {
  task.problem.gold(i, 0, worker.gold);
  const double gold_score = score_of(theta, worker.gold);
  for (Cut& cut : block.cuts) cut.value = violation(cut, theta, gold_score);
}

// Computes the missing rows of the Gram matrix. Inner products of a constraint with those before it are their scores
// under its features, A_i A_i'(y_gold - y).
inline void complete_gram(const Cutting& task, int64_t i, CutBlock& block, Worker& worker) {
  const size_t known = block.gram.rows(), n = block.cuts.size();
  if (known == n) return;
  block.gram.grow(n);
  Scratch::Frame frame(worker.scratch);
  const int64_t parts = task.problem.parts(i);
  double* counts = worker.scratch.take(parts);
  double* scores = worker.scratch.take(parts);
  for (size_t b = known; b < n; ++b) {
    const Cut& cut = block.cuts[b];
    difference(worker.gold, cut.y, parts, counts);
    score_under(task.problem, i, counts, scores, worker);
    const double of_gold = score_of(scores, worker.gold);
    for (size_t a = 0; a <= b; ++a) {
      const Cut& other = block.cuts[a];
      block.gram.set(a, b, other.factor * cut.factor * (of_gold - score_of(scores, other.y)));
    }
  }
}

// Sets the multiplier of every constraint of a block to next(its index), and updates w. The worker has the gold output.
template <typename Next>
void set_multipliers(const Cutting& task, int64_t i, CutBlock& block, const Next& next, Worker& worker) {
  double* d = worker.direction.data();
  const int64_t parts = task.problem.parts(i);
  double all = 0;
  bool moved = false;
  for (size_t a = 0; a < block.cuts.size(); ++a) {
    const Cut& cut = block.cuts[a];
    const double more = cut.factor * (next(a) - cut.multiplier);
    if (more == 0) continue;
    if (!moved) std::fill(d, d + parts, 0.0);
    moved = true;
    all += more;
    for (const int32_t part : cut.y) d[part] -= more;
  }
  if (moved) {
    for (const int32_t part : worker.gold) d[part] += all;
    task.problem.scatter(i, d, 1.0, task.w);
  }
  for (size_t a = 0; a < block.cuts.size(); ++a) block.cuts[a].multiplier = next(a);
}

// Optimizes the multipliers of one block with the others fixed, and updates w.
inline void solve_within(const Cutting& task, int64_t i, CutBlock& block, double tol, Worker& worker) {
  complete_gram(task, i, block, worker);
  const size_t n = block.cuts.size();
  std::vector<double> h(n), b(n);
  double size = 1e-300;
  for (size_t a = 0; a < n; ++a) b[a] = block.cuts[a].multiplier;
  for (size_t a = 0; a < n; ++a) {
    h[a] = block.cuts[a].value;
    for (size_t c = 0; c < n; ++c) h[a] += block.gram.at(a, c) * b[c];
    size = std::max(size, std::fabs(h[a]));
  }
  BlockQP(h.data(), block.gram.values().data(), static_cast<int64_t>(n), task.q(i), task.cap(i))
      .solve(std::max(tol, kRounding * size), b);
  set_multipliers(task, i, block, [&](size_t a) { return b[a]; }, worker);
}

// The same for a block with this gap, within the memory limit of Gram matrices.
inline void solve(const Cutting& task, int64_t i, CutBlock& block, double gap, Worker& worker) {
  const double tol = kShare * task.slopes(i, block, gap);
  task.memory.around(block, [&] { solve_within(task, i, block, tol, worker); });
}

// Removes constraints without a multiplier for more than `rounds` rounds; calls gone(cut) before.
template <typename Gone>
void forget(CutBlock& block, int64_t rounds, const Gone& gone) {
  for (size_t a = block.cuts.size(); a-- > 0;) {
    Cut& cut = block.cuts[a];
    cut.idle = cut.multiplier > 0 ? 0 : cut.idle + 1;
    if (cut.idle <= rounds) continue;
    gone(cut);
    block.remove(a);
  }
}

}  // namespace cutting

// A visit without inference. Returns the gap among the known constraints. A gap of at most `enough` is accepted.
inline double refine(const Cutting& task, int64_t i, double enough, Worker& worker) {
  CutBlock& block = task.block(i);
  worker.make_room(task.problem.parts(i));
  double* theta = worker.theta.data();
  task.problem.score(i, task.w, theta);
  cutting::evaluate_cuts(task, i, theta, block, worker);
  const double gap = task.gap(i, block, block.slack());
  if (gap > enough) cutting::solve(task, i, block, gap, worker);
  return gap;
}

struct Swept {
  double left;     // sum of the gaps
  int64_t visits;  // to blocks
};

// Optimizes over all of S, block by block, until the gaps sum to less than `goal` (with a hard margin: until none
// exceeds it), or after `most` rounds. Three rounds of four skip blocks with small gaps.
inline Swept sweep(const Cutting& task, double goal, int64_t most, const Poll& poll, Worker& worker) {
  constexpr int64_t kWhole = 4;    // one round in this many visits all blocks
  constexpr int64_t kStuck = 300;  // whole rounds without a gain: limit of precision
  const auto n = static_cast<size_t>(task.problem.size());
  const bool hard = task.rule.slack == 0;
  const double enough = hard ? 0.0 : 0.5 * goal / static_cast<double>(n);
  std::vector<double> gaps(n, kInfinity);
  double left = kInfinity, least = kInfinity;
  int64_t visits = 0, since = 0;
  for (int64_t round = 0; round < most && since < kStuck; ++round) {
    const bool whole = round % kWhole == 0;
    const double share = whole || hard ? -1 : std::max(enough, 0.5 * left / static_cast<double>(n));
    double sum = 0, largest = 0;
    for (size_t k = 0; k < n; ++k) {
      if (task.blocks[k].cuts.empty() || task.weight(static_cast<int64_t>(k)) == 0) {
        gaps[k] = 0;
        continue;
      }
      if (gaps[k] > share) gaps[k] = refine(task, static_cast<int64_t>(k), enough, worker);
      sum += gaps[k];
      largest = std::max(largest, gaps[k]);
      if (poll_is_due(task.problem, static_cast<int64_t>(k), ++visits)) poll();
    }
    left = hard ? largest : sum;
    if (whole && left <= goal) break;
    if (!whole) continue;
    since = left < 0.99 * least ? 0 : since + 1;
    least = std::min(least, left);
  }
  return {left, visits};
}

// D, from the multipliers and w.
inline double cutting_dual(const Cutting& task) {
  double sum = -0.5 * task.problem.dot(task.w, task.w);
  for (int64_t i = 0; i < task.problem.size(); ++i) {
    const CutBlock& block = task.block(i);
    for (const Cut& cut : block.cuts) sum += cut.linear * cut.multiplier;
    const double S = block.mass();
    if (task.rule.slack == 2 && S > 0) sum -= 0.5 * S * S * task.q(i);
  }
  return sum;
}

}  // namespace margrave
