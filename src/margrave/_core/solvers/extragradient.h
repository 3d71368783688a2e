// The extragradient method (Korpelevich, 1976) for the linear programs of LP-Struct (004, section 4, Eq. 13):
//
//   min  |w|_1 + C'xi   subject to   H w + M xi >= margin,  w >= 0 (or of free sign),  xi >= 0
//   max  margin'lambda  subject to   H'lambda <= 1 (|H'lambda| <= 1),  M'lambda <= C,  lambda >= 0
//
// M has ones in the columns of the sites that a constraint occupies. If constraints concern whole outputs, every
// example is one site. Any w with its best slacks gives a value of the first program. Any lambda, scaled down until it
// is feasible, gives a value of the second. Their difference certifies both.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "protocol/checks.h"
#include "solvers/packing.h"
#include "threads/parallel.h"

namespace margrave {

struct LPMaster {
  int64_t rows, columns, sites, examples;
  const int64_t* begin;  // H by rows
  const int32_t* column;
  const double* value;
  const int32_t* first;  // the sites of each row
  const int32_t* last;
  const double* margin;
  const double* C;             // by site: that of its example
  const int64_t* first_sites;  // by example; the last entry is the number of sites
  bool free_sign;
};

enum class StepRule {
  kFrobenius,  // 004's (2 |H|_F^2 + 2 |M|_F^2)^(-1/2)
  kSpectral,   // 0.9 over an estimate of the largest singular value of (H M); shortened if that proves too small
  kScaled,     // the same, after scaling rows and columns by their sums (Pock and Chambolle, 2011)
};

struct ExtragradientSettings {
  StepRule step;
  bool restarts;   // from means, with rebalanced steps; without restarts it is Algorithm 2 as printed
  double goal;     // stop when the values of the programs differ by no more,
  double change;   // or as in Algorithm 2, line 10: when nothing changes by more than this share
  double balance;  // and the two objectives differ by no more than this
  int64_t most;    // maximum number of iterations
  int threads;
};

struct ExtragradientResult {
  int64_t iterations = 0;
  double primal = kInfinity;
  double dual = 0;
  bool done = false;
  std::vector<double> w;  // attains this primal value
};

// One number per block, and their sum in order.
class BlockSum {
 public:
  double& operator[](int64_t block) { return of_[block]; }
  double sum() const {
    double total = 0;
    for (const double value : of_) total += value;
    return total;
  }
  double largest() const { return *std::max_element(of_.begin(), of_.end()); }

 private:
  std::vector<double> of_ = std::vector<double>(Team::kBlocks);
};

class Extragradient {
 public:
  // `weight` lengthens the steps of lambda and shortens those of w and xi.
  Extragradient(const LPMaster& lp, const ExtragradientSettings& settings, double weight, Poll poll)
      : lp_(lp),
        settings_(settings),
        poll_(std::move(poll)),
        team_(lp.begin[lp.rows] < kWorthThreads ? 1 : settings.threads),
        packing_(lp.rows, lp.first, lp.last, lp.sites),
        weight_(weight) {
    transpose();
    choose_steps();
  }

  // Starts from (w, xi, lambda) and sets them to the last iterate, for continuation.
  ExtragradientResult solve(double* w, double* xi, double* lambda);
  double weight() const { return weight_; }

 private:
  // Entries of H: with fewer, threads spend more time waiting than working.
  static constexpr int64_t kWorthThreads = 100'000;
  static constexpr int64_t kEvery = 40;       // iterations between evaluations of the values
  static constexpr double kOfSpectral = 0.9;  // the step, relative to the inverse of the estimated norm (a lower bound)
  static constexpr double kShorter = 0.7;     // factor for a step that proved too long
  static constexpr double kRounding = 1e-12;  // relative error of a difference of squares
  // When to restart (PDLP: Applegate et al., 2021): at kSufficient times the gap at the last restart, at kNecessary
  // times if the gap has begun to rise, and after the share kLong of all iterations.
  static constexpr double kSufficient = 0.2, kNecessary = 0.8, kLong = 1.0 / 3;

