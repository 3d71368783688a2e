// Exact updates of MIRA: solves Eq. 11 of 001, at beta = inf and at finite beta.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "passes/dual.h"
#include "passes/gram.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"
#include "simd/loops.h"
#include "solvers/block_qp.h"

namespace margrave {

namespace mira {

// The relative gap of Eq. 11 at which an exact update ends. An update that ends above kSolved, at the limit of
// precision or of rounds, counts as unsolved.
inline constexpr double kExactly = 1e-10;
inline constexpr double kSolved = 1e-6;

inline constexpr double kRounding = 1e-13;  // relative to the largest margin: tolerance of slopes in quadratic programs

}  // namespace mira

// The optimum of Eq. 11, min 1/2 |w - w_t|^2 + C L_i(w), as a change of the weights in terms of the parts of the
// example: w = w_t + A_i's with s = C (y_gold - mu), where mu are the expected parts of some alpha.
struct ExactStep {
  double value;  // C (gamma c + H / beta) of this alpha
  bool solved;   // the remaining gap is at most mira::kSolved of the objective
};

// Eq. 11 at beta = inf: cutting planes over the outputs of the example. With multipliers a_y >= 0, sum a <= C, its dual
// is the program of BlockQP for h_y = <A_i w_t, y - y_gold> + gamma cost(y).
class ExactHinge {
 public:
  ExactHinge(const Ascent& ascent, int64_t i, Worker& worker)
      : ascent_(ascent), problem_(ascent.problem), i_(i), C_(ascent.weight(i)), worker_(worker) {
    problem_.gold(i, 0, gold_);
  }

  ExactStep solve(double* s, std::atomic<int64_t>& inferences) {
    const int64_t n = problem_.parts(i_);
    std::fill(s, s + n, 0.0);
    double share = kOfGap;
    bool solved = false;
    for (int round = 0; round < kRounds; ++round) {
      ++inferences;
      const LossValue own = evaluate(problem_, i_, ascent_.family, ascent_.w, worker_.theta.data(),
                                     worker_.direction.data(), worker_, true);
      const Gap gap = measure(own.loss);
      solved = gap.of_all <= mira::kSolved * gap.objective;
      if (gap.of_all <= mira::kExactly * gap.objective) break;
      if (add(own)) {
        share = kOfGap;
      } else if (share > 0) {
        share = 0;  // optimize further over the known outputs
      } else {
        break;
      }
      optimize(std::max(share * gap.of_all / C_, mira::kRounding * largest_), s);
      forget();
    }
    double value = 0;
    for (size_t k = 0; k < cuts_.size(); ++k) value += a_[k] * ascent_.family.gamma * cuts_[k].cost;
    return {value, solved};
  }

 private:
  struct Known {
    Output y;  // sorted parts
    double cost;
    int idle;  // rounds without a multiplier
  };
  struct Gap {
    double of_all;
    double objective;
  };

  static constexpr int kRounds = 5000;
  static constexpr int kIdle = 30;        // rounds after which an output without a multiplier is dropped
  static constexpr double kOfGap = 1e-2;  // the share of the gap that the program over known outputs may leave

  // The objective at w, and its gap to the dual at the multipliers.
  Gap measure(double loss) {
    const double* theta = worker_.theta.data();
    const double gold_score = score_of(theta, gold_);
    if (loss <= rounding_of(gold_score, 0.0)) loss = 0;
    double of_known = 0, norm = 0;
    for (size_t k = 0; k < cuts_.size(); ++k) {
      const double slope = ascent_.family.gamma * cuts_[k].cost + score_of(theta, cuts_[k].y) - gold_score;
      of_known += a_[k] * slope;
      norm += a_[k] * (h_[k] - slope);
    }
    return {C_ * loss - of_known, C_ * loss + 0.5 * norm};
  }

