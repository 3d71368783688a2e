// The natural parameters and marginals that EG stores of each example: in double precision, or compactly.
//
// Stored compactly, a number takes 16 bits, and the numbers of the few heavy parts of an example, which have nearly all
// of the mass, single precision besides. Any natural parameters are those of a distribution, so rounding them costs
// some of D, and no bound. They are rounded before inference, and the marginals after it: what is stored of them
// determines w and the entropy, H = log Z - <t, mu>. As -t is the gradient of the entropy, that is the entropy of the
// rounded marginals up to the square of the error, so steps and gains are exact to first order. Roots of marginals are
// rounded, since an error e of a root adds 2 e^2 to that square, however small the marginal is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "passes/stored_parts.h"
#include "protocol/checks.h"
#include "protocol/outputs.h"
#include "protocol/problem.h"
#include "protocol/scratch.h"
#include "simd/loops.h"

namespace margrave {

// The natural parameters and marginals of one example.
struct Values {
  const double* t;
  const double* mu;
};

// In double precision: n parameters and marginals in arrays of the caller.
class DoubleNumbers {
 public:
  DoubleNumbers(double* t, double* mu, int64_t n) : t_(t), mu_(mu), n_(n) {}

  const double* parameters(Scratch&) const { return t_; }
  Values read(Scratch&) const { return {t_, mu_}; }

  // Rounds numbers in place to what can be stored. Returns the error of <t, mu> that is to be expected.
  static void round_parameters(double*) {}
  static double round_marginals(double*) { return 0; }

  void store_parameters(const double* t) const { std::copy(t, t + n_, t_); }
  void store_marginals(const double* mu) const { std::copy(mu, mu + n_, mu_); }
  void begin(const double* t, const double* mu) const {
    store_parameters(t);
    store_marginals(mu);
  }

 private:
  double* t_;
  double* mu_;
  int64_t n_;
};

// The distributions of all examples in double precision.
struct DoubleDistributions {
  double* t;
  double* mu;

  DoubleNumbers of(const StoredParts& stored, int64_t i, int64_t n) const {
    const int64_t at = stored.begin(i);
    return {t + at, mu ? mu + at : nullptr, n};
  }
};

// Compact numbers: multiples of steps, and the heavy parts of all examples with their numbers. The caller owns the
// arrays; there is room for the heavy parts of example i from room[i] to room[i + 1].
struct CompactDistributions {
  int16_t* t;
  uint16_t* mu;
  double* steps;  // of the parameters and of the roots of the marginals of each example
  const int64_t* room;
  int32_t* heavy;  // how many heavy parts each example has
  int32_t* part;   // which ones, ascending
  float* heavy_t;
  float* heavy_mu;

  class Of;
  Of of(const StoredParts& stored, int64_t i, int64_t n) const;
};

// Parts with at least this mass are heavy; if there are too many, only the largest.
inline constexpr double kHeavy = 1.0 / 1024;
// The room for heavy parts, as a multiple of the parts of the gold output, which are as many as the mass of an output.
inline constexpr int64_t kHeavyPerPart = 4;

// Where the heavy parts of each example begin.
inline std::vector<int64_t> heavy_room(const Problem& problem, const StoredParts& stored) {
  std::vector<int64_t> room{0};
  Output gold;
  for (int64_t i = 0; i < problem.size(); ++i) {
    problem.gold(i, 0, gold);
    const auto most = kHeavyPerPart * static_cast<int64_t>(gold.size());
    room.push_back(room.back() + std::min(most, stored.begin(i + 1) - stored.begin(i)));
  }
  return room;
}

class CompactDistributions::Of {
 public:
  Of(const CompactDistributions& all, const StoredParts& stored, int64_t i, int64_t n)
      : all_(all), i_(i), at_(stored.begin(i)), n_(n) {
    const int64_t first = all.room[i], count = all.heavy[i];
    if (count < 0 || count > all.room[i + 1] - first)
      throw InputError("there are more heavy parts than room for them.");
    heavy_.assign(all.part + first, all.part + first + count);
    for (const int32_t part : heavy_)
      if (part < 0 || part >= n) throw InputError("a heavy part is out of range.");
  }

  const double* parameters(Scratch& scratch) const {
    double* t = scratch.take(n_);
    loops().unpack_numbers(all_.t + at_, all_.steps[2 * i_], n_, t);
    const int64_t first = all_.room[i_];
    for (size_t k = 0; k < heavy_.size(); ++k) t[heavy_[k]] = static_cast<double>(all_.heavy_t[first + k]);
    return t;
  }

