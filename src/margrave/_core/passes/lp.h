// The constraints of LP-Struct (004) and the search for the most violated ones (Algorithm 1, lines 4 to 11).
//
// With m(y, y') = <theta, y - y'>, a good output y and a wrong one y' give the constraint m(y, y') >= margin(y') -
// xi_i, where the margin is 1 or the cost of y'. Program (8) has a constraint for every such pair. Program (7) has one
// for every wrong output and the good one closest to it. With one good output, both are (6).
//
// Suppose that the margin is the cost, and that an output is a set of independent changes of the good one
// (protocol/problem.h). The slack that an output requires is then the sum over its changes. The slack of the example is
// the largest such sum over changes without a common site. It is also the smallest sum of slacks of sites such that the
// sites of every change sum to at least what the change requires. To see this, note that each change occupies
// consecutive sites. So the linear program of the former has integral vertices, and the latter is its dual. Hence one
// constraint per change is equivalent to one per output.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "passes/batch.h"
#include "protocol/checks.h"
#include "protocol/features.h"
#include "protocol/good_outputs.h"
#include "protocol/interfaces.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"
#include "simd/loops.h"
#include "solvers/packing.h"

namespace margrave {

using Metric = std::function<double(int64_t i, const Output& good, const Output& wrong)>;

struct LPRule {
  const LossFamily& family;  // the margin is gamma times the cost, or gamma for the zero-one cost
  bool closest;              // program (7); else (8)
  Metric metric;             // of (7); null: the distance of features

  // The best output that is not good is among the k best with k = number of good outputs + 1.
  Question question(int64_t good) const {
    Question question;
    question.kind = Question::Kind::kKbest;
    question.k = good + 1;
    question.gamma = family.zero_one ? 0.0 : family.gamma;
    return question;
  }
};

struct LPConstraint {
  double value = -kInfinity;  // margin - m: the slack that the constraint requires
  double margin = 0;
  Output wrong;
  int64_t first = 0;  // the sites that it occupies in the example
  int64_t last = 0;
};

struct LPViolation {
  LPConstraint whole;  // for the whole output
  Output good;
  std::vector<LPConstraint> changes;  // its components
};

// Where the sites of each example begin; the last entry is their number. An example has one site unless its outputs are
// sets of changes. That requires a margin that is a sum over parts, and one good output, which costs nothing.
inline std::vector<int64_t> lp_sites(const Problem& problem, const LossFamily& family) {
  std::vector<int64_t> begin{0};
  std::vector<double> delta;
  Output good;
  const Offered<Divisible> divisible = problem.interfaces().divisible;
  for (int64_t i = 0; i < problem.size(); ++i) {
    int64_t sites = 1;
    if (!family.zero_one && divisible && problem.gold(i, 0, good) == 1) {
      delta.resize(static_cast<size_t>(problem.parts(i)));
      double paid = problem.cost(i, delta.data());
      for (const int32_t part : good) paid += delta[part];
      if (paid == 0) sites = divisible.of->sites(divisible.first + i);
    }
    begin.push_back(begin.back() + sites);
  }
  return begin;
}

class LPConstraints {
 public:
  // `closest`: the result of `find_closest` for program (7) if every output is one part; else null.
  LPConstraints(const Problem& problem, const LPRule& rule, const int32_t* closest)
      : problem_(problem), divided_(dynamic_cast<const DividedProblem*>(&problem)), rule_(rule), closest_(closest) {
    if (rule.closest && of_parts_) begin_ = part_offsets(problem);
  }

  const Problem& problem() const { return problem_; }

  // The index of the good output closest to every part, if parts are outputs.
  void find_closest(int threads, const Poll& poll, int32_t* closest) const {
    std::vector<std::vector<double>> rooms(static_cast<size_t>(threads));
    const auto visit = [&](int64_t i, int thread, Worker& worker) {
      const std::vector<Output> good = good_outputs(i);
      int32_t* own = closest + begin_[i];
      if (rule_.metric) {
        const auto is_good = [&](int32_t part) {
          return std::any_of(good.begin(), good.end(), [&](const Output& y) { return y[0] == part; });
        };
        for (int32_t part = 0; part < problem_.parts(i); ++part)
          own[part] = good.size() == 1 || is_good(part) ? 0 : static_cast<int32_t>(nearest(i, good, {part}));
        return;
      }
      std::vector<double>& room = rooms[thread];
      room.resize(static_cast<size_t>(problem_.dim()));
      closest_by_features(i, good, room.data(), worker, own);
    };
    for_examples(problem_, rule_.metric ? 1 : threads, poll, visit);
  }

