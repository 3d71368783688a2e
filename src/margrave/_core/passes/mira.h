// Dual coordinate ascent as an online learner (001, Alg. 1 and 2): at (inf, 1) this is 1-best MIRA.
//
// Every visit adds a new dual variable and leaves those of earlier visits alone, so that this ascends the dual of the
// problem only in its first pass.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "passes/gibbs.h"
#include "passes/mixing.h"

namespace margrave {

enum class MiraUpdate {
  kClosedForm,  // Alg. 2: min(C, L / |grad L|^2) against the gradient
  kExact,       // Eq. 11 to the end
  kPrediction,  // footnote 11: against the prediction under the current model, at beta = inf
};

// One pass. The average of the models before each of the steps 1 .. T is w - sum / T, with sum = sum_t t u_t over the
// updates u_t: Ascent::sum.
struct MiraPass {
  int64_t before;            // steps of earlier passes
  std::vector<double> dual;  // what each visit has gathered of sum_i C (gamma c_i + H_i / beta)
  std::atomic<int64_t> inferences{0};

  int64_t step(int64_t k) const { return before + k + 1; }
};

namespace mira {

inline constexpr double kExactly = 1e-11;  // relative gap at which the exact update ends

// Ends it also where the gap has not halved for many rounds: what is left is rounding.
class Patience {
 public:
  bool with(double gap) {
    since_ = gap < 0.5 * lowest_ ? 0 : since_ + 1;
    lowest_ = std::min(lowest_, gap);
    return since_ <= kRounds;
  }