  // Adds the output found by inference; false if it is known.
  bool add(const LossValue& own) {
    const int64_t n = problem_.parts(i_);
    double* counts = worker_.direction.data();
    for (const int32_t part : gold_) counts[part] += 1;
    Output y;
    for (int64_t k = 0; k < n; ++k)
      for (int count = 0; count < static_cast<int>(counts[k]); ++count) y.push_back(static_cast<int32_t>(k));
    if (std::any_of(cuts_.begin(), cuts_.end(), [&](const Known& cut) { return cut.y == y; })) return false;
    Scratch::Frame frame(worker_.scratch);
    double* away = worker_.scratch.take(n);
    double* scores = worker_.scratch.take(n);
    difference(gold_, y, n, away);
    score_under(problem_, i_, away, scores, worker_);
    cuts_.push_back({std::move(y), own.cost, 0});
    a_.push_back(0.0);
    gram_.grow(cuts_.size());
    const double of_gold = score_of(scores, gold_);
    double h = own.loss;
    for (size_t k = 0; k < cuts_.size(); ++k) {
      gram_.set(k, cuts_.size() - 1, of_gold - score_of(scores, cuts_[k].y));
      h += a_[k] * gram_.at(k, cuts_.size() - 1);
    }
    h_.push_back(h);
    largest_ = std::max(largest_, std::fabs(h));
    return true;
  }

  // Optimizes over the known outputs to the tolerance `tol` of slopes, and updates w.
  void optimize(double tol, double* s) {
    const int64_t n = problem_.parts(i_);
    std::vector<double> a = a_;
    BlockQP(h_.data(), gram_.values().data(), static_cast<int64_t>(a.size()), 0.0, C_).solve(tol, a);
    double* d = worker_.direction.data();
    std::fill(d, d + n, 0.0);
    double all = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      const double more = a[k] - a_[k];
      if (more == 0) continue;
      all += more;
      for (const int32_t part : cuts_[k].y) d[part] -= more;
    }
    for (const int32_t part : gold_) d[part] += all;
    problem_.scatter(i_, d, 1.0, ascent_.w);
    loops().add_scaled(d, 1.0, s, n);
    a_ = std::move(a);
  }

  void forget() {
    for (size_t k = cuts_.size(); k-- > 0;) {
      cuts_[k].idle = a_[k] > 0 ? 0 : cuts_[k].idle + 1;
      if (cuts_[k].idle <= kIdle) continue;
      const auto at = static_cast<int64_t>(k);
      gram_.remove(k);
      cuts_.erase(cuts_.begin() + at);
      h_.erase(h_.begin() + at);
      a_.erase(a_.begin() + at);
    }
  }

  const Ascent& ascent_;
  const Problem& problem_;
  int64_t i_;
  double C_;
  Worker& worker_;
  Output gold_;
  std::vector<Known> cuts_;
  GramMatrix gram_;  // <A_i'(y - y_gold), A_i'(y' - y_gold)>
  std::vector<double> h_, a_;
  double largest_ = 0;  // of h
};

// Eq. 11 at finite beta: L-BFGS on the objective, whose iterates are w_t + A_i's. Everything is in terms of parts,
// where the inner product of weights is <u, A_i A_i'v>. The gap of an iterate is 1/2 |A_i'g|^2 with g = s - C (y_gold -
// mu) and the marginals mu of the loss (docs/background/learning.md, primal learners). The step itself goes to C
// (y_gold - mu), so it is that of a dual variable. It ends only if the gap is small there, too.
class ExactSmooth {
 public:
  ExactSmooth(const Ascent& ascent, int64_t i, Worker& worker, std::atomic<int64_t>& inferences)
      : ascent_(ascent),
        problem_(ascent.problem),
        family_(ascent.family),
        i_(i),
        n_(problem_.parts(i)),
        C_(ascent.weight(i)),
        worker_(worker),
        inferences_(inferences),
        y_(size()),
        delta_(size()),
        start_(size()) {
    problem_.gold(i, 0, gold_);
    family::count_parts(gold_, n_, y_.data());
    if (family_.gamma > 0) c0_ = family_.cost(problem_, i, delta_.data());
    problem_.score(i, ascent.w, start_.data());
  }