  // The most violated constraint of example i at w; its value is -inf if there is none. Its changes are listed if it
  // requires more than `known`. Unless they `split`, the only change is the constraint itself.
  LPViolation most_violated(int64_t i, const double* w, double known, bool split, Worker& worker) const {
    Scratch::Frame frame(worker.scratch);
    const std::vector<Output> good = divided_ ? std::vector<Output>() : good_outputs(i);
    LPViolation most = of_parts_  ? among_parts(i, good, w, worker)
                       : divided_ ? by_division(i, w, worker)
                                  : by_kbest(i, good, w, worker);
    if (!(most.whole.value > known)) return most;
    if (!split) {
      most.changes = {most.whole};
      return most;
    }
    const double gamma = rule_.family.gamma;
    for (Change& change : divisible_.of->changes(divisible_.first + i, most.whole.wrong)) {
      const double margin = gamma * worker.answer.c0 + margin_of_parts(worker.answer, change.y);
      const double value = margin - advantage(worker.theta.data(), most.good, change.y);
      most.changes.push_back({value, margin, std::move(change.y), change.first, change.last});
    }
    return most;
  }

 private:
  std::vector<Output> good_outputs(int64_t i) const {
    std::vector<Output> good(1);
    const int64_t n = problem_.gold(i, 0, good[0]);
    good.resize(static_cast<size_t>(n));
    for (int64_t k = 1; k < n; ++k) problem_.gold(i, k, good[k]);
    return good;
  }

  // delta = the margin by parts, and v = theta + delta. Returns the constant term of the margin.
  double augment(int64_t i, const double* theta, double* delta, double* v) const {
    const int64_t n = problem_.parts(i);
    std::copy(theta, theta + n, v);
    const double gamma = rule_.family.gamma;
    if (rule_.family.zero_one) {
      std::fill(delta, delta + n, 0.0);
      return gamma;
    }
    const double c0 = problem_.cost(i, delta);
    for (int64_t k = 0; k < n; ++k) delta[k] *= gamma;
    loops().add_scaled(delta, 1.0, v, n);
    return gamma * c0;
  }

  // The good output with the lowest score (program 8).
  static size_t worst(const std::vector<Output>& good, const double* theta) {
    size_t least = 0;
    for (size_t k = 1; k < good.size(); ++k)
      if (score_of(theta, good[k]) < score_of(theta, good[least])) least = k;
    return least;
  }

  // Every output is one part, so all of them can be enumerated.
  LPViolation among_parts(int64_t i, const std::vector<Output>& good, const double* w, Worker& worker) const {
    const int64_t n = problem_.parts(i);
    double* theta = worker.theta.data();
    problem_.score(i, w, theta);
    double* delta = worker.scratch.take(n);
    double* v = worker.scratch.take(n);
    const double constant = augment(i, theta, delta, v);
    problem_.forbid(i, v);
    for (const Output& y : good) v[y[0]] = -kInfinity;
    const int32_t* closest = rule_.closest ? closest_ + begin_[i] : nullptr;
    const size_t least = worst(good, theta);
    LPViolation most;
    size_t paired = least;
    int32_t wrong = -1;
    for (int32_t part = 0; part < n; ++part) {
      const size_t k = closest ? static_cast<size_t>(closest[part]) : least;
      if (k >= good.size()) throw InputError("the closest good outputs are of another problem.");
      const double value = v[part] + constant - theta[good[k][0]];
      if (value > most.whole.value) {
        most.whole.value = value;
        wrong = part;
        paired = k;
      }
    }
    if (wrong < 0) return most;
    most.whole.margin = delta[wrong] + constant;
    most.whole.value = most.whole.margin + (theta[wrong] - theta[good[paired][0]]);  // scores may be much larger than
                                                                                     // the margin
    most.whole.wrong = {wrong};
    most.good = good[paired];
    return most;
  }

