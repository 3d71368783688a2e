// Ascent of the dual by mixing each example's distribution with better ones, by exact line search
// (docs/background/learning.md).
//
// mu_i <- (1 - s) mu_i + s mu(w): block-coordinate Frank-Wolfe at beta = inf (Lacoste-Julien et al. 2013), stochastic
// dual coordinate ascent at finite beta. At beta = inf a block may also keep its outputs and move mass from the worst
// of them to the best (pairwise steps; Lacoste-Julien and Jaggi 2015), also without inference (cached outputs; Shah et
// al. 2015).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "passes/dual.h"
#include "passes/gram.h"
#include "protocol/checks.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"

namespace margrave {

// The state of plain mixing; the caller owns the arrays.
struct MixingState {
  double* mu;       // all examples, stored consecutively
  double* entropy;  // h_i: a lower bound on the mixture's entropy, or the entropy itself (exact_entropy)
  double* cost;     // c_i
  double* gap;      // as of the last visit
};

// Maximizes a concave function over s in [0, 1] by golden-section search.
template <typename Function>
double golden_section(const Function& f) {
  constexpr double kRatio = 0.6180339887498949;
  double low = 0, high = 1;
  double a = high - kRatio, b = low + kRatio;
  double at_a = f(a), at_b = f(b);
  for (int k = 0; k < 40; ++k) {
    if (at_a < at_b) {
      low = a, a = b, at_a = at_b;
      at_b = f(b = low + kRatio * (high - low));
    } else {
      high = b, b = a, at_b = at_a;
      at_a = f(a = high - kRatio * (high - low));
    }
  }
  const double middle = 0.5 * (low + high);
  return f(1.0) >= f(middle) ? 1.0 : middle;
}

inline void mixing_visit(const Ascent& ascent, const MixingState& state, bool exact_entropy, int64_t i, double* mu,
                         AscentWorker& worker) {
  const Problem& problem = ascent.problem;
  const LossFamily& family = ascent.family;
  const double per_beta = family.beta < kInfinity ? 1 / family.beta : 0.0;
  const int64_t n = problem.parts(i);
  const double C = ascent.weight(i);
  Scratch::Frame frame(worker.scratch);
  double* d = worker.scratch.take(n);  // mu_i - mu(w)
  double* mixed = worker.scratch.take(n);
  double* logs = worker.scratch.take(n);
  double* theta = worker.theta.data();
  double* target = worker.direction.data();

  const LossValue own = evaluate(problem, i, family, ascent.w, theta, target, worker, true);
  if (worker.answer.has_mixture)
    throw InputError("this problem has no marginals of parts, which are needed at finite beta: use beta = inf.");
  for (const int32_t part : worker.gold) target[part] += 1;
  double gold_score = 0;
  for (const int32_t part : worker.gold) gold_score += theta[part];
  for (int64_t k = 0; k < n; ++k) d[k] = mu[k] - target[k];
  const double mu_score = dot_finite(theta, mu, n);
  const double gap = own.loss - (family.gamma * state.cost[i] + mu_score - gold_score + state.entropy[i] * per_beta);
  state.gap[i] = std::max(gap, 0.0);
  if (!(gap > rounding_of(own.loss, gap))) return;

  const auto mix = [&](double s) {
    for (int64_t k = 0; k < n; ++k) mixed[k] = mu[k] - s * d[k];
  };
  const auto entropy_at = [&](double s) {
    if (!exact_entropy) return state.entropy[i] + s * (own.entropy - state.entropy[i]);
    mix(s);
    return problem.entropy(i, mixed, logs, worker.scratch);
  };
  const auto gain = [&](double s) {
    return C * (s * family.gamma * (own.cost - state.cost[i]) + (entropy_at(s) - state.entropy[i]) * per_beta);
  };
  const double theta_d = dot_finite(theta, d, n);
  const auto ascend = [&] {
    LineStep step(ascent, i, d, theta_d, C * gap, 1.0, worker);
    if (!exact_entropy) return step.ascend(C * gap, 1.0, gain);
    double best = golden_section([&](double x) { return gain(x) - C * x * theta_d - 0.5 * x * x * step.bend(); });
    step.move_to(best);
    if (gain(best) < step.change()) step.move_to(best = 0);
    step.accept(gain(best));
    return best;
  };
  const double s = ascend();
  if (s == 0) return;
  state.entropy[i] = entropy_at(s);
  state.cost[i] += s * (own.cost - state.cost[i]);
  mix(s);
  std::copy(mixed, mixed + n, mu);
}

inline void mixing_pass(const Ascent& ascent, const MixingState& state, bool exact_entropy,
                        const std::vector<int64_t>& order, int threads, const Poll& poll) {
  ascent.family.check(ascent.problem);
  const std::vector<int64_t> begin = part_offsets(ascent.problem);
  ascend(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t, AscentWorker& worker) {
    mixing_visit(own, state, exact_entropy, i, state.mu + begin[i], worker);
  });
}

