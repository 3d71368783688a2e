// The constraints of the structural SVM and the search for the most violated one (003, sections 2.2 and 3.2).
//
// Let m(y) = <theta, y_gold - y>, and let r(y) be the cost, its square root (quadratic slack) or 1 (hard margin). The
// constraint of output y is H(y) <= xi_i, where
//
//   H(y) = r(y) - m(y)   with margin re-scaling,      H(y) = r(y) (1 - m(y))   with slack re-scaling.
//
// Both are H(y) = linear - factor m(y): (r, 1) and (r, r).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "losses/cost_counts.h"
#include "losses/family.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

enum class CostKind { kParts, kZeroOne, kF1, kFunction };

using CostFunction = std::function<double(int64_t i, const Output& y)>;

struct Rescaling {
  bool of_slack;  // slack re-scaling; else margin re-scaling
  int slack;      // 0: hard margin; 1: linear; 2: quadratic
  CostKind cost;
  CostFunction function = nullptr;  // kFunction only
  double gamma = 1;                 // factor of the costs in the loss

  bool zero_one() const { return slack == 0 || cost == CostKind::kZeroOne; }
  double root(double cost_of_y) const { return slack == 2 ? std::sqrt(cost_of_y) : cost_of_y; }
  double factor(double cost_of_y) const { return of_slack ? root(cost_of_y) : 1.0; }
  double violation(double cost_of_y, double m) const { return root(cost_of_y) - factor(cost_of_y) * m; }
};

// The output with the most violated constraint; the gold one, with H = 0, if no constraint is violated.
struct Violation {
  double value = 0;  // H
  double cost = 0;   // times gamma
  Output y;
  bool found = false;  // y violates its constraint, and is not the gold output
  bool exact = true;
  double bound = 0;  // upper bound on all H; equals value if exact
};

