// The status of approximate inference on each example, for reports, and the messages kept for the next call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protocol/checks.h"

namespace margrave {

class InferenceStatus {
 public:
  explicit InferenceStatus(int64_t examples)
      : size_(examples),
        sweeps_(std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(examples))),
        certified_(std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(examples))) {}

  int64_t size() const { return size_; }
  // The number of sweeps, negative if messages did not converge; 0: not yet run.
  int32_t sweeps(int64_t i) const { return sweeps_[i].load(std::memory_order_relaxed); }
  // 1: the output is certified as the best, -1: it is not, 0: not yet run.
  int32_t certified(int64_t i) const { return certified_[i].load(std::memory_order_relaxed); }
  void set_sweeps(int64_t i, int sweeps, bool converged) {
    sweeps_[i].store(converged ? std::max(sweeps, 1) : -sweeps, std::memory_order_relaxed);
  }
  void set_certified(int64_t i, bool certified) { certified_[i].store(certified ? 1 : -1, std::memory_order_relaxed); }
  // How often a bound replaced an obviously wrong estimate.
  int64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }
  void count_fallback() { fallbacks_.fetch_add(1, std::memory_order_relaxed); }

  // ---- messages that are kept --------------------------------------------------------------------------------------
  // The last messages of an example are the start of the next run. They depend only on the example's own past, so the
  // result of a pass over all examples does not depend on the number of threads.

  // size_of(i): how many numbers example i would keep. The first examples that fit into `most` bytes have room. The
  // others always start from scratch.
  template <class Sizes>
  void make_room(const Sizes& size_of, double most) {
    begin_.assign(1, 0);
    for (int64_t i = 0; i < size_; ++i) {
      const int64_t end = begin_.back() + size_of(i);
      if (static_cast<double>(end) * sizeof(double) > most) break;
      begin_.push_back(end);
    }
    kept_.assign(static_cast<size_t>(begin_.back()), std::numeric_limits<double>::quiet_NaN());
  }
  // The messages of example i, if there are any.
  bool load(int64_t i, std::vector<double>& messages) {
    const int64_t n = room(i);
    if (n == 0) return false;
    const std::lock_guard<std::mutex> lock(lock_of(i));
    const double* const first = kept_.data() + begin_[i];
    if (std::isnan(*first)) return false;
    messages.assign(first, first + n);
    return true;
  }
  bool keeps(int64_t i) const { return room(i) > 0; }
  void store(int64_t i, const std::vector<double>& messages) {
    if (!keeps(i) || room(i) != static_cast<int64_t>(messages.size())) return;
    const std::lock_guard<std::mutex> lock(lock_of(i));
    std::copy(messages.begin(), messages.end(), kept_.begin() + begin_[i]);
  }
  // All messages, NaN where there are none yet, for checkpoints.
  const std::vector<double>& kept() const { return kept_; }
  void set_kept(std::vector<double> messages) {
    if (messages.size() != kept_.size())
      throw InputError("there must be " + std::to_string(kept_.size()) + " numbers of messages, not " +
                       std::to_string(messages.size()) + ".");
    kept_ = std::move(messages);
  }

 private:
  int64_t room(int64_t i) const { return i + 1 < static_cast<int64_t>(begin_.size()) ? begin_[i + 1] - begin_[i] : 0; }
  std::mutex& lock_of(int64_t i) { return locks_[static_cast<size_t>(i) % locks_.size()]; }

  int64_t size_;
  std::unique_ptr<std::atomic<int32_t>[]> sweeps_, certified_;
  std::atomic<int64_t> fallbacks_{0};
  std::vector<int64_t> begin_{0};  // (examples with room + 1), in kept_
  std::vector<double> kept_;
  std::array<std::mutex, 64> locks_;
};

}  // namespace margrave
