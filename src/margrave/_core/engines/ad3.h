// AD3 (Martins et al. 2015): the linear relaxation of the best output, split between factors that must agree.
//
// Every factor has its own copy q_f of the marginals of its variables. The copy ranges over the convex hull of the
// labelings that the factor allows. All copies must agree with the marginals z. With multipliers u of that agreement
// and a step size eta, an iteration is
//
//   q_f <- argmax over the hull of f of <scores_f + u_f, q> - eta / 2 |q - z|^2,    a projection
//   z   <- the mean of the copies,    u_f <- u_f - eta (q_f - z)
//
// For any multipliers, the sum of the maxima of the factors is an upper bound on the score of every output. An output
// that attains the bound is certified to be optimal. Two classes supply the factors: engines/factor_relaxation.h for
// factor graphs, and engines/arc_decoder.h for trees with pairs of arcs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace margrave {

struct RelaxationSettings {
  int iterations = 500;      // at most
  double tolerance = 1e-7;   // of the residuals, below which the relaxation counts as solved
  int64_t trials = 100'000;  // maximum number of labels tried if rounding finds no allowed labeling
};

struct Relaxed {
  double value = -std::numeric_limits<double>::infinity();  // of the best output found
  double bound = -std::numeric_limits<double>::infinity();  // no output has a higher score
  bool certified = false;                                   // the output attains the bound
  bool converged = false;                                   // certified, or the relaxation is solved
  int iterations = 0;

  // Whether an output was found, and is this close to the bound.
  bool attains_bound(double equal) const {
    return value > -std::numeric_limits<double>::infinity() && value >= bound - equal;
  }
};

// The sum, mean and maximum of the absolute scores that are neither 0 nor -inf; 1 if there are none. Steps and
// tolerances are relative to them, so the unit of the scores does not matter.
struct ScoreSize {
  double sum = 1, mean = 1, largest = 1;
};

inline ScoreSize size_of_scores(const double* theta, int64_t parts) {
  double sum = 0, largest = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < parts; ++k) {
    if (std::isinf(theta[k]) || theta[k] == 0) continue;
    sum += std::fabs(theta[k]);
    largest = std::max(largest, std::fabs(theta[k]));
    ++count;
  }
  return count > 0 ? ScoreSize{sum, sum / static_cast<double>(count), largest} : ScoreSize{};
}

// Root mean squares over all copies: of q - z, and of the change of z.
struct Residuals {
  double primal, dual;
};

// Factors have
//   double scale()                   the size of their scores, which is the first eta
//   double equal()                   a score this close to the bound attains it
//   double maxima()                  the sum of their maxima at the multipliers; -inf if one allows nothing
//   void after_maxima(Relaxed&)      try outputs that the maxima suggest
//   Residuals step(eta, tolerance)   an iteration
//   void after_step(Relaxed&)        try outputs that z suggests
template <class Factors>
Relaxed ad3(Factors& factors, const RelaxationSettings& settings) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kApart = 10;  // residuals that differ by this factor change the step size
  constexpr int kAdapt = 10;
  Relaxed result;
  result.bound = kInfinite;
  double eta = factors.scale();
  const auto reached = [&] { return result.attains_bound(factors.equal()); };
  const auto tighten = [&] { result.bound = std::min(result.bound, factors.maxima()); };
  while (result.iterations < settings.iterations) {
    ++result.iterations;
    tighten();
    if (result.bound == -kInfinite) return result;
    factors.after_maxima(result);
    if (reached()) break;
    const Residuals residuals = factors.step(eta, settings.tolerance);
    factors.after_step(result);
    if (reached()) break;
    result.converged = residuals.primal < settings.tolerance && residuals.dual < settings.tolerance;
    if (result.converged || result.iterations == settings.iterations) {
      tighten();
      break;
    }
    if (result.iterations % kAdapt != 0) continue;
    if (residuals.primal > kApart * residuals.dual)
      eta *= 2;
    else if (residuals.dual > kApart * residuals.primal)
      eta /= 2;
  }
  result.certified = reached();
  result.converged = result.converged || result.certified;
  return result;
}

}  // namespace margrave
