// Dual coordinate ascent as an online learner (001, Alg. 1 and 2): at (inf, 1) this is 1-best MIRA.
//
// Every visit adds a new dual variable and leaves those of earlier visits unchanged. So this ascends the dual of the
// problem only in its first pass, unless C bounds the sum of all steps on an example.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "passes/dual.h"
#include "passes/exact_mira.h"
#include "protocol/checks.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

enum class MiraUpdate {
  kClosedForm,  // Alg. 2: min(C, L / |grad L|^2) against the gradient
  kExact,       // solves Eq. 11
  kPrediction,  // footnote 11: against the prediction under the current model, at beta = inf
};

// One pass. The average of the models before each of the steps 1 .. T is w - sum / T, with sum = sum_t t u_t over the
// updates u_t: Ascent::sum.
struct MiraPass {
  int64_t before;            // steps of earlier passes
  double* spent;             // the sum of all steps on each example, bounded by C; null if C bounds each step
  std::vector<double> dual;  // by visit: its contribution to sum_i C (gamma c_i + H_i / beta)
  std::atomic<int64_t> inferences{0};
  std::atomic<int64_t> unsolved{0};  // exact updates that ended above mira::kSolved
  std::atomic<int64_t> negative{0};  // visits without a step because approximate inference gave a negative loss

  int64_t step(int64_t k) const { return before + k + 1; }

  // The longest allowed step of example i.
  double longest(const Ascent& ascent, int64_t i) const {
    return spent ? std::max(0.0, ascent.weight(i) - spent[i]) : ascent.weight(i);
  }
};

namespace mira {

// |grad L|^2 without a trial.
inline double square_of_gradient(const Problem& problem, int64_t i, const Worker& worker) {
  if (!worker.answer.has_mixture) return square_of(problem, i, worker.direction.data());
  std::vector<double> zeros(static_cast<size_t>(problem.dim()));
  return 2 * move_gradient(problem, i, worker, 1.0, zeros.data());
}

// The prediction of the current model, as mu - y_gold, with its cost and <theta, y - y_gold> + gamma cost.
inline LossValue prediction(const Problem& problem, int64_t i, const LossFamily& family, const double* w, double* theta,
                            double* direction, Worker& worker) {
  const int64_t n = problem.parts(i);
  Scratch::Frame frame(worker.scratch);
  problem.infer(i, w, {}, theta, nullptr, worker.answer, worker.scratch);
  problem.gold(i, 0, worker.gold);
  family::count_parts(worker.answer.y, n, direction);
  LossValue value{worker.answer.value, 0, 0};
  value.cost = family::cost_without_margin(problem, i, family, direction, 0.0, worker);
  for (const int32_t part : worker.gold) {
    value.loss -= theta[part];
    direction[part] -= 1;
  }
  value.loss += family.gamma * value.cost;
  return value;
}

}  // namespace mira

// Alg. 2.
inline void mira_visit(const Ascent& ascent, MiraPass& pass, MiraUpdate kind, int64_t i, int64_t k,
                       AscentWorker& worker) {
  const Problem& problem = ascent.problem;
  const LossFamily& family = ascent.family;
  const int64_t n = problem.parts(i);
  const double C = pass.longest(ascent, i);
  if (C == 0) return;
  const int64_t t = pass.step(k);
  ++pass.inferences;
  double* theta = worker.theta.data();
  double* direction = worker.direction.data();
  const LossValue own = kind == MiraUpdate::kPrediction
                            ? mira::prediction(problem, i, family, ascent.w, theta, direction, worker)
                            : evaluate(problem, i, family, ascent.w, theta, direction, worker, true);
  double eta = 0;
  if (own.loss < 0 && !problem.traits().exact) ++pass.negative;
  // If the prediction is the gold output, its loss is only rounding error. A step would use up the sum of all steps.
  const bool moves =
      worker.answer.has_mixture || std::any_of(direction, direction + n, [](double x) { return x != 0; });
  if (own.loss > 0 && moves) {
    const double slope = slope_of_gradient(n, worker);
    const auto best = [&](double square) { return own.loss < C * square ? own.loss / square : C; };
    // |grad L|^2, from a trial step unless that would be much longer than all steps of the pass.
    const double trial = may_try(C, worker.longest) ? C : 0.0;
    const double change = trial > 0 ? move_gradient(problem, i, worker, -trial, ascent.w) : 0.0;
    const double square = trial > 0 ? std::max(0.0, 2 * (change + trial * slope) / (trial * trial))
                                    : mira::square_of_gradient(problem, i, worker);
    eta = best(square);
    if (eta != trial) move_gradient(problem, i, worker, trial - eta, ascent.w);
    if (square > 0) worker.longest = std::max(worker.longest, eta);
  }
  if (eta > 0) scatter_gradient(problem, i, worker, -eta * static_cast<double>(t), ascent.sum);
  if (pass.spent) pass.spent[i] = eta < C ? pass.spent[i] + eta : ascent.weight(i);
  const double smooth = family.beta < kInfinity ? own.entropy / family.beta : 0.0;
  const double cost = family.gamma > 0 ? family.gamma * own.cost : 0.0;
  pass.dual[k] = eta * (cost + smooth);
}

// Solves Eq. 11.
inline void mira_visit_exact(const Ascent& ascent, MiraPass& pass, int64_t i, int64_t k, Worker& worker) {
  std::vector<double> s(static_cast<size_t>(ascent.problem.parts(i)));
  const ExactStep step = ascent.family.beta < kInfinity
                             ? ExactSmooth(ascent, i, worker, pass.inferences).solve(s.data())
                             : ExactHinge(ascent, i, worker).solve(s.data(), pass.inferences);
  if (!step.solved) ++pass.unsolved;
  ascent.problem.scatter(i, s.data(), static_cast<double>(pass.step(k)), ascent.sum);
  pass.dual[k] = step.value;
}

inline void mira_pass(const Ascent& ascent, MiraPass& pass, MiraUpdate kind, const std::vector<int64_t>& order,
                      int threads, const Poll& poll) {
  ascent.family.check(ascent.problem);
  if (kind == MiraUpdate::kExact && ascent.family.beta < kInfinity) check_cost_of_parts(ascent.problem, ascent.family);
  if (kind == MiraUpdate::kPrediction && ascent.family.beta < kInfinity)
    throw InputError("updates against the prediction need beta = inf.");
  if (kind == MiraUpdate::kExact && pass.spent) throw InputError("C bounds each exact update, not their sum.");
  pass.dual.assign(order.size(), 0.0);
  for_visits(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t k, AscentWorker& worker) {
    if (kind == MiraUpdate::kExact)
      mira_visit_exact(own, pass, i, k, worker);
    else
      mira_visit(own, pass, kind, i, k, worker);
  });
}

}  // namespace margrave
