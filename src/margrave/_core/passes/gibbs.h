// Exponentiated gradient on the dual: alpha_i is a Gibbs distribution with natural parameters t_i over the parts
// (000, sections 3 and 5; 002, Fig. 1 and 2; docs/background/learning.md).
//
// With v = A_i w + gamma delta_i the update is
//
//   t <- (1 - rho) t + rho beta v   at finite beta (rho = eta C / beta),   t <- t + eta C v   at beta = inf.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "passes/distributions.h"
#include "passes/dual.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

// The update with `rate` (rho, or eta C at beta = inf): t' = share t + add v.
struct GibbsUpdate {
  double share;
  double add;

  static GibbsUpdate of(const LossFamily& family, double rate) {
    return family.beta < kInfinity ? GibbsUpdate{1 - rate, rate * family.beta} : GibbsUpdate{1, rate};
  }
};

// The distribution of one example. Holds natural parameters and marginals of the stored parts only; t is 0 elsewhere.
template <typename Own>
struct GibbsBlock {
  StoredExample example;
  Own numbers;      // t and mu
  double& rate;     // rho, or eta C at beta = inf
  double& entropy;  // H_i
  double& cost;     // c_i
  double& gap;      // the example's gap at the last visit; at beta = inf the gain
};

// The distributions of online EG, all examples stored consecutively. The caller owns the arrays.
template <typename Distributions>
struct GibbsState {
  Distributions numbers;
  double* rate;
  double* entropy;
  double* cost;
  double* gap;

  auto block(const Problem& problem, const StoredParts& stored, int64_t i) const {
    const StoredExample example(problem, stored, i);
    return GibbsBlock{example, numbers.of(stored, i, example.size()), rate[i], entropy[i], cost[i], gap[i]};
  }
};

struct GibbsSettings {
  double growth;  // maximum growth of a rate between visits; 1: rates are fixed
  double cap;     // maximum change of a natural parameter in one step
  bool halving;   // every visit starts with the same rate and halves it until D gains (002, section 7)
  bool first;     // the first pass, before which all mass is on the gold outputs
};

namespace gibbs {

// Writes t' to next. Returns the largest change of a parameter.
inline double propose(const double* t, const double* v, GibbsUpdate u, int64_t n, double* next) {
  return loops().propose(t, v, u.share, u.add, n, next);
}

// The outcome of a trial step: D gains `linear` minus `bend`. Near the optimum, `linear` is C gap (2 rho - rho^2) at
// finite beta, since the divergence from the distribution of the loss shrinks by (1 - rho)^2. At beta = inf it is
// proportional to the rate. `bend` is quadratic.
struct Trial {
  bool smooth;  // beta is finite
  double rate;
  double linear;
  double bend;

  double gap() const { return smooth ? linear / (rate * (2 - rate)) : linear; }
  double best_rate() const {
    if (!(linear > 0)) return 0;
    if (smooth) return gap() / (gap() + std::max(bend, 0.0) / (rate * rate));
    return bend > 0 ? rate * linear / (2 * bend) : kInfinity;
  }
};

// Over-relaxation saves a tenth of the passes (CoNLL-2000).
inline constexpr double kRelaxation = 1.2;
inline constexpr double kSecond = 0.7;  // rate of the second visit relative to the first, unless the
inline constexpr double kFlat = 0.99;   // first visit estimates a best rate above this
inline constexpr int kTrials = 10;
inline constexpr int kHalvings = 60;
inline constexpr double kTooSmall = 1e-12;  // relative gain too small to learn anything about rates
inline constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();

}  // namespace gibbs

// Puts all mass on the gold output, where w = 0, and sets the natural parameters from which the first step starts.
template <typename Own>
void begin_at_gold(const Problem& problem, const WeightedParts& stored, double start, int64_t i, Worker& worker,
                   Own numbers) {
  Scratch::Frame frame(worker.scratch);
  double* t = worker.scratch.take(stored.size());
  double* mu = worker.scratch.take(stored.size());
  double* counts = worker.theta.data();
  std::fill(counts, counts + stored.parts(), 0.0);
  problem.gold(i, 0, worker.gold);
  for (const int32_t part : worker.gold) counts[part] += 1;
  stored.each([&](int64_t k, int64_t part) {
    t[k] = counts[part] > 0 ? start : 0.0;
    mu[k] = counts[part];
  });
  numbers.begin(t, mu);
}

