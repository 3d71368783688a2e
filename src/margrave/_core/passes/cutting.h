// The n-slack cutting plane of the structural SVM (003, Algorithm 1), and the cuts of the 1-slack one.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "losses/rescaling.h"
#include "passes/batch.h"
#include "passes/joint_cuts.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"

namespace margrave {

struct Gain {
  int64_t example;
  double gain;    // of D
  double excess;  // of H over the slack
};

struct CuttingPass {
  int64_t added = 0;
  double gap = 0;                    // as of the visits; with a hard margin the largest violation
  double missed = 0;                 // upper bound on what inexact inference may have missed
  int64_t searches = 0, proved = 0;  // searches for the most violated output, and those with proof
  int64_t worst = -1;                // the example with the largest violation
  double violation = 0;
  std::vector<Gain> gains;  // variant (a) only
  int64_t steps = 0;        // variant (a) only: in the optimizations over S
};

// One pass of Algorithm 1 over `order`. Variant (a) optimizes over all of S after every constraint, to `goal`; variant
// (b) only over S_i.
inline CuttingPass cutting_pass(const Cutting& task, const CuttingSettings& settings, bool variant_a, double goal,
                                const std::vector<int64_t>& order, const Poll& poll) {
  CuttingPass pass;
  Worker worker;
  OptimizerOverAll over_all(task);
  const ViolationSearch search(task.problem, task.rule);
  int64_t visits = 0;
  for (const int64_t i : order) {
    task.problem.check_example(i);
    if (task.weight(i) == 0) continue;
    CutBlock& block = task.block(i);
    worker.make_room(task.problem.parts(i));
    const double* theta = worker.theta.data();
    const Violation found = search.most_violated(i, task.w, worker);
    cutting::evaluate_cuts(task, i, theta, block, worker);
    const double xi = block.slack();
    const double top = std::max(xi, found.value);
    const double gap = task.gap(i, block, top);
    ++pass.searches;
    pass.proved += found.exact;
    if (task.rule.slack == 0) {
      pass.gap = std::max(pass.gap, gap);
    } else {
      pass.gap += gap;
      pass.missed += std::max(0.0, task.gap(i, block, std::max(found.bound, top)) - gap);
    }
    if (found.value > pass.violation) {
      pass.violation = found.value;
      pass.worst = i;
    }
    const auto same = [&](const Cut& cut) { return cut.y == found.y; };
    const bool known = std::any_of(block.cuts.begin(), block.cuts.end(), same);
    const bool add = found.value > xi + settings.epsilon && !known;
    if (add) {
      const double cost = task.rule.slack == 0 ? 1.0 : found.cost;
      block.cuts.push_back({found.y, cost, task.rule.root(cost), task.rule.factor(cost), 0.0, 0, found.value});
      ++pass.added;
    }
    if (variant_a && add) {
      // Request the features now: a problem that drops unused outputs then keeps this one.
      task.memory.around(block, [&] { cutting::complete_gram(task, i, block, worker); });
      const double before = cutting_dual(task);
      over_all.optimize(goal, poll, worker);
      pass.gains.push_back({i, cutting_dual(task) - before, found.value - xi});
    } else if (!variant_a && (add || task.gap(i, block, xi) > 0)) {
      cutting::solve(task, i, block, gap, worker);
    }
    task.memory.around(block,
                       [&] { cutting::forget(block, settings.rounds, [&](const Cut& cut) { over_all.forget(cut); }); });
    if (poll_is_due(task.problem, i, ++visits)) poll();
  }
  pass.steps = over_all.steps();
  return pass;
}

// The smallest slacks that satisfy these constraints at w, which need not be the weights of the task.
inline void known_slacks(const Cutting& task, const double* w, double* slack) {
  Worker worker;
  for (int64_t i = 0; i < task.problem.size(); ++i) {
    slack[i] = 0;
    if (task.block(i).cuts.empty()) continue;
    worker.make_room(task.problem.parts(i));
    task.problem.score(i, w, worker.theta.data());
    task.problem.gold(i, 0, worker.gold);
    const double gold_score = score_of(worker.theta.data(), worker.gold);
    for (const Cut& cut : task.block(i).cuts)
      slack[i] = std::max(slack[i], cutting::violation(cut, worker.theta.data(), gold_score));
  }
}

// Recomputes w(alpha).
inline void cutting_weights(const Cutting& task, double* w) {
  Worker worker;
  for (int64_t i = 0; i < task.problem.size(); ++i) {
    const CutBlock& block = task.block(i);
    if (block.cuts.empty()) continue;
    const int64_t n = task.problem.parts(i);
    worker.make_room(n);
    double* d = worker.direction.data();
    std::fill(d, d + n, 0.0);
    task.problem.gold(i, 0, worker.gold);
    for (const Cut& cut : block.cuts) {
      const double alpha = cut.factor * cut.multiplier;
      if (alpha == 0) continue;
      for (const int32_t part : worker.gold) d[part] += alpha;
      for (const int32_t part : cut.y) d[part] -= alpha;
    }
    task.problem.scatter(i, d, 1.0, w);
  }
}

// ---- 1-slack (Joachims, Finley and Yu 2009): one constraint for all examples together ----

struct OneCut {
  double linear = 0;              // sum_i s_i linear_i, with the sample weights s_i
  std::vector<double> direction;  // sum_i s_i factor_i A_i'(y_gold - y_i)
  std::vector<double> violation;  // H of every example
  std::vector<int64_t> begin;     // where the parts of each output begin
  std::vector<int32_t> parts;
  std::vector<double> factor;  // of every example, with its sample weight
  std::vector<double> cost;    // of every output, times gamma
  double missed = 0;
};

// The most recent outputs of each example.
class OutputCache {
 public:
  struct Entry {
    Output y;
    double cost;
  };