// ---- blocks that keep their outputs (beta = inf) ----

struct Atom {
  Output y;  // sorted parts
  double cost;
  double alpha;
  double value;  // <theta, y> + gamma cost when last evaluated
};

// alpha_i as a sparse distribution over outputs. Outputs without mass are remembered for a while. gram holds <A_i'y,
// A_i'y'> for all pairs, row by row, so steps among them need neither w nor inference.
struct Block {
  std::vector<Atom> atoms;
  GramMatrix gram;

  double inner(size_t a, size_t b) const { return gram.at(a, b); }
  double cost() const {
    double sum = 0;
    for (const Atom& atom : atoms) sum += atom.alpha * atom.cost;
    return sum;
  }

  // Adds an output, given its inner products with all stored outputs and with itself.
  void add(Atom&& atom, const std::vector<double>& inner_products) {
    const size_t n = atoms.size();
    gram.grow(n + 1);
    for (size_t a = 0; a <= n; ++a) gram.set(a, n, inner_products[a]);
    atoms.push_back(std::move(atom));
  }
  void remove(size_t gone) {
    gram.remove(gone);
    atoms.erase(atoms.begin() + static_cast<int64_t>(gone));
  }
};

struct PairwiseSettings {
  int64_t cached_steps;  // maximum number of steps per visit and known output
  int64_t memory;        // maximum number of outputs without mass in a block
  double enough;         // steps end when the gap among known outputs is below this share of the gap of the visit
};

