// Memory that a thread reuses from example to example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace margrave {

// Buffers handed out in stack order: what is taken inside a frame is given back when the frame ends.
class Scratch {
 public:
  double* take(int64_t n) {
    if (used_ == buffers_.size()) buffers_.emplace_back();
    Buffer& buffer = buffers_[used_++];
    if (buffer.size < n) {
      buffer.size = n + n / 2;
      buffer.memory.reset();  // before the larger one is there
      buffer.memory.reset(new double[static_cast<size_t>(buffer.size)]);
    }
    return buffer.memory.get();
  }

  // One buffer that its owner finds again as it left it; `kept` tells whether it does.
  double* reuse(const void* owner, int64_t n, bool& kept) {
    kept = owner == owner_ && reused_.size() == static_cast<size_t>(n);
    if (!kept) {
      owner_ = owner;
      reused_.resize(static_cast<size_t>(n));
    }
    return reused_.data();
  }

  class Frame {
   public:
    explicit Frame(Scratch& scratch) : scratch_(scratch), used_(scratch.used_) {}
    ~Frame() { scratch_.used_ = used_; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Scratch& scratch_;
    size_t used_;
  };

 private:
  // Not initialised: what a caller does not use of a large buffer takes no memory.
  struct Buffer {
    std::unique_ptr<double[]> memory;
    int64_t size = 0;
  };
  std::vector<Buffer> buffers_;
  size_t used_ = 0;
  std::vector<double> reused_;
  const void* owner_ = nullptr;
};

}  // namespace margrave