namespace rescaling {

// Keeps the output if it violates more than the best so far. `gold` itself never does, even after rounding.
inline void offer(const Rescaling& rule, double plain, double m, const Output& y, const Output& gold, Violation& best) {
  const double cost = rule.gamma * plain;
  const double value = rule.violation(cost, m);
  if (value > best.value && !same_parts(y, gold)) {
    best.value = value;
    best.cost = cost;
    best.y = y;
    best.found = true;
  }
}

// Every output is one part. Good ones cost nothing, and a hard margin does not constrain them.
inline void among_parts(const Problem& problem, int64_t i, const Rescaling& rule, const double* theta,
                        double gold_score, Worker& worker, Violation& best) {
  const int64_t n = problem.parts(i);
  double* delta = worker.scratch.take(n);
  double* allowed = worker.scratch.take(n);
  const double c0 = LossFamily{kInfinity, 1.0, rule.zero_one()}.cost(problem, i, delta);
  std::copy(theta, theta + n, allowed);
  problem.forbid(i, allowed);
  for (int32_t part = 0; part < n; ++part) {
    if (allowed[part] == -kInfinity || (rule.slack == 0 && delta[part] == 0)) continue;
    offer(rule, c0 + delta[part], gold_score - theta[part], {part}, worker.gold, best);
  }
}

// The k best outputs by their scores alone, at the weights w.
inline std::vector<ScoredOutput>& k_best(const Problem& problem, int64_t i, const double* w, int64_t k,
                                         Worker& worker) {
  Question question;
  question.kind = Question::Kind::kKbest;
  question.k = k;
  problem.infer(i, w, question, worker.theta.data(), nullptr, worker.answer, worker.scratch);
  return worker.answer.ys;
}

// The best output other than the gold one.
inline void second_best(const Problem& problem, int64_t i, const Rescaling& rule, const double* w, Worker& worker,
                        Violation& best) {
  const std::vector<ScoredOutput>& outputs = k_best(problem, i, w, 2, worker);
  const double gold_score = score_of(worker.theta.data(), worker.gold);
  for (const ScoredOutput& other : outputs) offer(rule, 1.0, gold_score - other.value, other.y, worker.gold, best);
}

// Cost-augmented argmax: margin re-scaling, linear slack.
inline void by_argmax(const Problem& problem, int64_t i, const Rescaling& rule, const double* w, Worker& worker,
                      Violation& best) {
  Question question;
  question.gamma = rule.gamma;
  const Answer& answer = worker.answer;
  problem.infer(i, w, question, worker.theta.data(), nullptr, worker.answer, worker.scratch);
  const double* theta = worker.theta.data();
  const double top = answer.value + rule.gamma * answer.c0;
  const double of_y = score_of(theta, answer.y);
  offer(rule, (top - of_y) / rule.gamma, score_of(theta, worker.gold) - of_y, answer.y, worker.gold, best);
}

// For a problem that offers this search itself.
inline void by_problem(const Problem& problem, int64_t i, const Rescaling& rule, const double* w, Worker& worker,
                       Violation& best) {
  Question question;
  question.kind = Question::Kind::kMostViolated;
  question.gamma = rule.gamma;
  question.of_slack = rule.of_slack;
  question.slack = rule.slack;
  const Answer& answer = worker.answer;
  problem.infer(i, w, question, worker.theta.data(), nullptr, worker.answer, worker.scratch);
  const double* theta = worker.theta.data();
  const double cost = answer.c0 + score_of(answer.delta, answer.y);
  offer(rule, cost, score_of(theta, worker.gold) - score_of(theta, answer.y), answer.y, worker.gold, best);
}

inline constexpr double kRounding = 1e-9;  // relative error of sums of scores

// Outputs with lower scores violate no constraint. With slack re-scaling, H > 0 implies m < 1.
inline double least_violating(const Rescaling& rule, double gold_score) {
  return rule.of_slack ? gold_score - 1 - kRounding * (1 + std::fabs(gold_score)) : -kInfinity;
}

// Stratified by cost: the best output at each value of it (003, section 3.2: "a generic strategy is a two stage
// approach"). F1 = 2 tp / (gold items + items) is the same for all outputs with equally many correct and wrong items.
// The two counts are digits of one number (Joachims 2005). Items are parts, or the items of Counted::counts.
//
// Outputs with low scores are not searched for. With slack re-scaling, H > 0 implies m < 1. The F1 cost is at most 1,
// so r <= r_1, that of a cost of 1, and H <= r_1 - m with margin re-scaling, H <= r_1 (1 - m) with slack re-scaling.
// Then only outputs with m < r_1 - H(y*), or m < 1 - H(y*) / r_1, can violate more than the best output y* by score. H
// rises with the F1 cost, which rises with wrong items and falls with correct ones. So an output is not
// needed if another one scores as much, with no more correct items and no fewer wrong ones.
inline void by_cost(const Problem& problem, const Offered<Counted>& counted, int64_t i, const Rescaling& rule,
                    const double* theta, double gold_score, Worker& worker, Violation& best) {
  const int64_t n = problem.parts(i);
  double* code = worker.scratch.take(n);
  double c0 = 0;
  int64_t of_gold = 0;  // items of the gold output
  bool of_parts = false;
  if (rule.cost == CostKind::kF1) {
    double* predicted = worker.scratch.take(n);
    of_parts = !counted;
    if (of_parts) {
      of_gold = static_cast<int64_t>(worker.gold.size());
      std::fill(code, code + n, static_cast<double>(of_gold + 1));
      for (const int32_t part : worker.gold) code[part] = 1;
    } else {
      counted.of->counts(counted.first + i, code, predicted, of_gold);
      for (int64_t k = 0; k < n; ++k) code[k] += static_cast<double>(of_gold + 1) * (predicted[k] - code[k]);
    }
  } else {
    c0 = problem.cost(i, code);
  }
  const auto offer_coded = [&](int64_t coded, double value, Output& y) {
    double cost = c0 + static_cast<double>(coded);
    if (rule.cost == CostKind::kF1) {
      std::sort(y.begin(), y.end());
      if (of_parts && std::adjacent_find(y.begin(), y.end()) != y.end())
        throw InputError("the F1 cost counts parts that occur once in an output: use tied=False on a chain.");
      const int64_t right = coded % (of_gold + 1);
      const int64_t wrong = coded / (of_gold + 1);
      const int64_t both = of_gold + right + wrong;
      cost = both > 0 ? 1 - 2.0 * static_cast<double>(right) / static_cast<double>(both) : 0.0;
    }
    offer(rule, cost, gold_score - value, y, worker.gold, best);
  };
  double least = least_violating(rule, gold_score);
  if (rule.cost == CostKind::kF1) {
    Output& y = worker.answer.y;
    const double value = problem.argmax(i, theta, y, worker.scratch);
    offer_coded(static_cast<int64_t>(score_of(code, y)), value, y);
    const double top = rule.root(rule.gamma);
    least = gold_score - (rule.of_slack ? 1 : top) + best.value / (rule.of_slack ? top : 1) -
            kRounding * (1 + std::fabs(gold_score));
  }
  std::vector<CostedOutput> outputs;
  const Needless needless{least, rule.cost == CostKind::kF1 ? of_gold + 1 : 0};
  problem.argmax_by_cost(i, theta, code, needless, outputs, worker.scratch);
  for (CostedOutput& found : outputs) offer_coded(found.cost, found.value, found.y);
}

// Searches for the multiplier lambda of the cost whose augmented argmax violates most. H is quasi-concave along the
// upper hull of (cost, score), so bisection finds the best output on it. Outputs below the hull are missed, but
// bounded: with T = max_y (lambda cost - m) and a = 1 - m,
//
//   cost a        <= (1 + T)^2 / (4 lambda)                   slack re-scaling
//   sqrt(cost) a  <= 2/3 (1 + T) sqrt((1 + T) / (3 lambda))   slack re-scaling, quadratic slack
//   sqrt(cost) - m <= T + 1 / (4 lambda)                      margin re-scaling, quadratic slack
inline void by_multiplier(const Problem& problem, int64_t i, const Rescaling& rule, const double* theta,
                          double gold_score, Worker& worker, Violation& best) {
  constexpr int kSearches = 40;
  constexpr double kProved = 1e-9;  // precision of the bisection
  const int64_t n = problem.parts(i);
  double* delta = worker.scratch.take(n);
  double* v = worker.scratch.take(n);
  const double c0 = rule.gamma * problem.cost(i, delta);
  for (int64_t p = 0; p < n; ++p) delta[p] *= rule.gamma;
  best.bound = kInfinity;
  double low = 0, high = kInfinity, lambda = 1;
  for (int k = 0; k < kSearches && (high == kInfinity || high - low > 1e-9 * high); ++k) {
    for (int64_t p = 0; p < n; ++p) v[p] = theta[p] + lambda * delta[p];
    const double top = problem.argmax(i, v, worker.answer.y, worker.scratch) + lambda * c0 - gold_score;
    double cost = c0;
    for (const int32_t part : worker.answer.y) cost += delta[part];
    const double m = gold_score - score_of(theta, worker.answer.y);
    offer(rule, cost / rule.gamma, m, worker.answer.y, worker.gold, best);
    const double T = std::max(top, 0.0);
    double bound = T + 1 / (4 * lambda);
    if (rule.of_slack)
      bound = rule.slack == 2 ? (1 + T) * 2 / 3 * std::sqrt((1 + T) / (3 * lambda)) : (1 + T) * (1 + T) / (4 * lambda);
    best.bound = std::min(best.bound, bound);
    double wanted = kInfinity;  // the multiplier at which this output would be the best on the hull
    if (cost > 0) {
      wanted = 1 / (2 * std::sqrt(cost));
      if (rule.of_slack) wanted = std::max(1 - m, 0.0) / (rule.slack == 2 ? 2 * cost : cost);
    }
    if (wanted > lambda)
      low = lambda;
    else
      high = lambda;
    lambda = high == kInfinity ? 2 * lambda : 0.5 * (low + high);
    if (lambda > 1e12 || lambda < 1e-12) break;
  }
  best.bound = std::max(best.bound, best.value);
  // The bounds are equalities if the best multiplier of an output makes it the argmax. It is then proved to be optimal.
  best.exact = best.found && best.bound <= best.value * (1 + kProved);
}

// Any cost function: searches the k best outputs, which are all of them if there are no more.
inline void among_best(const Problem& problem, int64_t i, const Rescaling& rule, const double* w, Worker& worker,
                       Violation& best) {
  constexpr int64_t kBest = 100;
  std::vector<ScoredOutput>& outputs = k_best(problem, i, w, kBest, worker);
  const double gold_score = score_of(worker.theta.data(), worker.gold);
  for (ScoredOutput& output : outputs) {
    std::sort(output.y.begin(), output.y.end());
    if (!same_parts(output.y, worker.gold))
      offer(rule, rule.function(i, output.y), gold_score - output.value, output.y, worker.gold, best);
  }
  best.exact = static_cast<int64_t>(outputs.size()) < kBest;
  best.bound = best.exact ? best.value : kInfinity;
}

inline bool whole(const double* delta, int64_t n, double c0) {
  for (int64_t k = 0; k < n; ++k)
    if (!(std::fabs(delta[k]) <= 1e6) || delta[k] != std::floor(delta[k])) return false;
  return c0 == std::floor(c0);
}

// Searches by multiplier. If that proves nothing, also among the best outputs at each cost, where costs can be counted.
inline void by_multiplier_or_cost(const Problem& problem, int64_t i, const Rescaling& rule, const double* theta,
                                  double gold_score, Worker& worker, Violation& best) {
  by_multiplier(problem, i, rule, theta, gold_score, worker, best);
  if (best.exact || !(problem.traits().offers & kArgmaxByCost)) return;
  const int64_t n = problem.parts(i);
  double* delta = worker.scratch.take(n);
  double* code = worker.scratch.take(n);
  const double c0 = problem.cost(i, delta);
  if (!count_costs(problem, i, delta, code, worker)) return;
  std::vector<CostedOutput> outputs;
  problem.argmax_by_cost(i, theta, code, Needless{least_violating(rule, gold_score)}, outputs, worker.scratch);
  for (const CostedOutput& found : outputs)
    offer(rule, c0 + score_of(delta, found.y), gold_score - found.value, found.y, worker.gold, best);
  best.exact = true;
}

}  // namespace rescaling

