// The time limit of a run, seen wherever passes look for Ctrl-C.
#pragma once

#include <chrono>
#include <exception>
#include <limits>

namespace margrave {

// Becomes `_core.TimeUpError` in Python.
struct TimeUp : std::exception {
  const char* what() const noexcept override { return "the time limit has passed"; }
};

// The deadline of the calling thread. Threads of a pass have none: the thread that started them looks at its own.
class Deadline {
 public:
  // Infinite if there is none; negative after the deadline.
  static double seconds_left() {
    return limited() ? std::chrono::duration<double>(at_ - Clock::now()).count()
                     : std::numeric_limits<double>::infinity();
  }
  static void set_seconds_left(double seconds) {
    constexpr double kLongest = 1e9;  // longer limits are none, and would overflow the clock
    at_ = seconds < kLongest ? Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                                  seconds > -kLongest ? seconds : -kLongest))
                             : Clock::time_point::max();
  }
  static void check() {
    if (limited() && Clock::now() > at_) throw TimeUp();
  }

 private:
  using Clock = std::chrono::steady_clock;

  static bool limited() { return at_ != Clock::time_point::max(); }

  static inline thread_local Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace margrave
