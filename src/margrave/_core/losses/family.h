// The loss family L(beta, gamma) of 001, Fig. 1, for any problem (docs/background/learning.md):
//
//   L(w) = max_beta(theta + gamma delta) + gamma c0 - <theta, y_gold>,
//   max_beta(v) = 1/beta log sum_y exp(beta <v, y>)
//
// with gradient A'(mu - y_gold). Beta may be infinite. The zero-one cost is also exact, although it is not a sum over
// parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

// A member of the family with the weights of the examples: the objective is C sum_i sample_weight_i L_i.
struct LossFamily {
  const double beta;
  const double gamma;
  const bool zero_one;  // the cost is 1 for every output except the good ones; beyond parts, except the first good one
  const double C;
  const std::optional<std::vector<double>> sample_weight;  // one per example; absent: all are 1

  LossFamily(double beta_, double gamma_, bool zero_one_ = false, double C_ = 1.0,
             std::optional<std::vector<double>> sample_weight_ = std::nullopt)
      : beta(beta_), gamma(gamma_), zero_one(zero_one_), C(C_), sample_weight(std::move(sample_weight_)) {
    if (!(beta > 0)) throw InputError("beta must be positive, or infinite.");
    if (!(gamma >= 0) || gamma == kInfinity) throw InputError("gamma must be finite and not negative.");
    if (!(C > 0) || C == kInfinity) throw InputError("C must be positive and finite.");
    if (!sample_weight) return;
    for (const double each : *sample_weight)
      if (!(each >= 0) || each == kInfinity) throw InputError("sample_weight must be finite and not negative.");
  }

  // The sample weight of example i, and C_i = C times that.
  double factor(int64_t i) const { return sample_weight ? (*sample_weight)[i] : 1.0; }
  double weight(int64_t i) const { return C * factor(i); }

  // Whether the zero-one cost is not a sum over parts. It is one if every output is a single part.
  bool beyond_parts(const Problem& problem) const {
    return zero_one && gamma > 0 && !problem.traits().zero_one_is_of_parts;
  }

  // The cost as delta and c0; the zero-one cost only if it is a sum over parts.
  double cost(const Problem& problem, int64_t i, double* delta) const {
    if (!zero_one) return problem.cost(i, delta);
    problem.zero_one_cost(i, delta);
    return 0;
  }

  // The query of `evaluate`.
  Question question(const Problem& problem) const {
    Question question;
    const bool beyond = beyond_parts(problem);
    question.gamma = beyond ? 0.0 : gamma;
    question.zero_one = zero_one;
    if (beta < kInfinity) {
      question.kind = Question::Kind::kLogsum;
      question.beta = beta;
    } else if (beyond) {
      question.kind = Question::Kind::kKbest;
      question.k = 2;
    } else if (gamma > 0 && (problem.traits().offers & kRelaxedArgmax)) {
      question.kind = Question::Kind::kRelaxed;
    }
    return question;
  }

  // Rejects a problem that does not match.
  void check(const Problem& problem) const {
    if (sample_weight && static_cast<int64_t>(sample_weight->size()) != problem.size())
      throw InputError("sample_weight must have length " + std::to_string(problem.size()) + ", not " +
                       std::to_string(sample_weight->size()) + ".");
    if (beyond_parts(problem) && beta < kInfinity && beta * gamma > kMostZeroOne)
      throw InputError(
          "the zero-one cost of a structured output at a finite beta is exact only up to beta * gamma = 14: "
          "use beta = inf, or another cost.");
  }

  static constexpr double kMostZeroOne = 14;  // e^14 times the rounding error of the share of the gold output is below
                                              // 1e-9
};

struct LossValue {
  double loss;
  double cost;     // expected under the distribution of the loss
  double entropy;  // of that distribution
};

// Memory that a thread reuses for all examples.
struct Worker {
  Scratch scratch;
  std::vector<double> theta;
  std::vector<double> direction;
  std::vector<double> zeros;  // one per weight, all 0; reset to 0 after every use
  Row row;                    // of its weights that are not 0 during a use
  Output gold;
  Answer answer;

