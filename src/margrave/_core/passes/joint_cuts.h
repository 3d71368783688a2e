// Optimization over all constraints together (003, Algorithm 1, step 10, variant (a)).
//
// The variables of one quadratic program (solvers/joint_qp.h) are the constraints that have a multiplier or are
// violated beyond their slack. It is solved exactly, w is updated, and all constraints are evaluated at the new w.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "passes/cut_blocks.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "solvers/joint_qp.h"

namespace margrave {

// Sparse vectors by number, indexed by feature. An inner product then costs only the entries that two vectors share.
class InvertedRows {
 public:
  explicit InvertedRows(int64_t dim) : list_(static_cast<size_t>(dim), -1) {}

  int64_t entries() const { return entries_; }

  void add(int64_t number, Row row) {
    for (size_t k = 0; k < row.index.size(); ++k) {
      int32_t& list = list_[row.index[k]];
      if (list < 0) {
        list = static_cast<int32_t>(lists_.size());
        lists_.emplace_back();
      }
      lists_[list].push_back({number, row.value[k]});
    }
    entries_ += static_cast<int64_t>(row.index.size());
    if (static_cast<size_t>(number) >= rows_.size()) rows_.resize(static_cast<size_t>(number) + 1);
    rows_[number] = std::move(row);
  }

  void remove(int64_t number) {
    Row& row = rows_[number];
    const auto of_it = [&](const Entry& entry) { return entry.number == number; };
    for (const int64_t index : row.index) std::erase_if(lists_[place(index)], of_it);
    entries_ -= static_cast<int64_t>(row.index.size());
    row = {};
  }

  // products[l] += the inner product of vectors k and l
  void multiply(int64_t k, double* products) const {
    const Row& row = rows_[k];
    for (size_t n = 0; n < row.index.size(); ++n)
      for (const Entry& entry : lists_[place(row.index[n])]) products[entry.number] += row.value[n] * entry.value;
  }

 private:
  struct Entry {
    int64_t number;
    double value;
  };
  size_t place(int64_t index) const { return static_cast<size_t>(list_[index]); }

  std::vector<int32_t> list_;  // by feature; -1 if no vector has had it
  std::vector<std::vector<Entry>> lists_;
  std::vector<Row> rows_;
  int64_t entries_ = 0;
};

// The quadratic program over all constraints, during a pass.
class JointCuts {
 public:
  static constexpr int64_t kMost = 3000;           // variables: their Gram matrix and its factor are stored
  static constexpr int64_t kEntries = 20'000'000;  // of their feature vectors

  explicit JointCuts(const Cutting& task) : task_(task), tol_(task.blocks.size()) {
    for (CutBlock& block : task.blocks)
      for (Cut& cut : block.cuts) cut.variable = -1;
  }

  // Whether there are few enough constraints with a multiplier.
  static bool suits(const Cutting& task) {
    int64_t n = 0;
    for (const CutBlock& block : task.blocks)
      for (const Cut& cut : block.cuts) n += cut.multiplier > 0;
    return n <= kMost;
  }