  ExactStep solve(double* s) {
    Point at = point(Vector(size()), start_);
    double goal = mira::kExactly;
    ExactStep best{0, false};
    double least = kInfinity;  // relative gap of the best step so far
    for (int round = 0;; ++round) {
      const bool near = 0.5 * dot(at.g, at.Kg) <= goal * at.objective;
      Point next;
      const bool stuck = round == kRounds || (!near && !advance(at, next));
      if (near || stuck) {
        const Candidate found = candidate(at);
        if (found.relative < least) {
          least = found.relative;
          best = {found.value, found.relative <= mira::kSolved};
          std::copy(found.s.begin(), found.s.end(), s);
        }
        if (stuck || least <= mira::kExactly) break;
        goal *= kTighter;
        if (goal < kLowestGoal) break;
        continue;
      }
      at = std::move(next);
    }
    problem_.scatter(i_, s, 1.0, ascent_.w);
    return best;
  }

 private:
  using Vector = std::vector<double>;

  struct Own {  // the distribution of the loss at some scores
    Vector mu;
    double loss = 0, cost = 0, entropy = 0;
  };
  struct Point {
    Vector s, theta;  // theta = A_i w
    Own own;
    Vector g, Kg;  // the gradient of the objective is A_i'g; Kg = A_i A_i'g
    double objective = 0;
  };
  struct Candidate {
    Vector s;
    double value, relative;
  };
  struct Pair {  // of a change of s and of g
    Vector s, g, Ks, Kg;
    double rho;
  };

  static constexpr int kRounds = 2000;
  static constexpr size_t kPairs = 20;
  static constexpr int kTrials = 40;
  static constexpr double kFlat = 0.5;        // a line search ends when this share of the slope is left
  static constexpr double kRounding = 1e-12;  // relative to the objective: not a rise
  static constexpr double kTighter = 1e-2;
  static constexpr double kLowestGoal = 1e-24;

  size_t size() const { return static_cast<size_t>(n_); }
  double dot(const Vector& u, const Vector& v) const { return loops().dot(u.data(), v.data(), n_); }
  static void add(const Vector& v, double c, Vector& to) {
    for (size_t k = 0; k < v.size(); ++k) to[k] += c * v[k];
  }

  Own own_at(const Vector& theta) {
    ++inferences_;
    Own own{Vector(size())};
    Vector t = theta;
    if (family_.gamma > 0) add(delta_, family_.gamma, t);
    for (double& x : t) x *= family_.beta;
    const double log_z = problem_.logsum(i_, t.data(), own.mu.data(), worker_.scratch);
    own.entropy = log_z - dot(t, own.mu);
    own.cost = family_.gamma > 0 ? c0_ + dot(delta_, own.mu) : 0.0;
    own.loss = log_z / family_.beta + family_.gamma * c0_ - score_of(theta.data(), gold_);
    return own;
  }

  // C (y_gold - mu)
  Vector step_of(const Vector& mu) const {
    Vector s(size());
    for (size_t k = 0; k < size(); ++k) s[k] = C_ * (y_[k] - mu[k]);
    return s;
  }

  Point point(Vector s, Vector theta) {
    Own own = own_at(theta);
    Point at{std::move(s), std::move(theta), std::move(own), {}, Vector(size())};
    at.g = at.s;
    add(step_of(at.own.mu), -1.0, at.g);
    score_under(problem_, i_, at.g.data(), at.Kg.data(), worker_);
    double norm = 0;
    for (size_t k = 0; k < size(); ++k) norm += at.s[k] * (at.theta[k] - start_[k]);
    at.objective = 0.5 * norm + C_ * at.own.loss;
    return at;
  }

  // The direction of L-BFGS by its two loops, and its scores.
  std::pair<Vector, Vector> direction(const Point& at) const {
    Vector d = at.g, Kd = at.Kg;
    Vector alpha(pairs_.size());
    for (size_t k = pairs_.size(); k-- > 0;) {
      const Pair& pair = pairs_[k];
      alpha[k] = pair.rho * dot(pair.Ks, d);
      add(pair.g, -alpha[k], d);
      add(pair.Kg, -alpha[k], Kd);
    }
    if (!pairs_.empty()) {
      const Pair& last = pairs_.back();
      const double scale = 1 / (last.rho * dot(last.g, last.Kg));
      for (double& x : d) x *= scale;
      for (double& x : Kd) x *= scale;
    }
    for (size_t k = 0; k < pairs_.size(); ++k) {
      const Pair& pair = pairs_[k];
      const double c = alpha[k] - pair.rho * dot(pair.Kg, d);
      add(pair.s, c, d);
      add(pair.Ks, c, Kd);
    }
    for (double& x : d) x = -x;
    for (double& x : Kd) x = -x;
    return {std::move(d), std::move(Kd)};
  }