  void make_room(int64_t parts) {
    if (static_cast<int64_t>(theta.size()) >= parts) return;
    theta.resize(static_cast<size_t>(parts));
    direction.resize(static_cast<size_t>(parts));
  }
};

inline double dot_finite(const double* v, const double* mu, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += mu[k] == 0 ? 0.0 : v[k] * mu[k];
  return sum;
}

// <theta, y>
inline double score_of(const double* theta, const Output& y) {
  double sum = 0;
  for (const int32_t part : y) sum += theta[part];
  return sum;
}

// d = y - other, as counts of all n parts.
inline void difference(const Output& y, const Output& other, int64_t n, double* d) {
  std::fill(d, d + n, 0.0);
  for (const int32_t part : y) d[part] += 1;
  for (const int32_t part : other) d[part] -= 1;
}

// Whether two outputs are the same bag, in any order.
inline bool same_parts(const Output& a, const Output& b) {
  if (a == b) return true;
  const auto sum = [](const Output& y) {  // sum of hashes: independent of order, and rarely equal for different bags
    uint64_t total = 0;
    for (const int32_t part : y) {
      const uint64_t mixed = (static_cast<uint64_t>(part) + 1) * 0x9E3779B97F4A7C15u;
      total += mixed ^ (mixed >> 29);
    }
    return total;
  };
  if (a.size() != b.size() || sum(a) != sum(b)) return false;
  Output first = a, second = b;
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  return first == second;
}

namespace family {

inline void count_parts(const Output& y, int64_t n, double* mu) {
  std::fill(mu, mu + n, 0.0);
  for (const int32_t part : y) mu[part] += 1;
}

// beta = inf with the zero-one cost: the gold output, or the best other one plus gamma, among the two best.
inline double max_zero_one(double gamma, double gold_score, int64_t n, double* mu, LossValue& value,
                           const Worker& worker) {
  for (const ScoredOutput& other : worker.answer.ys) {
    if (same_parts(other.y, worker.gold)) continue;
    if (other.value + gamma <= gold_score) break;
    count_parts(other.y, n, mu);
    value.cost = 1;
    return other.value + gamma;
  }
  count_parts(worker.gold, n, mu);
  return gold_score;
}

// With q(y) ~ exp(beta <theta, y> + beta gamma [y != gold]) and p_g the gold's share without the cost,
// Z' = Z e^(beta gamma) (1 - (1 - e^(-beta gamma)) p_g). mu' is mu without that share of the gold output, renormalized.
inline double logsum_zero_one(double log_z, double beta, double gamma, double gold_score, const Output& gold, int64_t n,
                              double* mu, Answer& answer, LossValue& value) {
  const double share = std::exp(beta * gold_score - log_z);
  const double taken = -std::expm1(-beta * gamma) * share;
  const double kept = 1 - taken;
  for (int64_t k = 0; k < n; ++k) mu[k] /= kept;
  if (answer.has_mixture) {  // mu is zero, so the gold output is subtracted from the mixture
    for (double& each : answer.mixture.value) each /= kept;
    answer.mixture_score /= kept;
    for (const int32_t part : gold) mu[part] -= taken / kept;
  } else {
    for (const int32_t part : gold) mu[part] = std::max(0.0, mu[part] - taken / kept);
  }
  value.cost = 1 - share * std::exp(-beta * gamma) / kept;
  return log_z + beta * gamma + std::log1p(-taken);
}

// The expected cost if gamma = 0, where it does not enter the loss.
inline double cost_without_margin(const Problem& problem, int64_t i, const LossFamily& family, const double* mu,
                                  double log_share, Worker& worker) {
  if (family.zero_one && !problem.traits().zero_one_is_of_parts) {
    if (family.beta < kInfinity) return -std::expm1(log_share);
    return same_parts(worker.answer.y, worker.gold) ? 0 : 1;
  }
  const int64_t n = problem.parts(i);
  double* delta = worker.scratch.take(n);
  const double c0 = family.cost(problem, i, delta);
  return c0 + dot_finite(delta, mu, n);
}

}  // namespace family