  struct Point {
    std::vector<double> w, xi, lambda;
    explicit Point(const LPMaster& lp)
        : w(static_cast<size_t>(lp.columns)), xi(static_cast<size_t>(lp.sites)), lambda(static_cast<size_t>(lp.rows)) {}
  };
  struct Values {
    double primal, dual;
    double gap() const { return primal - dual; }
  };
  // Squared lengths of a step and of the point it reached, for (w, xi) and for lambda, and the margin of the step
  // length test.
  struct Moved {
    double primal = 0, dual = 0, of_x = 0, of_lambda = 0, against = 0;
    void add(const Moved& other) {
      primal += other.primal;
      dual += other.dual;
      of_x += other.of_x;
      of_lambda += other.of_lambda;
      against += other.against;
    }
  };

  template <typename Visit>  // calls visit(k) for the indices of a block out of n
  static void for_part(int64_t n, int64_t block, const Visit& visit) {
    const int64_t last = n * (block + 1) / Team::kBlocks;
    for (int64_t k = n * block / Team::kBlocks; k < last; ++k) visit(k);
  }
  double row_dot(int64_t r, const std::vector<double>& w) const {
    double sum = 0;
    for (int64_t k = lp_.begin[r]; k < lp_.begin[r + 1]; ++k) sum += lp_.value[k] * w[lp_.column[k]];
    return sum;
  }
  double column_dot(int64_t j, const std::vector<double>& lambda) const {
    double sum = 0;
    for (int64_t k = column_begin_[j]; k < column_begin_[j + 1]; ++k) sum += column_value_[k] * lambda[column_row_[k]];
    return sum;
  }
  double site_sum(int64_t site, const std::vector<double>& lambda) const {
    double sum = 0;
    for (int64_t k = site_begin_[site]; k < site_begin_[site + 1]; ++k) sum += lambda[site_row_[k]];
    return sum;
  }
  double xi_of_row(int64_t r, const Point& at) const {
    double sum = at.xi[lp_.first[r]];
    for (int32_t site = lp_.first[r] + 1; site <= lp_.last[r]; ++site) sum += at.xi[site];
    return sum;
  }

  void transpose();
  void choose_steps();
  double spectral_norm();
  Values values(const Point& at);
  Moved iterate();
  void move(const Point& from, const Point& at, Point& to, bool extra);
  bool reached_tolerances(const Moved& moved) const;
  void rebalance(const Point& start);