  OutputCache(const Problem& problem, int64_t most)
      : owner_(problem), most_(static_cast<size_t>(most)), entries_(static_cast<size_t>(problem.size())) {}

  void check(const Problem& problem) const { owner_.check(problem, "this cache of outputs"); }

  void remember(int64_t i, const Violation& found) {
    std::vector<Entry>& own = entries_[i];
    const auto same = [&](const Entry& entry) { return entry.y == found.y; };
    const auto known = std::find_if(own.begin(), own.end(), same);
    if (known != own.end()) {
      std::rotate(own.begin(), known, known + 1);
      return;
    }
    if (most_ == 0) return;
    if (own.size() == most_) own.pop_back();
    own.insert(own.begin(), {found.y, found.cost});
  }
  // Adds an output that is older than those in the cache.
  void restore(int64_t i, Entry entry) {
    std::vector<Entry>& own = entries_[i];
    if (own.size() < most_) own.push_back(std::move(entry));
  }
  const std::vector<Entry>& of(int64_t i) const { return entries_[i]; }
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }

 private:
  OfProblem owner_;
  size_t most_;
  std::vector<std::vector<Entry>> entries_;
};

// The outputs of a joint constraint, one per example.
struct JointOutputs {
  const int64_t* begin;
  const int32_t* parts;
  const double* cost;  // times gamma

  // H of the output of example i.
  double violation(int64_t i, const Rescaling& rule, const double* theta, double gold_score) const {
    double score = 0;
    for (int64_t k = begin[i]; k < begin[i + 1]; ++k) score += theta[parts[k]];
    return rule.violation(cost[i], gold_score - score);
  }
  Output output(int64_t i) const { return {parts + begin[i], parts + begin[i + 1]}; }
};

