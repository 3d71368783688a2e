// Optimisation over all constraints together (003, Algorithm 1, step 10, variant (a)).
//
// Constraints that have a multiplier, and those that are violated beyond their slack, are variables of one quadratic
// program (solvers/joint_qp.h). It is solved exactly, w follows, and all constraints are evaluated at the new w.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "passes/cut_blocks.h"
#include "solvers/joint_qp.h"

namespace margrave {

class JointCuts {
 public:
  static constexpr int64_t kMost = 3000;           // variables: their Gram matrix and its factor are kept
  static constexpr int64_t kNumbers = 30'000'000;  // of their features

  explicit JointCuts(const Cutting& task) : task_(task), gaps_(task.blocks.size()), tol_(task.blocks.size()) {
    for (CutBlock& block : task.blocks)
      for (Cut& cut : block.cuts) cut.variable = -1;
  }

  // Whether there are not too many constraints with a multiplier for this.
  static bool suits(const Cutting& task) {
    int64_t n = 0;
    for (const CutBlock& block : task.blocks)
      for (const Cut& cut : block.cuts) n += cut.multiplier > 0;
    return n <= kMost;
  }

  // Optimises, once at least, until the gaps sum to no more than `goal` (with a hard margin: until none is above it).
  // Returns what is left, which is more if the numbers or the memory allow no more.
  double optimise(double goal, const Poll& poll, Worker& worker) {
    if (!prepare(worker)) return kInfinity;
    const double enough = task_.rule.slack == 0 ? 0.5 * goal : 0.5 * goal / static_cast<double>(gaps_.size());
    double share = 1, left = kInfinity;
    while (left > goal) {
      const bool more = enlist(enough, worker);
      if (qp_->size() > kMost || numbers_ > kNumbers) return left;
      if (!more && left < kInfinity && (share *= 0.1) < kLeastShare) return left;
      const JointQP::Outcome outcome = solve(share * enough);
      if (!outcome.solved && outcome.gain < 0) return left;
      commit(worker);
      left = price(worker);
      poll();
      if (!outcome.solved) return left;
    }
    if (qp_->size() > 2 * with_mass() + kIdle) drop_idle();
    return left;
  }

  // A constraint without a multiplier is about to be removed.
  void forget(const Cut& cut) {
    if (cut.variable >= 0) drop(cut.variable);
  }
  int64_t steps() const { return steps_; }

 private:
  static constexpr double kLeastShare = 1e-4;  // of the goal, to which slopes are brought down
  static constexpr int64_t kIdle = 50;         // variables without mass that are always allowed

  CutBlock& block(size_t i) const { return task_.blocks[i]; }
  bool visited(size_t i) const { return !block(i).cuts.empty() && task_.weight(static_cast<int64_t>(i)) > 0; }

  // At the first call, the constraints with multipliers become variables.
  bool prepare(Worker& worker) {
    if (qp_) return true;
    std::vector<double> q, cap;
    for (size_t i = 0; i < gaps_.size(); ++i) {
      q.push_back(task_.weight(static_cast<int64_t>(i)) > 0 ? task_.q(static_cast<int64_t>(i)) : 0.0);
      cap.push_back(task_.cap(static_cast<int64_t>(i)));
    }
    qp_ = std::make_unique<JointQP>(q, cap);
    price(worker);
    for (size_t i = 0; i < gaps_.size(); ++i)
      if (visited(i))
        for (Cut& cut : block(i).cuts) {
          if (cut.multiplier > 0) add(i, cut, worker);
          if (qp_->size() > kMost || numbers_ > kNumbers) return false;
        }
    return qp_->factorise(slopes_, cutting::kRounding * size_);
  }

