// Memory that a thread reuses from example to example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace margrave {

// Buffers handed out in stack order: what is taken inside a frame is given back when the frame ends.
class Scratch {
 public:
  double* take(int64_t n) {
    if (used_ == buffers_.size()) buffers_.emplace_back();
    std::vector<double>& buffer = buffers_[used_++];
    const auto wanted = static_cast<size_t>(n);
    if (buffer.size() < wanted) buffer.resize(wanted + wanted / 2);
    return buffer.data();
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
  std::vector<std::vector<double>> buffers_;
  size_t used_ = 0;
};

}  // namespace margrave