// One visit: moves t_i if D does not fall, else halves the rate and tries again. Returns the number of trials.
//
// Before its first visit, an example has all mass on the gold output, which no natural parameters express. If C is very
// large, D may fall with every trial of that visit. Then the last trial is accepted nevertheless.
//
// Parts that are not stored have no weight, no cost and t = 0. They contribute nothing to the sums below.
template <typename Own>
int eg_visit(const Ascent& ascent, GibbsBlock<Own> block, const GibbsSettings& settings, int64_t i,
             AscentWorker& worker) {
  const StoredExample& example = block.example;
  const LossFamily& family = ascent.family;
  const bool smooth = family.beta < kInfinity;
  const int64_t n = example.size();
  const double C = ascent.weight(i);
  Scratch::Frame frame(worker.scratch);
  double* delta = worker.theta.data();
  double* v = worker.scratch.take(n);
  double* next = worker.scratch.take(n);
  double* next_mu = worker.scratch.take(n);
  double* d = worker.scratch.take(n);  // mu - mu'
  const Values before = block.numbers.read(worker.scratch);

  example.score(ascent.w, v);
  if (family.gamma > 0) {
    example.cost(family, delta);
    loops().add_scaled(delta, family.gamma, v, n);
  }
  const auto move = [&](double c) {
    return ascent.move([&](double scaled) { return example.move(d, scaled, ascent.w); }, c);
  };
  const bool adaptive = settings.growth > 1 && !settings.halving;
  double sum_of_v = 0;
  for (int64_t k = 0; k < n && !smooth; ++k) sum_of_v += std::fabs(v[k]);
  double rate = block.rate;
  for (int trial = 1;; ++trial) {
    const double change = gibbs::propose(before.t, v, GibbsUpdate::of(family, rate), n, next);
    if (adaptive && change > settings.cap) {
      rate *= settings.cap / change;
      gibbs::propose(before.t, v, GibbsUpdate::of(family, rate), n, next);
    }
    block.numbers.round_parameters(next);
    const double log_z = example.logsum(next, next_mu, worker.scratch);
    const double rounding = block.numbers.round_marginals(next_mu);
    const Comparison sums = loops().compare(next, v, next_mu, before.mu, n, d);
    const double entropy = log_z - sums.t_mu;
    const double cost_change = family.gamma > 0 ? -loops().dot(delta, d, n) : 0.0;
    const double smooth_change = smooth ? (entropy - block.entropy) / family.beta : 0.0;
    const double linear = C * (sums.v_moved + smooth_change);
    // A small gain cannot be distinguished from rounding error. A step that neither gains nor loses is accepted: at
    // beta = inf, only such steps bring back an output without mass.
    const double sizes = smooth ? std::fabs(log_z) + std::fabs(sums.t_mu) : sum_of_v;
    const double noise = C * (gibbs::kRounding * (sizes + 1) + rounding / family.beta);

    const double value_change = C * (family.gamma * cost_change + smooth_change);
    const double gain = value_change - move(C);
    const bool last = trial == (adaptive ? gibbs::kTrials : gibbs::kHalvings);
    const bool accepted = gain >= -noise || !(adaptive || settings.halving) || (settings.first && last);
    if (!accepted) move(-C);

    const bool lost = std::fabs(linear) <= std::max(noise, gibbs::kTooSmall * C * (sizes + 1));
    const gibbs::Trial seen{smooth, rate, linear, linear - gain};
    if (accepted) {
      worker.gains.add({value_change, gain});
      block.numbers.store_parameters(next);
      block.numbers.store_marginals(next_mu);
      block.entropy = entropy;
      block.cost += cost_change;
      block.gap = std::max(0.0, seen.gap() / C);
      if (adaptive && settings.first && (trial > 1 || (smooth && seen.best_rate() < gibbs::kFlat))) {
        // The gain over the gold output says little about steps between Gibbs distributions. Rates as small as that of
        // a late trial might gain too little to ever grow again. And half of the second visits would reject a larger
        // rate, unless C is so small that there is almost no curvature.
        block.rate *= trial > 1 ? 0.5 : gibbs::kSecond;
      } else if (adaptive && !lost) {
        const double best = std::clamp(gibbs::kRelaxation * seen.best_rate(), 0.5 * rate, settings.growth * rate);
        block.rate = smooth ? std::min(best, 1.0) : best;
      } else if (adaptive && !smooth) {
        block.rate = settings.growth * rate;
      }
      return trial;
    }
    if (last || (lost && !settings.first)) {
      if (adaptive && !lost) block.rate *= 0.5;  // the next visit tries again at a slightly smaller rate
      return trial;
    }
    rate = adaptive ? std::min(0.5 * rate, std::max(seen.best_rate(), 0.1 * rate)) : 0.5 * rate;
  }
}