  // Evaluates all constraints at w; returns the gap.
  double price(Worker& worker) {
    double sum = 0, largest = 0;
    size_ = 0;
    for (size_t i = 0; i < gaps_.size(); ++i) {
      if (!visited(i)) continue;
      const auto example = static_cast<int64_t>(i);
      worker.make_room(task_.problem.parts(example));
      task_.problem.score(example, task_.w, worker.theta.data());
      cutting::evaluate_cuts(task_, example, worker.theta.data(), block(i), worker);
      gaps_[i] = task_.gap(example, block(i), block(i).slack());
      sum += gaps_[i];
      largest = std::max(largest, gaps_[i]);
      for (const Cut& cut : block(i).cuts) {
        size_ = std::max({size_, cut.linear, std::fabs(cut.value)});
        if (cut.variable >= 0) slopes_[static_cast<size_t>(cut.variable)] = slope(i, cut);
      }
    }
    return task_.rule.slack == 0 ? largest : sum;
  }
  double slope(size_t i, const Cut& cut) const {
    return cut.value - task_.q(static_cast<int64_t>(i)) * block(i).mass();
  }

  // The most violated constraint of every block with a gap becomes a variable; whether there is a new one.
  bool enlist(double enough, Worker& worker) {
    bool any = false;
    for (size_t i = 0; i < gaps_.size(); ++i) {
      if (!visited(i)) continue;
      const auto less = [](const Cut& a, const Cut& b) { return a.value < b.value; };
      Cut& top = *std::max_element(block(i).cuts.begin(), block(i).cuts.end(), less);
      const double gap = task_.gap(static_cast<int64_t>(i), block(i), block(i).slack());
      if (gap <= enough || top.variable >= 0) continue;
      add(i, top, worker);
      any = true;
    }
    return any;
  }

  void add(size_t i, Cut& cut, Worker& worker) {
    const auto example = static_cast<int64_t>(i);
    const int64_t parts = task_.problem.parts(example);
    worker.make_room(parts);
    double* counts = worker.direction.data();
    task_.problem.gold(example, 0, worker.gold);
    difference(worker.gold, cut.y, parts, counts);
    for (int64_t k = 0; k < parts; ++k) counts[k] *= cut.factor;
    Row row;
    task_.problem.row(example, counts, row);
    cut.variable = qp_->add(example, cut.multiplier, products(row, worker));
    const auto number = static_cast<size_t>(cut.variable);
    if (number == rows_.size()) {
      rows_.emplace_back();
      slopes_.push_back(0.0);
    }
    slopes_[number] = slope(i, cut);
    numbers_ += static_cast<int64_t>(row.index.size());
    rows_[number] = std::move(row);
  }

  // The inner products of a feature vector with those of all variables, by number, and at the end with itself.
  std::vector<double> products(const Row& row, Worker& worker) const {
    std::vector<double> gram(rows_.size() + 1);
    std::vector<double>& v = worker.zeros;
    v.resize(static_cast<size_t>(task_.problem.dim()));
    for (size_t k = 0; k < row.index.size(); ++k) v[static_cast<size_t>(row.index[k])] += row.value[k];
    if (task_.problem.euclidean()) {
      for (size_t k = 0; k < rows_.size(); ++k) gram[k] = dot(rows_[k], v);
      gram.back() = dot(row, v);
    } else {
      score_all(v.data(), gram, worker);
      gram.back() = task_.problem.dot(v.data(), v.data());
    }
    for (const int64_t k : row.index) v[static_cast<size_t>(k)] = 0;
    return gram;
  }
  static double dot(const Row& row, const std::vector<double>& v) {
    double sum = 0;
    for (size_t k = 0; k < row.index.size(); ++k) sum += row.value[k] * v[static_cast<size_t>(row.index[k])];
    return sum;
  }
  // The same where weights have another inner product: as scores under these weights.
  void score_all(const double* v, std::vector<double>& gram, Worker& worker) const {
    for (size_t i = 0; i < gaps_.size(); ++i) {
      const auto example = static_cast<int64_t>(i);
      if (qp_->members(example).empty()) continue;
      worker.make_room(task_.problem.parts(example));
      task_.problem.score(example, v, worker.theta.data());
      task_.problem.gold(example, 0, worker.gold);
      const double of_gold = score_of(worker.theta.data(), worker.gold);
      for (const Cut& cut : block(i).cuts)
        if (cut.variable >= 0)
          gram[static_cast<size_t>(cut.variable)] = cut.factor * (of_gold - score_of(worker.theta.data(), cut.y));
    }
  }

