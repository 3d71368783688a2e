// Memory that a thread reuses for all examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace margrave {

// Buffers in stack order: memory taken inside a frame is returned when the frame ends.
class Scratch {
 public:
  double* take(int64_t n) {
    if (used_ == buffers_.size()) buffers_.emplace_back();
    Buffer& buffer = buffers_[used_++];
    if (buffer.size < n) buffer.resize(n + n / 2);
    return buffer.memory.get();
  }

  // One buffer whose contents persist between calls of the same owner; `kept` reports whether they did.
  double* reuse(const void* owner, int64_t n, bool& kept) {
    kept = owner == owner_ && reused_.size == n;
    if (!kept) {
      owner_ = owner;
      reused_.resize(n);
    }
    return reused_.memory.get();
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
  // Reading a vector across two cache lines takes twice as long.
  static constexpr std::align_val_t kCacheLine{64};
  struct Delete {
    void operator()(double* memory) const { ::operator delete[](memory, kCacheLine); }
  };
  // Not initialized: unused pages of a large buffer take no memory.
  struct Buffer {
    std::unique_ptr<double[], Delete> memory;
    int64_t size = 0;

    void resize(int64_t n) {
      memory.reset();  // free the old memory before allocating
      size = 0;
      memory.reset(static_cast<double*>(::operator new[](sizeof(double) * static_cast<size_t>(n), kCacheLine)));
      size = n;
    }
  };
  std::vector<Buffer> buffers_;
  size_t used_ = 0;
  Buffer reused_;
  const void* owner_ = nullptr;
};

}  // namespace margrave
