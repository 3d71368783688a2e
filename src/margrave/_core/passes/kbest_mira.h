// k-best MIRA (001, Eq. 17): one update against the k best outputs of an example.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "passes/mira.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"
#include "simd/loops.h"
#include "solvers/block_qp.h"

namespace margrave {

inline double dot(const Row& a, const Row& b) {  // sorted indices
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

// Eq. 17 with the half-spaces of the k best outputs: its dual is the program of BlockQP.
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
  std::vector<double> alpha(count, 0.0);
  double largest = 0;
  for (const double value : margin) largest = std::max(largest, std::fabs(value));
  BlockQP(margin.data(), gram.data(), static_cast<int64_t>(count), 0.0, ascent.weight(i))
      .solve(mira::kRounding * largest, alpha);
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
  pass.dual[k] = dual;
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
