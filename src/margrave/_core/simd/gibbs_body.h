// Natural parameters and marginals of one example, stored in double or single precision (see loops_body.h).
#pragma once

#include "simd/vectors.h"

namespace margrave {
namespace {

typedef float F __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline V load_real(const double* p) { return load(p); }
inline V load_real(const float* p) { return __builtin_convertvector(*reinterpret_cast<const F*>(p), V); }
inline void store_real(double* p, V x) { store(p, x); }
inline void store_real(float* p, V x) { *reinterpret_cast<F*>(p) = __builtin_convertvector(x, F); }
inline V rounded(const double*, V x) { return x; }
inline V rounded(const float*, V x) { return __builtin_convertvector(__builtin_convertvector(x, F), V); }

template <typename Real>
double propose(const Real* t, const double* v, double share, double add, int64_t n, double* next) {
  V most = all(0.0);
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const V before = load_real(t + k);
    const V after = rounded(t, share * before + add * load(v + k));
    store(next + k, after);
    most = max(most, max(after - before, before - after));
  }
  double rest = max(most);
  for (; k < n; ++k) {
    const auto before = static_cast<double>(t[k]);
    next[k] = static_cast<double>(static_cast<Real>(share * before + add * v[k]));
    const double change = next[k] > before ? next[k] - before : before - next[k];
    rest = change > rest ? change : rest;
  }
  return rest;
}

template <typename Real>
Comparison compare(const double* t, const double* v, const double* mu, const Real* before, int64_t n, double* change) {
  V t_mu = all(0.0);
  V v_moved = all(0.0);
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const V now = load(mu + k);
    const V moved = load_real(before + k) - rounded(before, now);
    store(change + k, moved);
    t_mu += load(t + k) * now;
    v_moved -= load(v + k) * moved;
  }
  Comparison sums{sum(t_mu), sum(v_moved)};
  for (; k < n; ++k) {
    change[k] = static_cast<double>(before[k]) - static_cast<double>(static_cast<Real>(mu[k]));
    sums.t_mu += t[k] * mu[k];
    sums.v_moved -= v[k] * change[k];
  }
  return sums;
}

template <typename Real>
void store_all(const double* from, int64_t n, Real* to) {
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) store_real(to + k, load(from + k));
  for (; k < n; ++k) to[k] = static_cast<Real>(from[k]);
}

}  // namespace
}  // namespace margrave
