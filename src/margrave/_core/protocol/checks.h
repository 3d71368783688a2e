// Checks of numbers that come from outside.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace margrave {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Invalid input; the message is one sentence for the user.
struct InputError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

inline constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();
inline constexpr int64_t kMostWeights = int64_t{1} << 40;

// Checks a count from outside. It must be small enough that a sum or a product of two counts does not overflow.
inline int64_t checked_count(int64_t n, const char* what, int64_t least = 0, int64_t most = kMostCount) {
  if (n < least || n > most)
    throw InputError(std::string("the number of ") + what + " must be from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", and it is " + std::to_string(n) + ".");
  return n;
}

// The number of things that nothing else needs to mention, such as examples without gold outputs: arrays of this length
// still fit into memory.
inline constexpr int64_t kMostUnseen = int64_t{1} << 24;

// Checks how many of something there are, such as nodes, given how often the data refer to one of them: a few numbers
// must not describe something that takes far more memory than they do.
inline void check_used(int64_t n, int64_t uses, const char* what, int64_t unused = int64_t{1} << 20) {
  if (n > unused && n - unused > uses)
    throw InputError("the number of " + std::string(what) + " is " + std::to_string(n) +
                     ", and hardly any of them are used: number them without gaps.");
}

inline void check_number(int64_t example, int64_t size) {
  if (example < 0 || example >= size)
    throw InputError("example " + std::to_string(example) + " is out of range: there are " + std::to_string(size) +
                     ".");
}

inline void unsupported(const char* what) { throw InputError(std::string("this problem offers no ") + what + "."); }

}  // namespace margrave