namespace pairwise {

inline void evaluate_atoms(Block& block, double gamma, const double* theta) {
  for (Atom& atom : block.atoms) {
    double value = gamma * atom.cost;
    for (const int32_t part : atom.y) value += theta[part];
    atom.value = value;
  }
}

// The inner products of the new output's features with those of the others are scores under its features: A_i A_i'y.
inline void add(const Problem& problem, int64_t i, Atom&& atom, Block& block, Worker& worker) {
  Scratch::Frame frame(worker.scratch);
  const int64_t n = problem.parts(i);
  double* counts = worker.scratch.take(n);
  double* scores = worker.scratch.take(n);
  family::count_parts(atom.y, n, counts);
  score_under(problem, i, counts, scores, worker);
  std::vector<double> inner;
  for (const Atom& other : block.atoms) inner.push_back(score_of(scores, other.y));
  inner.push_back(score_of(scores, atom.y));
  block.add(std::move(atom), inner);
}

// Pairwise steps over the known outputs: mass moves from the one with the lowest slope of D to the one with the
// highest, by exact line search, until they differ by less than `goal`. Returns the new alpha.
inline std::vector<double> solve(const Block& block, double C, double goal, int64_t most) {
  const size_t n = block.atoms.size();
  std::vector<double> alpha(n);
  std::vector<double> slope(n);
  for (size_t a = 0; a < n; ++a) {
    alpha[a] = block.atoms[a].alpha;
    slope[a] = block.atoms[a].value;
  }
  for (int64_t k = 0; k < most; ++k) {
    size_t best = 0;
    size_t away = n;
    for (size_t a = 0; a < n; ++a) {
      if (slope[a] > slope[best]) best = a;
      if (alpha[a] > 0 && (away == n || slope[a] < slope[away])) away = a;
    }
    const double gap = slope[best] - slope[away];
    if (!(gap > std::max(goal, rounding_of(slope[best], gap)))) break;
    const double bend = C * (block.inner(best, best) + block.inner(away, away) - 2 * block.inner(best, away));
    const double mass = gap < bend * alpha[away] ? gap / bend : alpha[away];
    alpha[away] = mass == alpha[away] ? 0.0 : alpha[away] - mass;
    alpha[best] += mass;
    for (size_t a = 0; a < n; ++a) slope[a] -= mass * C * (block.inner(a, best) - block.inner(a, away));
  }
  return alpha;
}

// Moves the block towards `alpha` as far as D gains. The change of the output with the largest mass is the negative sum
// of the other changes. At a large C it has nearly all mass, and subtracting two such numbers would lose most digits.
inline void move_block(const Ascent& ascent, int64_t i, Block& block, const std::vector<double>& alpha,
                       const double* theta, double* d, AscentWorker& worker) {
  const double C = ascent.weight(i);
  const int64_t n = ascent.problem.parts(i);
  const Atom& heaviest = *std::max_element(block.atoms.begin(), block.atoms.end(),
                                           [](const Atom& a, const Atom& b) { return a.alpha < b.alpha; });
  std::fill(d, d + n, 0.0);
  double slope = 0;
  double cost_change = 0;
  double less = 0;
  for (size_t a = 0; a < alpha.size(); ++a) {
    const Atom& atom = block.atoms[a];
    const double more = alpha[a] - atom.alpha;
    if (more == 0 || &atom == &heaviest) continue;
    for (const int32_t part : atom.y) d[part] -= more;
    less += more;
    slope += C * more * (atom.value - heaviest.value);
    cost_change += C * ascent.family.gamma * more * (atom.cost - heaviest.cost);
  }
  for (const int32_t part : heaviest.y) d[part] += less;
  LineStep line(ascent, i, d, dot_finite(theta, d, n), worker);
  const double s = line.ascend(slope, 1.0, [&](double x) { return x * cost_change; });
  for (size_t a = 0; a < alpha.size(); ++a) {
    Atom& atom = block.atoms[a];
    atom.alpha = s == 1 ? alpha[a] : atom.alpha + s * (alpha[a] - atom.alpha);
  }
}

// Forgets the worst of the outputs without mass.
inline void forget(Block& block, int64_t memory) {
  int64_t idle = 0;
  for (const Atom& atom : block.atoms) idle += atom.alpha == 0;
  for (; idle > memory; --idle) {
    size_t worst = block.atoms.size();
    for (size_t k = 0; k < block.atoms.size(); ++k)
      if (block.atoms[k].alpha == 0 && (worst == block.atoms.size() || block.atoms[k].value < block.atoms[worst].value))
        worst = k;
    block.remove(worst);
  }
}

}  // namespace pairwise

// The blocks of a problem. Each starts with its gold output.
class Blocks {
 public:
  explicit Blocks(const Problem& problem) : owner_(problem), blocks_(static_cast<size_t>(problem.size())) {
    Worker worker;
    for (int64_t i = 0; i < problem.size(); ++i) {
      Output gold;
      problem.gold(i, 0, gold);
      std::sort(gold.begin(), gold.end());
      worker.make_room(problem.parts(i));
      pairwise::add(problem, i, {std::move(gold), 0.0, 1.0, 0.0}, blocks_[i], worker);
    }
  }
  Blocks(const Problem& problem, std::vector<Block> blocks) : owner_(problem), blocks_(std::move(blocks)) {}

  void check(const Problem& problem) const { owner_.check(problem, "this set of blocks"); }

  int64_t size() const { return static_cast<int64_t>(blocks_.size()); }
  Block& operator[](int64_t i) { return blocks_[i]; }
  const Block& operator[](int64_t i) const { return blocks_[i]; }

