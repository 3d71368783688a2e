// A small random number generator (xoshiro256++, Blackman and Vigna). The sequence of a seed is the same on every
// platform.
#pragma once

#include <cstdint>

namespace margrave {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {  // splitmix64, as recommended by its authors for seeding
      seed += 0x9e3779b97f4a7c15u;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  // A separate sequence for each example. The seed is mixed first, so example 1 of seed 0 and example 0 of seed 1
  // differ.
  static Random of_example(uint64_t seed, int64_t example) {
    return Random(Random(seed).next() + static_cast<uint64_t>(example));
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // in [0, 1)

  // An index drawn with probability proportional to non-negative weights; the last positive one absorbs rounding.
  int64_t choose(const double* weights, int64_t n) {
    double total = 0;
    for (int64_t k = 0; k < n; ++k) total += weights[k];
    double left = uniform() * total;
    int64_t last = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (weights[k] <= 0) continue;
      last = k;
      left -= weights[k];
      if (left < 0) break;
    }
    return last;
  }

 private:
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t state_[4];
};

}  // namespace margrave