// One pass of online EG over `order`; returns the number of trials.
template <typename Distributions>
int64_t eg_pass(const Ascent& ascent, const GibbsState<Distributions>& state, const StoredParts& stored,
                const GibbsSettings& settings, const std::vector<int64_t>& order, int threads, const Poll& poll) {
  check_cost_of_parts(ascent.problem, ascent.family);
  std::atomic<int64_t> trials{0};
  ascend(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t, AscentWorker& worker) {
    trials += eg_visit(own, state.block(own.problem, stored, i), settings, i, worker);
  });
  return trials;
}

// The source of the natural parameters of a batch.
template <typename Distributions>
struct GibbsSource {
  Distributions numbers{};    // stored, or
  const double* z = nullptr;  // t = A z + s delta (000, section 3: the primal form)
  double s = 0;
  // A step of stored parameters: t <- share t + add (A w + gamma delta), written to next, which may be where t is.
  const double* w = nullptr;
  GibbsUpdate update{1, 0};
  Distributions next{};
};

// Expectations under the Gibbs distributions of all examples: entropies, costs, marginals of the stored parts (where
// they are to be stored), and w += sum_i C_i A_i'(y_i - mu_i). The result does not depend on the number of threads.
template <typename Distributions>
void gibbs_expectations(const Problem& problem, const LossFamily& family, const StoredParts& stored,
                        const GibbsSource<Distributions>& source, bool store, int threads, const Poll& poll,
                        double* entropy, double* cost, double* w) {
  check_cost_of_parts(problem, family);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    Scratch::Frame frame(worker.scratch);
    const int64_t n = problem.parts(i);
    const WeightedParts own = stored.of(problem, i);
    double* t = worker.theta.data();
    double* delta = worker.scratch.take(n);
    const double c0 = family.gamma > 0 ? family.cost(problem, i, delta) : 0.0;
    if (source.z) {
      problem.score(i, source.z, t);
      if (family.gamma > 0) loops().add_scaled(delta, source.s, t, n);
    } else if (source.w) {
      double* v = worker.scratch.take(n);
      double* next = worker.scratch.take(own.size());
      problem.score(i, source.w, v);
      if (family.gamma > 0) loops().add_scaled(delta, family.gamma, v, n);
      own.pack(v, v);
      auto numbers = source.next.of(stored, i, own.size());
      const double* before = source.numbers.of(stored, i, own.size()).parameters(worker.scratch);
      gibbs::propose(before, v, source.update, own.size(), next);
      numbers.round_parameters(next);
      own.unpack(next, t);
      numbers.store_parameters(next);
    } else {
      own.unpack(source.numbers.of(stored, i, own.size()).parameters(worker.scratch), t);
    }
    double* mu = worker.direction.data();
    const double log_z = problem.logsum(i, t, mu, worker.scratch);
    if (store) {
      double* kept = worker.scratch.take(n);
      auto numbers = source.numbers.of(stored, i, own.size());
      own.pack(mu, kept);
      numbers.round_marginals(kept);
      own.each([&](int64_t k, int64_t part) { mu[part] = kept[k]; });
      numbers.store_marginals(kept);
    }
    entropy[i] = log_z - loops().dot(t, mu, n);
    cost[i] = family.gamma > 0 ? c0 + loops().dot(delta, mu, n) : 0.0;
    problem.gold(i, 0, worker.gold);
    for (const int32_t part : worker.gold) mu[part] -= 1;
    problem.scatter(i, mu, -family.weight(i), sum);
  };
  sum_over_examples(problem, threads, poll, visit, w);
}

// The natural parameters of the maximum-entropy distributions with these expected parts, stored consecutively; 0 for
// forbidden parts.
inline void natural_parameters(const Problem& problem, const double* mu, int threads, const Poll& poll, double* t) {
  const std::vector<int64_t> begin = part_offsets(problem);
  for_examples(problem, threads, poll, [&](int64_t i, int, Worker& worker) {
    double* own = t + begin[i];
    problem.entropy(i, mu + begin[i], own, worker.scratch);
    for (int64_t k = 0; k < problem.parts(i); ++k)
      if (!std::isfinite(own[k])) own[k] = 0;
  });
}

}  // namespace margrave