 private:
  OfProblem owner_;
  std::vector<Block> blocks_;
};

// w(alpha) = sum_i C_i A_i'(y_i - mu_i), from the outputs other than the gold one.
inline void weights_of(const Problem& problem, const LossFamily& family, const Blocks& blocks, int threads,
                       const Poll& poll, double* w) {
  family.check(problem);
  const auto visit = [&](int64_t i, Worker& worker, double* sum) {
    const int64_t n = problem.parts(i);
    double* d = worker.direction.data();
    std::fill(d, d + n, 0.0);
    problem.gold(i, 0, worker.gold);
    std::sort(worker.gold.begin(), worker.gold.end());
    double others = 0;
    for (const Atom& atom : blocks[i].atoms) {
      if (atom.alpha == 0 || atom.y == worker.gold) continue;
      for (const int32_t part : atom.y) d[part] -= atom.alpha;
      others += atom.alpha;
    }
    for (const int32_t part : worker.gold) d[part] += others;
    problem.scatter(i, d, family.weight(i), sum);
  };
  sum_over_examples(problem, threads, poll, visit, w);
}

// The smallest slacks that satisfy the constraints of the known outputs at w.
inline void known_slacks(const Problem& problem, const LossFamily& family, const Blocks& blocks, const double* w,
                         int threads, const Poll& poll, double* slack) {
  const auto visit = [&](int64_t i, Worker& worker, double*) {
    const double* theta = worker.theta.data();
    problem.score(i, w, worker.theta.data());
    problem.gold(i, 0, worker.gold);
    const double gold_score = score_of(theta, worker.gold);
    slack[i] = 0;
    for (const Atom& atom : blocks[i].atoms)
      slack[i] = std::max(slack[i], family.gamma * atom.cost + score_of(theta, atom.y) - gold_score);
  };
  sum_over_examples(problem, threads, poll, visit, nullptr);
}

// One visit: finds the best output by inference, then moves mass between the known outputs.
inline void pairwise_visit(const Ascent& ascent, Block& block, const PairwiseSettings& settings, int64_t i,
                           double* gap_seen, AscentWorker& worker) {
  const Problem& problem = ascent.problem;
  const LossFamily& family = ascent.family;
  const int64_t n = problem.parts(i);
  Scratch::Frame frame(worker.scratch);
  double* d = worker.scratch.take(n);
  double* theta = worker.theta.data();
  double* target = worker.direction.data();

  const LossValue own = evaluate(problem, i, family, ascent.w, theta, target, worker, true);
  pairwise::evaluate_atoms(block, family.gamma, theta);
  double gold_score = 0;
  for (const int32_t part : worker.gold) {
    target[part] += 1;
    gold_score += theta[part];
  }
  double average = 0;
  for (const Atom& atom : block.atoms) average += atom.alpha * atom.value;
  const double gap = own.loss + gold_score - average;
  *gap_seen = std::max(gap, 0.0);
  // At a large C, outputs other than the top one have little mass and contribute little to the gap.
  double lowest = kInfinity;
  for (const Atom& atom : block.atoms)
    if (atom.alpha > 0) lowest = std::min(lowest, atom.value);
  const double spread = own.loss + gold_score - lowest;
  if (!(spread > rounding_of(own.loss, spread))) return;
  Output y;
  for (int64_t k = 0; k < n; ++k)
    for (int count = 0; count < static_cast<int>(target[k]); ++count) y.push_back(static_cast<int32_t>(k));
  const auto known = [&](const Atom& atom) { return atom.y == y; };
  if (std::none_of(block.atoms.begin(), block.atoms.end(), known))
    pairwise::add(problem, i, {std::move(y), own.cost, 0.0, own.loss + gold_score}, block, worker);
  const int64_t most = 1 + settings.cached_steps * static_cast<int64_t>(block.atoms.size());
  const double bend = ascent.caution * ascent.weight(i);
  pairwise::move_block(ascent, i, block, pairwise::solve(block, bend, settings.enough * gap, most), theta, d, worker);
  pairwise::forget(block, settings.memory);
}