// The search for the most violated constraint, in a pass over the examples of a problem.
class ViolationSearch {
 public:
  ViolationSearch(const Problem& problem, const Rescaling& rule) : problem_(problem), rule_(rule) {}

  // argmax_y H(y) at the weights w; leaves theta = A_i w and the gold output in the worker.
  Violation most_violated(int64_t i, const double* w, Worker& worker) const;

 private:
  const Problem& problem_;
  const Rescaling& rule_;
  const Traits traits_ = problem_.traits();
  const Offered<Counted> counted_ = problem_.interfaces().counted;
};

inline Violation ViolationSearch::most_violated(int64_t i, const double* w, Worker& worker) const {
  const Problem& problem = problem_;
  const Rescaling& rule = rule_;
  Scratch::Frame frame(worker.scratch);
  const int64_t n = problem.parts(i);
  problem.gold(i, 0, worker.gold);
  double* theta = worker.theta.data();
  const auto scored = [&] {  // sets theta; returns the score of the gold output
    problem.score(i, w, theta);
    return score_of(theta, worker.gold);
  };
  Violation best;
  if (rule.cost == CostKind::kFunction && rule.slack != 0) {
    rescaling::among_best(problem, i, rule, w, worker, best);
  } else if (traits_.zero_one_is_of_parts && rule.cost != CostKind::kF1) {
    rescaling::among_parts(problem, i, rule, theta, scored(), worker, best);
  } else if (rule.zero_one()) {
    rescaling::second_best(problem, i, rule, w, worker, best);
  } else if (rule.cost == CostKind::kF1) {
    rescaling::by_cost(problem, counted_, i, rule, theta, scored(), worker, best);
  } else if (traits_.offers & kMostViolated) {
    rescaling::by_problem(problem, i, rule, w, worker, best);
  } else if (!rule.of_slack && rule.slack == 1) {
    rescaling::by_argmax(problem, i, rule, w, worker, best);
  } else {
    double* delta = worker.scratch.take(n);
    const double c0 = problem.cost(i, delta);
    if ((traits_.offers & kArgmaxByCost) && rescaling::whole(delta, n, c0))
      rescaling::by_cost(problem, counted_, i, rule, theta, scored(), worker, best);
    else
      rescaling::by_multiplier_or_cost(problem, i, rule, theta, scored(), worker, best);
  }
  if (!best.found) best.y = worker.gold;
  std::sort(best.y.begin(), best.y.end());
  if (best.exact) best.bound = best.value;
  return best;
}

}  // namespace margrave
