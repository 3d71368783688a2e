// Numbers with a wide exponent, for sums of products outside the range of doubles.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

namespace margrave {

// A number >= 0 with a 64-bit exponent: mantissa 2^(512 exponent), mantissa 0 or in [2^-256, 2^256).
class Wide {
 public:
  Wide() = default;
  explicit Wide(double value) : Wide(normal(value, 0)) {}

  static Wide exp(double x) {
    constexpr double kRest = 0x1.abc9e3b39803fp-47;  // log 2^512 = kDigit + kRest
    constexpr double kMostDigits = 0x1p48;  // e^(-1e17) counts as 0, leaving room for products of thousands of arcs
    const double digits = std::floor(x / kDigit + 0.5);
    if (!(digits > -kMostDigits)) return Wide();
    return normal(std::exp(std::fma(-digits, kRest, std::fma(-digits, kDigit, x))), static_cast<int64_t>(digits));
  }

  bool zero() const { return mantissa_ == 0; }
  double log() const { return std::log(mantissa_) + static_cast<double>(exponent_) * kDigit; }
  double value() const {  // of a number below 2^1024
    return exponent_ < -2 ? 0.0 : std::ldexp(mantissa_, 512 * static_cast<int>(exponent_));
  }

  friend Wide operator+(Wide a, Wide b) {
    if (a.exponent_ < b.exponent_) std::swap(a, b);
    const int64_t apart = a.exponent_ - b.exponent_;
    if (apart > 1) return a;
    const double sum = a.mantissa_ + (apart == 0 ? b.mantissa_ : b.mantissa_ * kDown);
    return sum < kTop ? Wide(sum, a.exponent_) : Wide(sum * kDown, a.exponent_ + 1);
  }
  friend Wide operator*(Wide a, Wide b) { return normal(a.mantissa_ * b.mantissa_, a.exponent_ + b.exponent_); }
  friend Wide operator/(Wide a, Wide b) { return normal(a.mantissa_ / b.mantissa_, a.exponent_ - b.exponent_); }

 private:
  Wide(double mantissa, int64_t exponent) : mantissa_(mantissa), exponent_(exponent) {}

  static Wide normal(double mantissa, int64_t exponent) {
    if (mantissa >= kTop) return Wide(mantissa * kDown, exponent + 1);
    if (mantissa >= kBottom) return Wide(mantissa, exponent);
    return mantissa > 0 ? Wide(mantissa * kUp, exponent - 1) : Wide();
  }

  static constexpr double kTop = 0x1p256, kBottom = 0x1p-256, kUp = 0x1p512, kDown = 0x1p-512;
  static constexpr double kDigit = 0x1.62e42fefa39efp+8;  // log 2^512
  static constexpr int64_t kZero = -(int64_t{1} << 61);   // exponent of 0: never the larger one in a sum

  double mantissa_ = 0;
  int64_t exponent_ = kZero;
};

}  // namespace margrave