inline void pairwise_pass(const Ascent& ascent, Blocks& blocks, const PairwiseSettings& settings, double* gap,
                          const std::vector<int64_t>& order, int threads, const Poll& poll) {
  ascent.family.check(ascent.problem);
  if (ascent.family.beta < kInfinity) throw InputError("pairwise steps need beta = inf.");
  if (blocks.size() != ascent.problem.size()) throw InputError("there must be one block for every example.");
  ascend(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t, AscentWorker& worker) {
    pairwise_visit(own, blocks[i], settings, i, gap + i, worker);
  });
}

// ---- factored SMO ----

// Moves mass from the worst output whose parts all have positive marginals to the loss-augmented argmax, at most the
// smallest marginal of the parts that only the former has (Taskar et al. 2003; the comparison method of 000). Parts
// must be untied: then every such output has mass under the maximum-entropy distribution with these marginals. Returns
// the number of inferences.
inline int smo_visit(const Ascent& ascent, const MixingState& state, int64_t i, double* mu, AscentWorker& worker) {
  constexpr double kNothing = 1e-13;  // a marginal that is only rounding error
  const Problem& problem = ascent.problem;
  const int64_t n = problem.parts(i);
  const double C = ascent.weight(i);
  Scratch::Frame frame(worker.scratch);
  double* delta = worker.scratch.take(n);
  double* v = worker.scratch.take(n);
  double* low = worker.scratch.take(n);
  double* theta = worker.theta.data();
  double* d = worker.direction.data();

  problem.score(i, ascent.w, theta);
  augment(problem, i, ascent.family, theta, delta, v);
  const double top = problem.argmax(i, v, worker.answer.y, worker.scratch);
  const double gap = top - dot_finite(v, mu, n);
  state.gap[i] = std::max(gap, 0.0);
  if (!(gap > rounding_of(top, gap))) return 1;
  for (int64_t k = 0; k < n; ++k) low[k] = mu[k] > kNothing ? -v[k] : -kInfinity;
  Output worst;
  const double bottom = problem.argmax(i, low, worst, worker.scratch);
  if (bottom == -kInfinity) return 2;

  std::fill(d, d + n, 0.0);
  for (const int32_t part : worst) d[part] += 1;
  for (const int32_t part : worker.answer.y) d[part] -= 1;
  double most = 1;
  for (const int32_t part : worst)
    if (d[part] > 0) most = std::min(most, mu[part]);
  const double cost_change = -dot_finite(delta, d, n);
  const double slope = C * (top + bottom);
  LineStep line(ascent, i, d, dot_finite(theta, d, n), slope, most, worker);
  const double s = line.ascend(slope, most, [&](double x) { return x * C * ascent.family.gamma * cost_change; });
  state.cost[i] += s * cost_change;
  for (const int32_t part : worst)
    if (d[part] > 0) mu[part] = mu[part] - s > kNothing ? mu[part] - s : 0.0;
  for (const int32_t part : worker.answer.y)
    if (d[part] < 0) mu[part] += s;
  return 2;
}

inline int64_t smo_pass(const Ascent& ascent, const MixingState& state, const std::vector<int64_t>& order, int threads,
                        const Poll& poll) {
  ascent.family.check(ascent.problem);
  const Problem& problem = ascent.problem;
  if (ascent.family.beta < kInfinity || ascent.family.beyond_parts(problem))
    throw InputError("SMO needs beta = inf and a cost that is a sum over parts.");
  if (!(problem.traits().offers & kUntied)) throw InputError("SMO needs untied parts.");
  const std::vector<int64_t> begin = part_offsets(problem);
  std::atomic<int64_t> inferences{0};
  ascend(ascent, order, threads, poll, [&](const Ascent& own, int64_t i, int64_t, AscentWorker& worker) {
    inferences += smo_visit(own, state, i, state.mu + begin[i], worker);
  });
  return inferences;
}

}  // namespace margrave