// The most violated constraint at w, by inference or, if `cached`, among the outputs in the cache, to which inference
// adds its own. `known`: outputs that inference may have missed; without them, the constraints would not tell how much
// the known outputs of all examples together require. The result does not depend on the number of threads.
inline OneCut one_cut(const Problem& problem, const Rescaling& rule, const double* w, const LossFamily& family,
                      OutputCache& cache, bool cached, const std::vector<JointOutputs>& known, int threads,
                      const Poll& poll) {
  family.check(problem);
  const auto n = static_cast<size_t>(problem.size());
  OneCut cut;
  cut.direction.assign(static_cast<size_t>(problem.dim()), 0.0);
  cut.violation.assign(n, 0.0);
  cut.factor.assign(n, 0.0);
  cut.cost.assign(n, 0.0);
  std::vector<double> linear(n, 0.0), missed(n, 0.0);
  std::vector<Output> outputs(n);
  const ViolationSearch search(problem, rule);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    const auto k = static_cast<size_t>(i);
    const double weight = family.factor(i);
    const int64_t parts = problem.parts(i);
    double* theta = worker.theta.data();
    Violation found;
    if (cached) {
      problem.score(i, w, theta);
      problem.gold(i, 0, worker.gold);
      const double gold_score = score_of(theta, worker.gold);
      found.y = worker.gold;
      for (const OutputCache::Entry& entry : cache.of(i)) {
        const double value = rule.violation(entry.cost, gold_score - score_of(theta, entry.y));
        if (value > found.value) found = {value, entry.cost, entry.y, true};
      }
    } else {
      found = search.most_violated(i, w, worker);
      const double bound = found.bound;
      const double gold_score = score_of(theta, worker.gold);
      for (const JointOutputs& joint : known) {
        const double value = joint.violation(i, rule, theta, gold_score);
        if (value > found.value) found = {value, joint.cost[i], joint.output(i), true};
      }
      if (found.value > 0) cache.remember(i, found);
      missed[k] = weight * std::max(bound - found.value, 0.0);
    }
    cut.violation[k] = found.value;
    cut.cost[k] = found.cost;
    outputs[k] = found.y;
    if (!(found.value > 0) || weight == 0) return;
    const double factor = weight * rule.factor(found.cost);
    cut.factor[k] = factor;
    linear[k] = weight * rule.root(found.cost);
    difference(worker.gold, found.y, parts, worker.direction.data());
    problem.scatter(i, worker.direction.data(), factor, sum);
  };
  sum_over_examples(problem, threads, poll, visit, cut.direction.data());
  cut.begin.push_back(0);
  for (size_t k = 0; k < n; ++k) {
    cut.linear += linear[k];
    cut.missed += missed[k];
    cut.parts.insert(cut.parts.end(), outputs[k].begin(), outputs[k].end());
    cut.begin.push_back(static_cast<int64_t>(cut.parts.size()));
  }
  return cut;
}

// The smallest slacks that satisfy these joint constraints at w, example by example.
inline void known_slacks(const Problem& problem, const Rescaling& rule, const std::vector<JointOutputs>& known,
                         const double* w, int threads, const Poll& poll, double* slack) {
  const auto visit = [&](int64_t i, Worker& worker, double*) {
    const double* theta = worker.theta.data();
    problem.score(i, w, worker.theta.data());
    problem.gold(i, 0, worker.gold);
    const double gold_score = score_of(theta, worker.gold);
    slack[i] = 0;
    for (const JointOutputs& outputs : known)
      slack[i] = std::max(slack[i], outputs.violation(i, rule, theta, gold_score));
  };
  sum_over_examples(problem, threads, poll, visit, nullptr);
}

// xi_i of all examples at w. `bound`: upper bounds on them if inference is not exact.
inline void svm_slacks(const Problem& problem, const Rescaling& rule, const double* w, int threads, const Poll& poll,
                       double* slack, double* bound) {
  const ViolationSearch search(problem, rule);
  const auto visit = [&](int64_t i, Worker& worker, double*) {
    const Violation found = search.most_violated(i, w, worker);
    slack[i] = found.value;
    bound[i] = found.bound;
  };
  sum_over_examples(problem, threads, poll, visit, nullptr);
}

}  // namespace margrave