  // Optimizes at least once, until the gaps sum to at most `goal` (with a hard margin: until none exceeds it). Returns
  // the remaining gap. It is larger if precision or memory is exhausted.
  double optimize(double goal, const Poll& poll, Worker& worker) {
    if (!prepare(poll, worker)) return kInfinity;
    const double enough = task_.rule.slack == 0 ? 0.5 * goal : 0.5 * goal / static_cast<double>(blocks());
    double share = 1, left = kInfinity;
    while (left > goal) {
      const bool more = enlist(enough, worker);
      if (qp_->size() > kMost || rows_->entries() > kEntries) return left;
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
  static constexpr double kLeastShare = 1e-4;  // smallest share of the goal to which slopes are reduced
  static constexpr int64_t kIdle = 50;         // variables without mass that are always allowed

  size_t blocks() const { return task_.blocks.size(); }
  CutBlock& block(size_t i) const { return task_.blocks[i]; }
  bool visited(size_t i) const { return !block(i).cuts.empty() && task_.weight(static_cast<int64_t>(i)) > 0; }

  // On the first call, constraints with multipliers become variables.
  bool prepare(const Poll& poll, Worker& worker) {
    if (qp_) return true;
    std::vector<double> q, cap;
    for (size_t i = 0; i < blocks(); ++i) {
      q.push_back(task_.weight(static_cast<int64_t>(i)) > 0 ? task_.q(static_cast<int64_t>(i)) : 0.0);
      cap.push_back(task_.cap(static_cast<int64_t>(i)));
    }
    qp_ = std::make_unique<JointQP>(q, cap, poll);
    rows_ = std::make_unique<InvertedRows>(task_.problem.traits().euclidean ? task_.problem.dim() : 0);
    price(worker);
    for (size_t i = 0; i < blocks(); ++i)
      if (visited(i))
        for (Cut& cut : block(i).cuts) {
          if (cut.multiplier > 0) add(i, cut, worker);
          if (qp_->size() > kMost || rows_->entries() > kEntries) return false;
        }
    return qp_->factorize(slopes_, cutting::kRounding * size_);
  }

  // Evaluates all constraints at w; returns the gap.
  double price(Worker& worker) {
    double sum = 0, largest = 0;
    size_ = 0;
    for (size_t i = 0; i < blocks(); ++i) {
      if (!visited(i)) continue;
      const auto example = static_cast<int64_t>(i);
      worker.make_room(task_.problem.parts(example));
      task_.problem.score(example, task_.w, worker.theta.data());
      cutting::evaluate_cuts(task_, example, worker.theta.data(), block(i), worker);
      const double gap = task_.gap(example, block(i), block(i).slack());
      sum += gap;
      largest = std::max(largest, gap);
      for (const Cut& cut : block(i).cuts) {
        size_ = std::max({size_, cut.linear, std::fabs(cut.value)});
        if (cut.variable >= 0) slopes_[cut.variable] = slope(i, cut);
      }
    }
    return task_.rule.slack == 0 ? largest : sum;
  }
  double slope(size_t i, const Cut& cut) const {
    return cut.value - task_.q(static_cast<int64_t>(i)) * block(i).mass();
  }

  // The most violated constraint of every block with a gap becomes a variable. Returns whether there is a new one.
  bool enlist(double enough, Worker& worker) {
    bool any = false;
    for (size_t i = 0; i < blocks(); ++i) {
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
    cut.variable = qp_->add(example, cut.multiplier);
    slopes_.resize(static_cast<size_t>(qp_->slots()));
    slopes_[cut.variable] = slope(i, cut);
    const int64_t parts = task_.problem.parts(example);
    worker.make_room(parts);
    double* counts = worker.direction.data();
    task_.problem.gold(example, 0, worker.gold);
    difference(worker.gold, cut.y, parts, counts);
    for (int64_t k = 0; k < parts; ++k) counts[k] *= cut.factor;
    products_.assign(static_cast<size_t>(qp_->slots()), 0.0);
    if (task_.problem.traits().euclidean) {
      Row row;
      task_.problem.row(example, counts, row);
      rows_->add(cut.variable, std::move(row));
      rows_->multiply(cut.variable, products_.data());
    } else {
      score_all(example, counts, worker);
    }
    qp_->set_products(cut.variable, products_.data());
  }

  // The inner products of all variables with A_i' counts if weights are not Euclidean, computed as scores.
  void score_all(int64_t of, const double* counts, Worker& worker) {
    std::vector<double> v(static_cast<size_t>(task_.problem.dim()));
    task_.problem.scatter(of, counts, 1.0, v.data());
    for (size_t i = 0; i < blocks(); ++i) {
      const auto example = static_cast<int64_t>(i);
      if (qp_->members(example).empty()) continue;
      worker.make_room(task_.problem.parts(example));
      task_.problem.score(example, v.data(), worker.theta.data());
      task_.problem.gold(example, 0, worker.gold);
      const double of_gold = score_of(worker.theta.data(), worker.gold);
      for (const Cut& cut : block(i).cuts)
        if (cut.variable >= 0) products_[cut.variable] = cut.factor * (of_gold - score_of(worker.theta.data(), cut.y));
    }
  }

  // Solves the program until no block's gap among the variables exceeds `gap`.
  JointQP::Outcome solve(double gap) {
    for (size_t i = 0; i < blocks(); ++i)
      if (visited(i)) tol_[i] = task_.slopes(static_cast<int64_t>(i), block(i), gap);
    const JointQP::Outcome outcome = qp_->solve(slopes_, tol_, cutting::kRounding * size_);
    steps_ += outcome.steps;
    return outcome;
  }

  // Updates the multipliers and w.
  void commit(Worker& worker) {
    for (size_t i = 0; i < blocks(); ++i) {
      const auto example = static_cast<int64_t>(i);
      if (qp_->members(example).empty()) continue;
      worker.make_room(task_.problem.parts(example));
      task_.problem.gold(example, 0, worker.gold);
      const auto next = [&](size_t a) {
        const Cut& cut = block(i).cuts[a];
        return cut.variable >= 0 ? qp_->mass(cut.variable) : cut.multiplier;
      };
      cutting::set_multipliers(task_, example, block(i), next, worker);
    }
  }

  int64_t with_mass() const {
    int64_t n = 0;
    for (int64_t k = 0; k < qp_->slots(); ++k) n += qp_->live(k) && qp_->mass(k) > 0;
    return n;
  }
  void drop(int64_t number) {
    if (task_.problem.traits().euclidean) rows_->remove(number);
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
  std::unique_ptr<JointQP> qp_;  // created on demand
  std::unique_ptr<InvertedRows> rows_;
  std::vector<double> tol_;       // tolerance of the slopes in each block
  std::vector<double> slopes_;    // of the variables, by number
  std::vector<double> products_;  // of the last variable with all others
  double size_ = 0;               // size of the largest terms in slopes
  int64_t steps_ = 0;
};

// Optimizes over all of S after every constraint: jointly, or block by block once that fails.
class OptimizerOverAll {
 public:
  explicit OptimizerOverAll(const Cutting& task) : task_(task), joint_(task), together_(JointCuts::suits(task)) {}

  void optimize(double goal, const Poll& poll, Worker& worker) {
    constexpr int64_t kRounds = 100000;
    together_ = together_ && joint_.optimize(goal, poll, worker) <= goal;
    if (!together_) visits_ += sweep(task_, goal, kRounds, poll, worker).visits;
  }
  void forget(const Cut& cut) {
    if (together_) joint_.forget(cut);
  }
  int64_t steps() const { return joint_.steps() + visits_; }  // a visit is a step of one block

 private:
  const Cutting& task_;
  JointCuts joint_;
  bool together_;
  int64_t visits_ = 0;
};

// Optimizes over all of S once: block by block, or jointly if that takes many rounds.
inline double optimize(const Cutting& task, double goal, int64_t rounds, const Poll& poll, Worker& worker) {
  constexpr int64_t kFew = 33;  // rounds; the last one visits all blocks
  double left = sweep(task, goal, std::min(rounds, kFew), poll, worker).left;
  if (left <= goal || rounds <= kFew) return left;
  if (JointCuts::suits(task)) left = JointCuts(task).optimize(goal, poll, worker);
  return left <= goal ? left : sweep(task, goal, rounds - kFew, poll, worker).left;
}

}  // namespace margrave