  // From here on, the heavy parts are those of these marginals.
  Values read(Scratch& scratch) {
    const double* t = parameters(scratch);
    double* mu = scratch.take(n_);
    loops().unpack_roots(all_.mu + at_, all_.steps[2 * i_ + 1], n_, mu);
    const int64_t first = all_.room[i_];
    for (size_t k = 0; k < heavy_.size(); ++k) mu[heavy_[k]] = static_cast<double>(all_.heavy_mu[first + k]);
    choose_heavy(mu);
    return {t, mu};
  }

  void round_parameters(double* t) {
    t_multiples_.resize(static_cast<size_t>(n_));
    t_step_ = others(t, [&] { return loops().round_numbers(t, n_, t_multiples_.data()); });
  }
  double round_marginals(double* mu) {
    mu_multiples_.resize(static_cast<size_t>(n_));
    mu_step_ = others(mu, [&] { return loops().round_roots(mu, n_, mu_multiples_.data()); });
    return static_cast<double>(n_) * mu_step_ * mu_step_ / 6;  // 2 e^2 each, and e^2 is a twelfth of the step's square
  }

  // Numbers that were rounded last.
  void store_parameters(const double* t) const {
    store_heavy(t, all_.heavy_t);
    all_.steps[2 * i_] = t_step_;
    std::copy(t_multiples_.begin(), t_multiples_.end(), all_.t + at_);
  }
  void store_marginals(const double* mu) const {
    store_heavy(mu, all_.heavy_mu);
    all_.steps[2 * i_ + 1] = mu_step_;
    std::copy(mu_multiples_.begin(), mu_multiples_.end(), all_.mu + at_);
  }

  void begin(double* t, double* mu) {
    choose_heavy(mu);
    round_parameters(t);
    round_marginals(mu);
    store_parameters(t);
    store_marginals(mu);
  }

 private:
  void choose_heavy(const double* mu) {
    heavy_.clear();
    for (int64_t first = 0; first < n_; first += kBlock) {
      const int64_t last = std::min(first + kBlock, n_);
      unsigned found = 0;
      for (int64_t k = first; k < last; ++k) found |= static_cast<unsigned>(mu[k] >= kHeavy);
      for (int64_t k = first; k < last && found != 0; ++k)
        if (mu[k] >= kHeavy) heavy_.push_back(static_cast<int32_t>(k));
    }
    const auto most = static_cast<size_t>(all_.room[i_ + 1] - all_.room[i_]);
    if (heavy_.size() <= most) return;
    const auto end = heavy_.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(heavy_.begin(), end, heavy_.end(),
                     [&](int32_t a, int32_t b) { return mu[a] > mu[b] || (mu[a] == mu[b] && a < b); });
    heavy_.erase(end, heavy_.end());
    std::sort(heavy_.begin(), heavy_.end());
  }

  // Rounds the numbers of heavy parts to single precision, and lets `round` see the others only.
  template <typename Round>
  double others(double* x, const Round& round) {
    kept_.clear();
    for (const int32_t part : heavy_) kept_.push_back(static_cast<float>(std::exchange(x[part], 0.0)));
    const double step = round();
    for (size_t k = 0; k < heavy_.size(); ++k) x[heavy_[k]] = static_cast<double>(kept_[k]);
    return step;
  }

  void store_heavy(const double* x, float* numbers) const {
    const int64_t first = all_.room[i_];
    all_.heavy[i_] = static_cast<int32_t>(heavy_.size());
    for (size_t k = 0; k < heavy_.size(); ++k) {
      all_.part[first + k] = heavy_[k];
      numbers[first + k] = static_cast<float>(x[heavy_[k]]);
    }
  }

  static constexpr int64_t kBlock = 32;  // most blocks have no heavy part

  const CompactDistributions& all_;
  int64_t i_, at_, n_;
  std::vector<int32_t> heavy_;
  std::vector<float> kept_;
  std::vector<int16_t> t_multiples_;
  std::vector<uint16_t> mu_multiples_;
  double t_step_ = 0, mu_step_ = 0;
};

inline CompactDistributions::Of CompactDistributions::of(const StoredParts& stored, int64_t i, int64_t n) const {
  return {*this, stored, i, n};
}

}  // namespace margrave
