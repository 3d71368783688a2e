// Natural parameters and marginals of one example: steps, and rounding to 16 bits (see loops_body.h).
#pragma once

#include <cmath>

#include "simd/vectors.h"

namespace margrave {
namespace {

double propose(const double* t, const double* v, double share, double add, int64_t n, double* next) {
  V most = all(0.0);
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const V before = load(t + k);
    const V after = share * before + add * load(v + k);
    store(next + k, after);
    most = max(most, max(after - before, before - after));
  }
  double rest = max(most);
  for (; k < n; ++k) {
    next[k] = share * t[k] + add * v[k];
    const double change = next[k] > t[k] ? next[k] - t[k] : t[k] - next[k];
    rest = change > rest ? change : rest;
  }
  return rest;
}

Comparison compare(const double* t, const double* v, const double* mu, const double* before, int64_t n,
                   double* change) {
  V t_mu = all(0.0);
  V v_moved = all(0.0);
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const V now = load(mu + k);
    const V moved = load(before + k) - now;
    store(change + k, moved);
    t_mu += load(t + k) * now;
    v_moved -= load(v + k) * moved;
  }
  Comparison sums{sum(t_mu), sum(v_moved)};
  for (; k < n; ++k) {
    change[k] = before[k] - mu[k];
    sums.t_mu += t[k] * mu[k];
    sums.v_moved -= v[k] * change[k];
  }
  return sums;
}

constexpr double kToInteger = 0x1.8p52;   // adding and subtracting it rounds to the nearest integer
constexpr double kMostNumber = 32767;     // of int16_t
constexpr double kMostRoot = 65535;       // of uint16_t
constexpr int64_t kRounded = 8 * kLanes;  // numbers that are rounded at a time

inline V nearest(V x) { return (x + kToInteger) - kToInteger; }

// In single precision, which is more than multiples of 16 bits need.
inline V roots(V x) {
#if defined(__AVX512F__)
  const __m256 single = _mm512_maskz_cvtpd_ps(0xff, static_cast<__m512d>(x));
  return static_cast<V>(_mm512_maskz_cvtps_pd(0xff, _mm256_sqrt_ps(single)));
#elif defined(__AVX2__)
  return static_cast<V>(_mm256_cvtps_pd(_mm_sqrt_ps(_mm256_cvtpd_ps(static_cast<__m256d>(x)))));
#else
  V y = x;
  for (int k = 0; k < kLanes; ++k) y[k] = static_cast<double>(std::sqrt(static_cast<float>(x[k])));
  return y;
#endif
}

double largest(const double* x, int64_t n) {
  V most = all(0.0);
  for (int64_t k = 0; kLanes * k < n; ++k) {
    const V value = load_row(x, k, n, 0.0);
    most = max(most, max(value, -value));
  }
  return max(most);
}

// Replaces each number by the value of its multiple, multiple_of(number).
template <typename Integer, typename MultipleOf, typename Value>
void round_to_multiples(double* x, int64_t n, Integer* multiples, const MultipleOf& multiple_of, const Value& value) {
  double block[kRounded];
  for (int64_t first = 0; first < n; first += kRounded) {
    const int64_t size = n - first < kRounded ? n - first : kRounded;
    for (int64_t k = 0; kLanes * k < size; ++k) {
      const V multiple = nearest(multiple_of(load_row(x + first, k, size, 0.0)));
      store(block + kLanes * k, multiple);
      store_row(x + first, k, size, value(multiple));
    }
    for (int64_t k = 0; k < size; ++k) multiples[first + k] = static_cast<Integer>(static_cast<int32_t>(block[k]));
  }
}

double round_numbers(double* x, int64_t n, int16_t* multiples) {
  const double step = largest(x, n) / kMostNumber, per_step = step > 0 ? 1 / step : 0.0;
  round_to_multiples(
      x, n, multiples, [&](V number) { return per_step * number; }, [&](V multiple) { return step * multiple; });
  return step;
}

double round_roots(double* x, int64_t n, uint16_t* multiples) {
  const double step = std::sqrt(largest(x, n)) / kMostRoot, per_step = step > 0 ? 1 / step : 0.0;
  round_to_multiples(
      x, n, multiples, [&](V number) { return min(per_step * roots(max(number, all(0.0))), all(kMostRoot)); },
      [&](V multiple) { return (step * multiple) * (step * multiple); });
  return step;
}

void unpack_numbers(const int16_t* multiples, double step, int64_t n, double* x) {
  for (int64_t k = 0; k < n; ++k) x[k] = step * multiples[k];
}

void unpack_roots(const uint16_t* multiples, double step, int64_t n, double* x) {
  for (int64_t k = 0; k < n; ++k) {
    const double root = step * multiples[k];
    x[k] = root * root;
  }
}

}  // namespace
}  // namespace margrave
