// How approximate inference ended on each example, for reports.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace margrave {

// How the last inference on each example ended.
class InferenceStatus {
 public:
  explicit InferenceStatus(int64_t examples)
      : size_(examples),
        sweeps_(std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(examples))),
        certified_(std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(examples))) {}

  int64_t size() const { return size_; }
  // The number of sweeps, negative if messages did not converge; 0: there was none yet.
  int32_t sweeps(int64_t i) const { return sweeps_[static_cast<size_t>(i)].load(std::memory_order_relaxed); }
  // 1: the best output was proved to be best, -1: it was not, 0: there was none yet.
  int32_t certified(int64_t i) const { return certified_[static_cast<size_t>(i)].load(std::memory_order_relaxed); }
  void set_sweeps(int64_t i, int sweeps, bool converged) {
    sweeps_[static_cast<size_t>(i)].store(converged ? std::max(sweeps, 1) : -sweeps, std::memory_order_relaxed);
  }
  void set_certified(int64_t i, bool certified) {
    certified_[static_cast<size_t>(i)].store(certified ? 1 : -1, std::memory_order_relaxed);
  }

 private:
  int64_t size_;
  std::unique_ptr<std::atomic<int32_t>[]> sweeps_, certified_;
};

}  // namespace margrave