  // For good outputs that are not listed: the best other output, and the worst good one. For program (7), the good one
  // closest to the other output, by the number of parts in only one of the two.
  LPViolation by_division(int64_t i, const double* w, Worker& worker) const {
    const int64_t n = problem_.parts(i);
    double* theta = worker.theta.data();
    problem_.score(i, w, theta);
    double* delta = worker.scratch.take(n);
    double* v = worker.scratch.take(n);
    const double constant = augment(i, theta, delta, v);
    LPViolation most;
    Output wrong;
    if (divided_->argmax_among(false, i, v, wrong, worker.scratch) == -kInfinity) return most;
    if (rule_.closest) {
      std::fill(v, v + n, -1.0);
      for (const int32_t part : wrong) v[part] = 1.0;
    } else {
      for (int64_t k = 0; k < n; ++k) v[k] = -theta[k];
    }
    divided_->argmax_among(true, i, v, most.good, worker.scratch);
    most.whole.margin = constant;
    for (const int32_t part : wrong) most.whole.margin += delta[part];
    most.whole.value = most.whole.margin - advantage(theta, most.good, wrong);
    most.whole.wrong = std::move(wrong);
    return most;
  }

  LPViolation by_kbest(int64_t i, const std::vector<Output>& good, const double* w, Worker& worker) const {
    const double* theta = worker.theta.data();
    const Answer& answer = worker.answer;
    problem_.infer(i, w, rule_.question(static_cast<int64_t>(good.size())), worker.theta.data(), nullptr, worker.answer,
                   worker.scratch);
    const double gamma = rule_.family.gamma;
    const double constant = rule_.family.zero_one ? gamma : gamma * answer.c0;
    const auto is_good = [&](const ScoredOutput& other) {
      return std::any_of(good.begin(), good.end(), [&](const Output& y) { return same_parts(y, other.y); });
    };
    const auto best = std::find_if_not(answer.ys.begin(), answer.ys.end(), is_good);
    LPViolation most;
    if (best == answer.ys.end()) return most;
    const size_t k = rule_.closest && good.size() > 1 ? nearest(i, good, best->y) : worst(good, theta);
    most.whole.margin = margin_of_parts(answer, best->y) + constant;
    most.whole.value = most.whole.margin - advantage(theta, good[k], best->y);
    most.whole.wrong = best->y;
    most.good = good[k];
    return most;
  }

  double margin_of_parts(const Answer& answer, const Output& y) const {
    double sum = 0;
    if (answer.delta)
      for (const int32_t part : y) sum += rule_.family.gamma * answer.delta[part];
    return sum;
  }

  static double advantage(const double* theta, const Output& good, const Output& wrong) {
    return score_of(theta, good) - score_of(theta, wrong);
  }

  double distance(int64_t i, const Output& good, const Output& wrong) const {
    if (rule_.metric) return rule_.metric(i, good, wrong);
    std::vector<double> counts(static_cast<size_t>(problem_.parts(i)));
    difference(good, wrong, problem_.parts(i), counts.data());
    Row row;
    problem_.row(i, counts.data(), row);
    double sum = 0;
    for (const double value : row.value) sum += value * value;
    return sum;
  }

  size_t nearest(int64_t i, const std::vector<Output>& good, const Output& wrong) const {
    size_t best = 0;
    double least = kInfinity;
    for (size_t k = 0; k < good.size(); ++k) {
      const double far = distance(i, good[k], wrong);
      if (far < least) {
        least = far;
        best = k;
      }
    }
    return best;
  }