  const LPMaster& lp_;
  const ExtragradientSettings settings_;
  const Poll poll_;
  Team team_;
  const Packing packing_;
  std::vector<int64_t> column_begin_, site_begin_;  // H and M by columns
  std::vector<int32_t> column_row_, site_row_;
  std::vector<double> column_value_;
  std::vector<double> of_w_, of_xi_, of_lambda_;  // relative step lengths,
  double eta_ = 1;                                // times this for all,
  double weight_;                                 // times this for lambda, divided by it for w and xi
  Point z_{lp_}, bar_{lp_}, next_{lp_}, slope_{lp_}, sum_{lp_};
  std::vector<Moved> moves_ = std::vector<Moved>(Team::kBlocks);
};

inline void Extragradient::transpose() {
  column_begin_.assign(static_cast<size_t>(lp_.columns) + 1, 0);
  site_begin_.assign(static_cast<size_t>(lp_.sites) + 1, 0);
  const int64_t n = lp_.begin[lp_.rows];
  for (int64_t k = 0; k < n; ++k) ++column_begin_[static_cast<size_t>(lp_.column[k]) + 1];
  for (int64_t r = 0; r < lp_.rows; ++r)
    for (int32_t site = lp_.first[r]; site <= lp_.last[r]; ++site) ++site_begin_[site + 1];
  std::partial_sum(column_begin_.begin(), column_begin_.end(), column_begin_.begin());
  std::partial_sum(site_begin_.begin(), site_begin_.end(), site_begin_.begin());
  column_row_.resize(static_cast<size_t>(n));
  column_value_.resize(static_cast<size_t>(n));
  site_row_.resize(static_cast<size_t>(site_begin_.back()));
  std::vector<int64_t> next = column_begin_, next_of_site = site_begin_;
  for (int64_t r = 0; r < lp_.rows; ++r) {
    for (int64_t k = lp_.begin[r]; k < lp_.begin[r + 1]; ++k) {
      const auto place = static_cast<size_t>(next[lp_.column[k]]++);
      column_row_[place] = static_cast<int32_t>(r);
      column_value_[place] = lp_.value[k];
    }
    for (int32_t site = lp_.first[r]; site <= lp_.last[r]; ++site)
      site_row_[next_of_site[site]++] = static_cast<int32_t>(r);
  }
}

inline void Extragradient::choose_steps() {
  of_w_.assign(static_cast<size_t>(lp_.columns), 1.0);
  of_xi_.assign(static_cast<size_t>(lp_.sites), 1.0);
  of_lambda_.assign(static_cast<size_t>(lp_.rows), 1.0);
  if (settings_.step == StepRule::kFrobenius) {
    double squares = static_cast<double>(site_row_.size());
    for (int64_t k = 0; k < lp_.begin[lp_.rows]; ++k) squares += lp_.value[k] * lp_.value[k];
    eta_ = 1 / std::sqrt(2 * squares);
    return;
  }
  if (settings_.step == StepRule::kScaled) {
    std::vector<double> unit(of_w_.size(), 1.0);  // unit of each feature: its mean size
    for (size_t j = 0; j < of_w_.size(); ++j) {
      double sum = 0;
      for (int64_t k = column_begin_[j]; k < column_begin_[j + 1]; ++k) sum += std::fabs(column_value_[k]);
      if (!(sum > 0)) continue;
      unit[j] = sum / static_cast<double>(column_begin_[j + 1] - column_begin_[j]);
      of_w_[j] = 1 / sum / unit[j];
    }
    for (int64_t r = 0; r < lp_.rows; ++r) {
      double sum = lp_.last[r] - lp_.first[r] + 1;
      for (int64_t k = lp_.begin[r]; k < lp_.begin[r + 1]; ++k) sum += std::fabs(lp_.value[k]) / unit[lp_.column[k]];
      of_lambda_[r] = 1 / sum;
    }
    for (size_t i = 0; i < of_xi_.size(); ++i)
      of_xi_[i] = 1 / std::max(1.0, static_cast<double>(site_begin_[i + 1] - site_begin_[i]));
  }
  eta_ = kOfSpectral / spectral_norm();
}

// A lower estimate of the largest singular value of (H M), scaled, by power iteration.
inline double Extragradient::spectral_norm() {
  constexpr int kIterations = 20;
  Point z(lp_);
  for (size_t r = 0; r < z.lambda.size(); ++r)  // asymmetric, so not orthogonal to a singular vector
    z.lambda[r] = 1 + 0.5 * std::sin(static_cast<double>(r));
  double norm = 1;
  for (int t = 0; t < kIterations; ++t) {
    BlockSum length;
    team_.all([&](int64_t block) {
      for_part(lp_.columns, block, [&](int64_t j) { z.w[j] = of_w_[j] * column_dot(j, z.lambda); });
      for_part(lp_.sites, block, [&](int64_t site) { z.xi[site] = of_xi_[site] * site_sum(site, z.lambda); });
    });
    team_.all([&](int64_t block) {
      double sum = 0;
      for_part(lp_.rows, block, [&](int64_t r) {
        double& of_row = z.lambda[r];
        of_row = of_lambda_[r] * (row_dot(r, z.w) + xi_of_row(r, z));
        sum += of_row * of_row;
      });
      length[block] = sum;
    });
    norm = std::sqrt(length.sum());
    if (!(norm > 0)) return 1;
    for (double& value : z.lambda) value /= norm;
  }
  return std::sqrt(norm);
}

// The value of w with the best slacks, and that of lambda scaled down until it is feasible.
inline Extragradient::Values Extragradient::values(const Point& at) {
  BlockSum primal, dual, excess;
  std::vector<double> short_of(static_cast<size_t>(lp_.rows));
  team_.all([&](int64_t block) {
    double sum = 0, most = 1;
    for_part(lp_.rows, block, [&](int64_t r) {
      short_of[r] = lp_.margin[r] - row_dot(r, at.w);
      sum += lp_.margin[r] * at.lambda[r];
    });
    for_part(lp_.columns, block, [&](int64_t j) {
      const double load = column_dot(j, at.lambda);
      most = std::max(most, lp_.free_sign ? std::fabs(load) : load);
    });
    for_part(lp_.sites, block, [&](int64_t site) {
      const double mass = site_sum(site, at.lambda);
      if (mass > 0) most = std::max(most, mass / lp_.C[site]);
    });
    dual[block] = sum;
    excess[block] = most;
  });
  team_.all([&](int64_t block) {
    double sum = 0;
    for_part(lp_.columns, block, [&](int64_t j) { sum += std::fabs(at.w[j]); });
    std::vector<double> best;
    for_part(lp_.examples, block, [&](int64_t i) {
      const int64_t from = lp_.first_sites[i];
      sum += lp_.C[from] * packing_.most(short_of.data(), from, lp_.first_sites[i + 1] - 1, best);
    });
    primal[block] = sum;
  });
  return {primal.sum(), dual.sum() / excess.largest()};
}

// One half of Eq. 13: `to` is the projection of `from` moved along the slopes at `at`. The first half stores the
// slopes. The second, `extra`, measures the step.
inline void Extragradient::move(const Point& from, const Point& at, Point& to, bool extra) {
  const double of_primal = eta_ / weight_, of_dual = eta_ * weight_;
  team_.all([&](int64_t block) {
    Moved moved;
    // Korpelevich's proof needs 2 <F(z) - F(bar), next - bar> <= |bar - z|^2 + |next - bar|^2 in the norm of the steps.
    const auto note = [&](double length, double z, double bar, double next, double slope, double before, double& far,
                          double& size) {
      far += (next - z) * (next - z);
      size += next * next;
      moved.against +=
          ((bar - z) * (bar - z) + (next - bar) * (next - bar)) / length - 2 * (slope - before) * (bar - next);
    };
    for_part(lp_.columns, block, [&](int64_t number) {
      const auto j = static_cast<size_t>(number);
      const double length = of_primal * of_w_[j], slope = column_dot(number, at.lambda);
      const double moves = from.w[j] + length * slope;
      to.w[j] = lp_.free_sign ? std::copysign(std::max(std::fabs(moves) - length, 0.0), moves)
                              : std::max(moves - length, 0.0);
      if (extra)
        note(length, from.w[j], at.w[j], to.w[j], -slope, slope_.w[j], moved.primal, moved.of_x);
      else
        slope_.w[j] = -slope;
    });
    for_part(lp_.sites, block, [&](int64_t number) {
      const auto i = static_cast<size_t>(number);
      const double length = of_primal * of_xi_[i], slope = lp_.C[number] - site_sum(number, at.lambda);
      to.xi[i] = std::max(from.xi[i] - length * slope, 0.0);
      if (extra)
        note(length, from.xi[i], at.xi[i], to.xi[i], slope, slope_.xi[i], moved.primal, moved.of_x);
      else
        slope_.xi[i] = slope;
    });
    for_part(lp_.rows, block, [&](int64_t number) {
      const auto r = static_cast<size_t>(number);
      const double length = of_dual * of_lambda_[r];
      const double slope = lp_.margin[number] - xi_of_row(number, at) - row_dot(number, at.w);
      to.lambda[r] = std::max(from.lambda[r] + length * slope, 0.0);
      if (extra)
        note(length, from.lambda[r], at.lambda[r], to.lambda[r], -slope, slope_.lambda[r], moved.dual, moved.of_lambda);
      else
        slope_.lambda[r] = -slope;
    });
    moves_[block] = moved;
  });
}

// Both halves, with shorter steps if the current ones prove too long.
inline Extragradient::Moved Extragradient::iterate() {
  for (;;) {
    move(z_, z_, bar_, false);
    move(z_, bar_, next_, true);
    Moved moved;
    for (const Moved& of_block : moves_) moved.add(of_block);
    const bool too_long = moved.against < -kRounding * (moved.of_x + moved.of_lambda);
    if (settings_.step == StepRule::kFrobenius || !too_long) {
      std::swap(z_, next_);
      return moved;
    }
    eta_ *= kShorter;
  }
}

// Algorithm 2, line 10.
inline bool Extragradient::reached_tolerances(const Moved& moved) const {
  double ours = 0, theirs = 0;
  for (const double value : z_.w) ours += std::fabs(value);
  for (size_t i = 0; i < z_.xi.size(); ++i) ours += lp_.C[i] * z_.xi[i];
  for (size_t r = 0; r < z_.lambda.size(); ++r) theirs += lp_.margin[r] * z_.lambda[r];
  const double share = settings_.change * settings_.change;
  return moved.primal < share * moved.of_x && moved.dual < share * moved.of_lambda &&
         std::fabs(ours - theirs) < settings_.balance;
}

// Makes the steps of (w, xi) and of lambda proportional to the distances that both moved since the last restart (PDLP).
inline void Extragradient::rebalance(const Point& start) {
  struct Way {
    double gone = 0, length = 0;
    void add(const std::vector<double>& from, const std::vector<double>& to, const std::vector<double>& step) {
      for (size_t k = 0; k < to.size(); ++k) {
        gone += (to[k] - from[k]) * (to[k] - from[k]) / step[k];
        length += to[k] * to[k] / step[k];
      }
    }
    bool any() const { return gone > kRounding * kRounding * length; }
  } x, lambda;
  x.add(start.w, z_.w, of_w_);
  x.add(start.xi, z_.xi, of_xi_);
  lambda.add(start.lambda, z_.lambda, of_lambda_);
  if (x.any() && lambda.any()) weight_ = std::sqrt(weight_ * std::sqrt(lambda.gone / x.gone));
}

inline ExtragradientResult Extragradient::solve(double* w, double* xi, double* lambda) {
  const auto each = [](Point& a, const Point& b, const auto& visit) {
    for (size_t k = 0; k < a.w.size(); ++k) visit(a.w[k], b.w[k]);
    for (size_t k = 0; k < a.xi.size(); ++k) visit(a.xi[k], b.xi[k]);
    for (size_t k = 0; k < a.lambda.size(); ++k) visit(a.lambda[k], b.lambda[k]);
  };
  std::copy_n(w, lp_.columns, z_.w.begin());
  std::copy_n(xi, lp_.sites, z_.xi.begin());
  std::copy_n(lambda, lp_.rows, z_.lambda.begin());
  Point start = z_, mean(lp_);
  const Values first = values(z_);
  ExtragradientResult result{0, first.primal, first.dual, first.gap() <= settings_.goal, z_.w};
  double at_restart = first.gap(), last = kInfinity;
  int64_t since = 0;
  const auto remember = [&](const Point& at, const Values& found) {
    if (found.primal < result.primal) {
      result.primal = found.primal;
      result.w = at.w;
    }
    result.dual = std::max(result.dual, found.dual);
  };
  while (!result.done && result.iterations < settings_.most) {
    const Moved moved = iterate();
    each(sum_, bar_, [](double& sum, double value) { sum += value; });
    ++result.iterations;
    ++since;
    if (settings_.change > 0 && reached_tolerances(moved)) {
      remember(z_, values(z_));
      result.done = true;
      break;
    }
    if (result.iterations % kEvery != 0) continue;
    poll_();
    const Values now = values(z_);
    if (!settings_.restarts) {
      remember(z_, now);
      result.done = result.primal - result.dual <= settings_.goal;
      continue;
    }
    mean = sum_;
    each(mean, mean, [&](double& value, double) { value /= static_cast<double>(since); });
    const Values average = values(mean);
    remember(z_, now);
    remember(mean, average);
    result.done = result.primal - result.dual <= settings_.goal;
    const double gap = std::min(now.gap(), average.gap());
    const bool long_since = static_cast<double>(since) >= kLong * static_cast<double>(result.iterations);
    const bool restart = gap <= kSufficient * at_restart || (gap <= kNecessary * at_restart && gap > last) ||
                         (gap < at_restart && long_since);
    last = gap;
    if (!restart || result.done || result.iterations >= settings_.most) continue;  // never end on a mean: no zeros
    if (average.gap() < now.gap()) z_ = mean;                                      // restart from the better point
    if (settings_.step != StepRule::kFrobenius) rebalance(start);
    start = z_;
    each(sum_, sum_, [](double& value, double) { value = 0; });
    since = 0;
    at_restart = gap;
    last = kInfinity;
  }
  std::copy(z_.w.begin(), z_.w.end(), w);
  std::copy(z_.xi.begin(), z_.xi.end(), xi);
  std::copy(z_.lambda.begin(), z_.lambda.end(), lambda);
  return result;
}

}  // namespace margrave