 private:
  static constexpr int kRounds = 50;
  double lowest_ = kInfinity;
  int since_ = 0;
};

// The output that the current model predicts, as mu - y_gold, with its cost and <theta, y - y_gold> + gamma cost.
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
inline void mira_visit(const Ascent& ascent, MiraPass& pass, MiraUpdate kind, int64_t i, int64_t k, Worker& worker) {
  const Problem& problem = ascent.problem;
  const LossFamily& family = ascent.family;
  const int64_t n = problem.parts(i);
  const double C = ascent.weight(i);
  const int64_t t = pass.step(k);
  ++pass.inferences;
  double* theta = worker.theta.data();
  double* direction = worker.direction.data();
  const LossValue own = kind == MiraUpdate::kPrediction
                            ? mira::prediction(problem, i, family, ascent.w, theta, direction, worker)
                            : evaluate(problem, i, family, ascent.w, theta, direction, worker, true);
  const double slope = slope_of_gradient(n, worker);
  // |grad L|^2 from a trial step of length C
  const double change = move_gradient(problem, i, worker, -C, ascent.w);
  const double square = std::max(0.0, 2 * (change + C * slope) / (C * C));
  const double eta = own.loss <= 0 ? 0.0 : own.loss < C * square ? own.loss / square : C;
  if (eta != C) move_gradient(problem, i, worker, C - eta, ascent.w);
  if (eta > 0) scatter_gradient(problem, i, worker, -eta * static_cast<double>(t), ascent.sum);
  const double smooth = family.beta < kInfinity ? own.entropy / family.beta : 0.0;
  const double cost = family.gamma > 0 ? family.gamma * own.cost : 0.0;
  pass.dual[static_cast<size_t>(k)] = eta * (cost + smooth);
}

// Eq. 11: ascends a block of its own, which begins on the gold output, to its optimum.
inline void mira_visit_exact(const Ascent& ascent, MiraPass& pass, int64_t i, int64_t k, Worker& worker) {
  const Problem& problem = ascent.problem;
  const LossFamily& family = ascent.family;
  const auto n = static_cast<size_t>(problem.parts(i));
  const int64_t t = pass.step(k);
  Output gold;
  problem.gold(i, 0, gold);
  std::sort(gold.begin(), gold.end());
  std::vector<double> mu(n, 0.0);
  for (const int32_t part : gold) mu[static_cast<size_t>(part)] += 1;
  const std::vector<double> y = mu;
  double cost = 0;
  double entropy = 0;
  double gap = kInfinity;
  if (family.beta < kInfinity) {
    std::vector<double> natural(n, 0.0);
    problem.score(i, ascent.w, worker.theta.data());
    std::vector<double> delta(n, 0.0);
    augment(problem, i, family, worker.theta.data(), delta.data(), natural.data());
    for (double& x : natural) x *= family.beta;
    // the block begins as a Gibbs distribution, the loss's own: from the gold output itself EG would have no way out
    std::vector<double> own(n);
    entropy = problem.logsum(i, natural.data(), own.data(), worker.scratch);
    ++pass.inferences;
    entropy -= loops().dot(natural.data(), own.data(), static_cast<int64_t>(n));
    if (family.gamma > 0)
      for (size_t p = 0; p < n; ++p) cost += delta[p] * (own[p] - mu[p]);
    for (size_t p = 0; p < n; ++p) worker.direction[p] = mu[p] - own[p];
    {
      problem.move(i, worker.direction.data(), ascent.weight(i), ascent.w);
    }
    mu = own;
    double rate = 0.5;
    const WeightedParts all = WeightedParts::all(problem.parts(i));
    const GibbsBlock<double> block{all, natural.data(), mu.data(), rate, entropy, cost, gap};
    mira::Patience patience;
    while (patience.with(gap)) {
      pass.inferences += eg_visit(ascent, block, {2.0, kInfinity}, i, worker);
      if (gap <= mira::kExactly * (std::fabs(entropy) + 1e-3)) break;
    }
  } else {
    Block block;
    pairwise::add(problem, i, {gold, 0.0, 1.0, 0.0}, block, worker);
    mira::Patience patience;
    while (patience.with(gap)) {
      ++pass.inferences;
      pairwise_visit(ascent, block, {100, 20, 1e-3}, i, &gap, worker);
      if (gap <= mira::kExactly * (std::fabs(block.cost()) + 1e-3)) break;
    }
    std::fill(mu.begin(), mu.end(), 0.0);
    for (const Atom& atom : block.atoms)
      for (const int32_t part : atom.y) mu[static_cast<size_t>(part)] += atom.alpha;
    cost = block.cost();
  }
  for (size_t p = 0; p < n; ++p) mu[p] = y[p] - mu[p];
  const double C = ascent.weight(i);
  problem.scatter(i, mu.data(), C * static_cast<double>(t), ascent.sum);
  const double smooth = family.beta < kInfinity ? entropy / family.beta : 0.0;
  pass.dual[static_cast<size_t>(k)] = C * (family.gamma * cost + smooth);
}

inline void mira_pass(const Ascent& ascent, MiraPass& pass, MiraUpdate kind, const std::vector<int64_t>& order,
                      int threads, const Poll& poll) {
  ascent.family.check(ascent.problem);
  if (kind == MiraUpdate::kExact && ascent.family.beta < kInfinity) check_cost_of_parts(ascent.problem, ascent.family);
  if (kind == MiraUpdate::kPrediction && ascent.family.beta < kInfinity)
    throw InputError("updates against the prediction need beta = inf.");
  pass.dual.assign(order.size(), 0.0);
  for_visits(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t k, Worker& worker) {
    if (kind == MiraUpdate::kExact)
      mira_visit_exact(own, pass, i, k, worker);
    else
      mira_visit(own, pass, kind, i, k, worker);
  });
}

// ---- k-best MIRA ----

inline double dot(const Row& a, const Row& b) {  // indices in order
  double sum = 0;
  for (size_t j = 0, k = 0; j < a.index.size() && k < b.index.size();) {
    if (a.index[j] == b.index[k])
      sum += a.value[j++] * b.value[k++];
    else if (a.index[j] < b.index[k])
      ++j;
    else
      ++k;
  }
  return sum;
}

// max_alpha <margin, alpha> - 1/2 alpha' gram alpha with alpha >= 0, sum alpha <= C: the dual of Eq. 17 with k
// half-spaces, by Hildreth's row action, one constraint at a time; where the slack is used up, mass is exchanged with
// the constraint that deserves it least.
inline void hildreth(const std::vector<double>& gram, const std::vector<double>& margin, double C,
                     std::vector<double>& alpha) {
  constexpr int kSweeps = 2000;
  constexpr double kTolerance = 1e-12;
  const size_t k = margin.size();
  std::vector<double> slope = margin;
  alpha.assign(k, 0.0);
  double free_mass = C;
  const auto shift = [&](size_t j, double by) {
    alpha[j] += by;
    for (size_t l = 0; l < k; ++l) slope[l] -= by * gram[j * k + l];
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (size_t j = 0; j < k; ++j) {
      // alone: into or out of the slack
      const double curve = gram[j * k + j];
      double by = curve > 0 ? slope[j] / curve : slope[j] > 0 ? free_mass : -alpha[j];
      by = std::clamp(by, -alpha[j], free_mass);
      if (by != 0) {
        shift(j, by);
        free_mass -= by;
        moved = std::max(moved, std::fabs(by));
      }
      if (free_mass > 0 || !(slope[j] > 0)) continue;
      size_t worst = j;
      for (size_t l = 0; l < k; ++l)
        if (alpha[l] > 0 && slope[l] < slope[worst]) worst = l;
      if (worst == j) continue;
      const double bend = curve + gram[worst * k + worst] - 2 * gram[j * k + worst];
      const double slant = slope[j] - slope[worst];
      const double mass = bend * alpha[worst] > slant ? slant / bend : alpha[worst];
      shift(j, mass);
      shift(worst, -mass);
      moved = std::max(moved, mass);
    }
    if (moved <= kTolerance * C) break;
  }
}

inline void kbest_mira_visit(const Ascent& ascent, MiraPass& pass, int64_t most, int64_t i, int64_t k, Worker& worker) {
  const Problem& problem = ascent.problem;
  const int64_t n = problem.parts(i);
  const int64_t t = pass.step(k);
  ++pass.inferences;
  Scratch::Frame frame(worker.scratch);
  const double* theta = worker.theta.data();
  Question question = ascent.family.question(problem);
  question.kind = Question::Kind::kKbest;
  question.k = most;
  problem.infer(i, ascent.w, question, worker.theta.data(), nullptr, worker.answer, worker.scratch);
  const double c0 = worker.answer.c0;
  const double* delta = worker.answer.delta;
  const std::vector<ScoredOutput>& best = worker.answer.ys;
  problem.gold(i, 0, worker.gold);
  double gold_score = 0;
  for (const int32_t part : worker.gold) gold_score += theta[part];

  const size_t count = best.size();
  std::vector<Row> rows(count);
  std::vector<double> margin(count);
  std::vector<std::vector<double>> d(count, std::vector<double>(static_cast<size_t>(n)));
  for (size_t j = 0; j < count; ++j) {
    difference(worker.gold, best[j].y, n, d[j].data());
    problem.row(i, d[j].data(), rows[j]);
    margin[j] = best[j].value + ascent.family.gamma * c0 - gold_score;
  }
  std::vector<double> gram(count * count);
  for (size_t j = 0; j < count; ++j)
    for (size_t l = 0; l <= j; ++l) gram[j * count + l] = gram[l * count + j] = dot(rows[j], rows[l]);
  std::vector<double> alpha;
  hildreth(gram, margin, ascent.weight(i), alpha);
  double* total = worker.direction.data();
  std::fill(total, total + n, 0.0);
  double dual = 0;
  for (size_t j = 0; j < count; ++j) {
    loops().add_scaled(d[j].data(), alpha[j], total, n);
    double cost = c0;
    if (ascent.family.gamma > 0)
      for (const int32_t part : best[j].y) cost += delta[part];
    dual += alpha[j] * ascent.family.gamma * cost;
  }
  problem.scatter(i, total, 1.0, ascent.w);
  problem.scatter(i, total, static_cast<double>(t), ascent.sum);
  pass.dual[static_cast<size_t>(k)] = dual;
}

inline void kbest_mira_pass(const Ascent& ascent, MiraPass& pass, int64_t most, const std::vector<int64_t>& order,
                            int threads, const Poll& poll) {
  check_cost_of_parts(ascent.problem, ascent.family);
  if (ascent.family.beta < kInfinity) throw InputError("k-best MIRA needs beta = inf.");
  if (most < 1) throw InputError("k must be at least 1.");
  pass.dual.assign(order.size(), 0.0);
  for_visits(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t k, Worker& worker) {
    kbest_mira_visit(own, pass, most, i, k, worker);
  });
}

}  // namespace margrave