  // Minimizes |a - b|^2 = |a|^2 - 2<a, b> + |b|^2. With the features a of a good output as weights, <a, b> are the
  // scores of all parts. `room` is zero before and after.
  void closest_by_features(int64_t i, const std::vector<Output>& good, double* room, Worker& worker,
                           int32_t* closest) const {
    const auto n = static_cast<size_t>(problem_.parts(i));
    std::fill(closest, closest + n, 0);
    if (good.size() == 1) return;
    std::vector<double> least(n, kInfinity);
    double* dots = worker.theta.data();
    double* counts = worker.direction.data();
    for (size_t k = 0; k < good.size(); ++k) {
      Row row;
      std::fill(counts, counts + n, 0.0);
      counts[good[k][0]] = 1;
      problem_.row(i, counts, row);
      for (size_t a = 0; a < row.value.size(); ++a) room[row.index[a]] += row.value[a];
      problem_.score(i, room, dots);
      for (const int64_t index : row.index) room[index] = 0;
      for (size_t part = 0; part < n; ++part) {
        const double far = dots[good[k][0]] - 2 * dots[part];
        if (far < least[part]) {
          least[part] = far;
          closest[part] = static_cast<int32_t>(k);
        }
      }
    }
  }

  const Problem& problem_;
  Offered<Divisible> divisible_ = problem_.interfaces().divisible;
  bool of_parts_ = problem_.traits().zero_one_is_of_parts;
  const DividedProblem* divided_;  // null unless there are too many good outputs to list
  const LPRule& rule_;
  const int32_t* closest_;
  std::vector<int64_t> begin_;  // where those of each example begin
};

// The result of a round of Algorithm 1: the slack of every example, and the constraints that require more than the
// known ones.
struct LPRound {
  std::vector<double> slack;
  std::vector<int64_t> owner;  // the example of each constraint
  std::vector<int32_t> first;  // the sites of each constraint, numbered over all examples
  std::vector<int32_t> last;
  std::vector<double> margin;
  std::vector<int64_t> begin;  // the rows A_i'(y - y')
  std::vector<int64_t> column;
  std::vector<double> value;
};

// The slack that the known constraints require at the weights of the round.
struct LPKnown {
  const double* slack;  // of every example
  const Packing& packing;
  const double* value;  // of every constraint
};

inline LPRound lp_round(const LPConstraints& constraints, const double* w, const int64_t* sites, const LPKnown& known,
                        double epsilon, int threads, const Poll& poll) {
  struct Found {
    LPConstraint constraint;
    Row row;  // may be empty: a constraint without features still requires slack
  };
  const Problem& problem = constraints.problem();
  const auto n = static_cast<size_t>(problem.size());
  LPRound round;
  round.slack.assign(n, 0.0);
  std::vector<std::vector<Found>> found(n);
  const auto visit = [&](int64_t i, int, Worker& worker) {
    const bool split = sites[i + 1] - sites[i] > 1;
    LPViolation most = constraints.most_violated(i, w, known.slack[i] + epsilon, split, worker);
    round.slack[i] = std::max(0.0, most.whole.value);
    const double share = epsilon / static_cast<double>(std::max<size_t>(most.changes.size(), 1));
    std::vector<double> best;
    for (LPConstraint& change : most.changes) {
      change.first += sites[i];
      change.last += sites[i];
      // Together, the changes require more than the known constraints. So at least one requires more than the known
      // ones within its sites.
      if (split && !(change.value > known.packing.most(known.value, change.first, change.last, best) + share)) continue;
      Found& other = found[i].emplace_back();
      difference(most.good, change.wrong, problem.parts(i), worker.direction.data());
      problem.row(i, worker.direction.data(), other.row);
      other.constraint = std::move(change);
    }
  };
  for_examples(problem, threads, poll, visit);
  round.begin.push_back(0);
  for (size_t i = 0; i < n; ++i)
    for (const auto& [constraint, row] : found[i]) {
      round.owner.push_back(static_cast<int64_t>(i));
      round.first.push_back(static_cast<int32_t>(constraint.first));
      round.last.push_back(static_cast<int32_t>(constraint.last));
      round.margin.push_back(constraint.margin);
      for (size_t a = 0; a < row.value.size(); ++a) {
        if (row.value[a] == 0) continue;
        round.column.push_back(row.index[a]);
        round.value.push_back(row.value[a]);
      }
      round.begin.push_back(static_cast<int64_t>(round.column.size()));
    }
  return round;
}

}  // namespace margrave
