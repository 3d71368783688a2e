// What a target takes its arguments from: numbers from the first bytes, and the rest as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace margrave::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  // A number from 0 to `most`; 0 at the end.
  int64_t number(int64_t most) {
    uint16_t value = 0;
    take(&value, sizeof value);
    return value % (most + 1);
  }

  // Some numbers of a type; fewer at the end.
  template <class T>
  std::vector<T> numbers(int64_t count) {
    std::vector<T> found(static_cast<size_t>(count));
    found.resize(take(found.data(), found.size() * sizeof(T)) / sizeof(T));
    return found;
  }

  // Some characters.
  std::string_view text(int64_t count) {
    const auto n = static_cast<size_t>(count) < left_ ? static_cast<size_t>(count) : left_;
    const std::string_view found(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    left_ -= n;
    return found;
  }

  std::string_view rest() { return text(static_cast<int64_t>(left_)); }
  std::shared_ptr<const std::string> shared_rest() { return std::make_shared<const std::string>(rest()); }

 private:
  size_t take(void* to, size_t bytes) {
    const size_t n = bytes < left_ ? bytes : left_;
    if (n > 0) std::memcpy(to, at_, n);
    at_ += n;
    left_ -= n;
    return n;
  }

  const uint8_t* at_;
  size_t left_;
};

// Runs what a target tries. A refusal is an InputError; any other exception ends the process.
template <class F>
int tried(const uint8_t* data, size_t size, const F& run) {
  Input input(data, size);
  try {
    run(input);
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}

}  // namespace margrave::fuzz