  // Solves the program until no block's gap among the variables is above this.
  JointQP::Outcome solve(double gap) {
    for (size_t i = 0; i < gaps_.size(); ++i)
      if (visited(i)) tol_[i] = task_.slopes(static_cast<int64_t>(i), block(i), gap);
    const JointQP::Outcome outcome = qp_->solve(slopes_, tol_, cutting::kRounding * size_);
    steps_ += outcome.steps;
    return outcome;
  }

  // Takes multipliers and w along.
  void commit(Worker& worker) {
    for (size_t i = 0; i < gaps_.size(); ++i) {
      const auto example = static_cast<int64_t>(i);
      if (qp_->members(example).empty()) continue;
      const int64_t parts = task_.problem.parts(example);
      worker.make_room(parts);
      double* d = worker.direction.data();
      double all = 0;
      bool moved = false;
      for (const Cut& cut : block(i).cuts) {
        if (cut.variable < 0 || qp_->mass(cut.variable) == cut.multiplier) continue;
        if (!moved) std::fill(d, d + parts, 0.0);
        moved = true;
        const double more = cut.factor * (qp_->mass(cut.variable) - cut.multiplier);
        all += more;
        for (const int32_t part : cut.y) d[part] -= more;
      }
      if (!moved) continue;
      task_.problem.gold(example, 0, worker.gold);
      for (const int32_t part : worker.gold) d[part] += all;
      task_.problem.scatter(example, d, 1.0, task_.w);
      for (Cut& cut : block(i).cuts)
        if (cut.variable >= 0) cut.multiplier = qp_->mass(cut.variable);
    }
  }

  int64_t with_mass() const {
    int64_t n = 0;
    for (int64_t k = 0; k < qp_->slots(); ++k) n += qp_->live(k) && qp_->mass(k) > 0;
    return n;
  }
  void drop(int64_t number) {
    Row& row = rows_[static_cast<size_t>(number)];
    numbers_ -= static_cast<int64_t>(row.index.size());
    row = {};
    qp_->drop(number);
  }
  void drop_idle() {
    for (CutBlock& each : task_.blocks)
      for (Cut& cut : each.cuts) {
        if (cut.variable < 0 || cut.multiplier > 0) continue;
        drop(cut.variable);
        cut.variable = -1;
      }
  }

  const Cutting& task_;
  std::unique_ptr<JointQP> qp_;
  std::vector<double> gaps_;    // of the blocks, at w
  std::vector<double> tol_;     // of their slopes
  std::vector<double> slopes_;  // of the variables, by number, as are the feature vectors
  std::vector<Row> rows_;
  int64_t numbers_ = 0;  // in them
  double size_ = 0;      // of the largest terms in slopes
  int64_t steps_ = 0;
};

// Optimises over all of S after every constraint: together, and block by block once that does not work.
class OptimiserOverAll {
 public:
  explicit OptimiserOverAll(const Cutting& task) : task_(task), joint_(task_), together_(JointCuts::suits(task)) {}

  double optimise(double goal, const Poll& poll, Worker& worker) {
    constexpr int64_t kRounds = 100000;
    if (together_) {
      const double left = joint_.optimise(goal, poll, worker);
      if (left <= goal) return left;
      together_ = false;
    }
    return sweep(task_, goal, kRounds, poll, worker);
  }
  void forget(const Cut& cut) {
    if (together_) joint_.forget(cut);
  }
  int64_t steps() const { return joint_.steps(); }

 private:
  const Cutting task_;
  JointCuts joint_;
  bool together_;
};

// Optimises over all of S once: block by block, and together if that takes many rounds.
inline double optimise(const Cutting& task, double goal, int64_t rounds, const Poll& poll, Worker& worker) {
  constexpr int64_t kFew = 33;  // rounds, of which the last looks at all blocks
  double left = sweep(task, goal, std::min(rounds, kFew), poll, worker);
  if (left <= goal || rounds <= kFew) return left;
  if (JointCuts::suits(task)) left = JointCuts(task).optimise(goal, poll, worker);
  return left <= goal ? left : sweep(task, goal, rounds - kFew, poll, worker);
}

}  // namespace margrave