// The loss at the weights scale * w, with theta = scale A_i w and direction = mu - y_gold. If a problem returns the
// expected features of a mixture instead of marginals, direction contains no mu, and the functions below add the
// mixture. With `detail`, also the expected cost (NaN if the mixture does not determine it) and the entropy of the
// distribution of the loss.
inline LossValue evaluate(const Problem& problem, int64_t i, const LossFamily& family, const double* w, double* theta,
                          double* direction, Worker& worker, bool detail = false, double scale = 1.0) {
  Scratch::Frame frame(worker.scratch);
  const int64_t n = problem.parts(i);
  const bool beyond = family.beyond_parts(problem);
  const bool margin = family.gamma > 0 && !beyond;
  const bool finite = family.beta < kInfinity;
  const double beta = finite ? family.beta : 1.0;
  Answer& answer = worker.answer;
  Question question = family.question(problem);
  question.scale = scale;
  problem.infer(i, w, question, theta, direction, answer, worker.scratch);
  problem.gold(i, 0, worker.gold);
  const double gold_score = score_of(theta, worker.gold);

  LossValue value{0, 0, 0};
  double top;            // max_beta
  double log_share = 0;  // of the gold output in the distribution without the cost, at finite beta
  if (!finite && beyond) {
    top = family::max_zero_one(family.gamma, gold_score, n, direction, value, worker);
  } else if (!finite) {
    top = answer.value;
    if (question.kind != Question::Kind::kRelaxed) family::count_parts(answer.y, n, direction);
  } else {
    if (answer.has_mixture) std::fill(direction, direction + n, 0.0);
    const double plain = answer.value;
    double log_z = plain;
    if (beyond)
      log_z = family::logsum_zero_one(log_z, beta, family.gamma, gold_score, worker.gold, n, direction, answer, value);
    top = log_z / beta;
    if (detail) {
      const double expected = answer.has_mixture ? beta * (answer.mixture_score + dot_finite(theta, direction, n))
                                                 : dot_finite(answer.ranking, direction, n);
      value.entropy = log_z - expected - (beyond ? beta * family.gamma * value.cost : 0.0);
    }
    log_share = beta * gold_score - plain;
  }
  if (detail && margin) value.cost = answer.c0 + dot_finite(answer.delta, direction, n);
  if (detail && family.gamma == 0)
    value.cost = answer.has_mixture && !family.zero_one
                     ? std::numeric_limits<double>::quiet_NaN()
                     : family::cost_without_margin(problem, i, family, direction, log_share, worker);
  value.loss = top + (margin ? family.gamma * answer.c0 : 0.0) - gold_score;
  for (const int32_t part : worker.gold) direction[part] -= 1;
  return value;
}

// g += c times the gradient of the loss that `evaluate` last left in the worker.
inline void scatter_gradient(const Problem& problem, int64_t i, const Worker& worker, double c, double* g) {
  problem.scatter(i, worker.direction.data(), c, g);
  if (!worker.answer.has_mixture) return;
  const Row& mixture = worker.answer.mixture;
  for (size_t k = 0; k < mixture.index.size(); ++k) g[mixture.index[k]] += c * mixture.value[k];
}

// The same, and the change of 1/2 dot(g, g).
inline double move_gradient(const Problem& problem, int64_t i, const Worker& worker, double c, double* g) {
  double change = problem.move(i, worker.direction.data(), c, g);
  if (!worker.answer.has_mixture) return change;
  const Row& mixture = worker.answer.mixture;
  for (size_t k = 0; k < mixture.index.size(); ++k) {
    double& weight = g[mixture.index[k]];
    const double before = weight;
    weight += c * mixture.value[k];
    change += 0.5 * c * mixture.value[k] * (before + weight);
  }
  return change;
}

// <w, gradient>
inline double slope_of_gradient(int64_t n, const Worker& worker) {
  const double of_parts = dot_finite(worker.theta.data(), worker.direction.data(), n);
  return worker.answer.has_mixture ? of_parts + worker.answer.mixture_score : of_parts;
}

}  // namespace margrave