  // A line search for a point with a small slope. The objective is convex, so the signs of slopes bracket it.
  bool advance(const Point& at, Point& next) {
    for (;;) {
      const auto [d, Kd] = direction(at);
      const double down = dot(at.g, Kd);
      if (down < 0 && search(at, d, Kd, down, next)) return true;
      if (pairs_.empty()) return false;
      pairs_.clear();  // rounding has made the direction useless
    }
  }

  bool search(const Point& at, const Vector& d, const Vector& Kd, double down, Point& next) {
    // The first step is that of Alg. 2. The minimum is at most -down / |d|^2 away.
    const double square = dot(d, Kd);
    double step = pairs_.empty() ? std::min(-down / square, at.objective / -down) : 1.0;
    double low = 0, high = kInfinity, slope_of_low = down, slope_of_high = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Vector s = at.s, theta = at.theta;
      add(d, step, s);
      add(Kd, step, theta);
      next = point(std::move(s), std::move(theta));
      const double slope = dot(next.g, Kd);
      const bool fell = next.objective <= at.objective + kRounding * std::fabs(at.objective);
      if (std::fabs(slope) <= kFlat * -down && fell) {
        remember(at, next);
        return true;
      }
      if (slope < 0 && fell) {
        low = step;
        slope_of_low = slope;
      } else {
        high = step;
        slope_of_high = slope > 0 ? slope : -slope_of_low;
      }
      if (high == kInfinity) {
        step *= 4;
      } else {
        const double secant = low - slope_of_low * (high - low) / (slope_of_high - slope_of_low);
        step = std::clamp(secant, low + 0.1 * (high - low), high - 0.1 * (high - low));
      }
      if (!(step > 0) || step == low || step == high) break;
    }
    return false;
  }

  void remember(const Point& at, const Point& next) {
    Pair pair{next.s, next.g, next.theta, next.Kg, 0};
    add(at.s, -1.0, pair.s);
    add(at.g, -1.0, pair.g);
    add(at.theta, -1.0, pair.Ks);
    add(at.Kg, -1.0, pair.Kg);
    const double bend = dot(pair.g, pair.Ks);
    if (!(bend > 0)) return;
    pair.rho = 1 / bend;
    if (pairs_.size() == kPairs) pairs_.erase(pairs_.begin());
    pairs_.push_back(std::move(pair));
  }

  // The step to the weights of the loss's distribution at this point, and the gap there.
  Candidate candidate(const Point& at) {
    const Own& alpha = at.own;
    Vector s = step_of(alpha.mu);
    Vector theta(size());
    score_under(problem_, i_, s.data(), theta.data(), worker_);
    const double norm = dot(s, theta);
    add(start_, 1.0, theta);
    const Own own = own_at(theta);
    const double value = family_.gamma * alpha.cost + alpha.entropy / family_.beta;
    const double gap = C_ * (own.loss - value) + dot(s, theta);
    const double objective = 0.5 * norm + C_ * own.loss;
    return {std::move(s), C_ * value, gap > 0 ? gap / objective : 0.0};
  }

  const Ascent& ascent_;
  const Problem& problem_;
  const LossFamily& family_;
  int64_t i_;
  int64_t n_;
  double C_;
  Worker& worker_;
  std::atomic<int64_t>& inferences_;
  Output gold_;
  Vector y_;  // the parts of the gold output
  Vector delta_;
  double c0_ = 0;
  Vector start_;  // A_i w_t
  std::vector<Pair> pairs_;
};

}  // namespace margrave
