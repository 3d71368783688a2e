// Blocks of examples on threads, reduced in order: the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace margrave {

using Poll = std::function<void()>;  // called from time to time on the calling thread; throws to interrupt

// Starts threads that call run(1), run(2), and so on; fewer than wanted if the system refuses.
template <typename Run>
std::vector<std::thread> start_threads(int wanted, const Run& run) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(std::max(0, wanted)));
  try {
    for (int t = 1; t <= wanted; ++t) threads.emplace_back(run, t);
  } catch (const std::exception&) {  // fewer threads change only the running time
  }
  return threads;
}

// Runs work(block, thread) for every block; each thread takes the next free one. After an exception `fail` is called,
// so no thread waits for a block that never comes. The first exception is rethrown when all threads have ended.
template <typename Work, typename Fail>
void for_blocks(int64_t blocks, int threads, const Work& work, const Fail& fail) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto run = [&](int thread) {
    for (int64_t block = next++; block < blocks; block = next++) {
      try {
        work(block, thread);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
        next = blocks;
        fail();
      }
    }
  };
  const int others = static_cast<int>(std::min<int64_t>(threads, blocks)) - 1;
  std::vector<std::thread> pool = start_threads(others, run);
  run(0);
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// Lets block b pass only after blocks 0 .. b-1, which fixes the order of a floating-point reduction.
class Turnstile {
 public:
  template <typename Action>
  void pass(int64_t block, const Action& action) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return next_ == block || broken_; });
    if (!broken_) action();
    ++next_;
    turn_.notify_all();
  }
  // After a failure, no thread may wait for a block that never comes.
  void open() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  int64_t next_ = 0;
  bool broken_ = false;
};

// Threads that stay together through many short phases. The blocks of a phase do not depend on the number of threads,
// and neither do sums over them in order.
class Team {
 public:
  static constexpr int64_t kBlocks = 32;
  using Phase = std::function<void(int64_t block)>;  // must not throw

  explicit Team(int threads) : barrier_(threads) {
    others_ = start_threads(threads - 1, [this](int t) {
      for (;;) {
        barrier_.arrive_and_wait();
        if (!phase_) return;
        run(t);
        barrier_.arrive_and_wait();
      }
    });
    threads_ = static_cast<int>(others_.size()) + 1;
    for (int t = threads_; t < threads; ++t)
      barrier_.arrive_and_drop();  // no thread waits for those that did not start
  }
  ~Team() {
    phase_ = nullptr;
    barrier_.arrive_and_wait();
    for (std::thread& other : others_) other.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void all(const Phase& phase) {
    phase_ = &phase;
    barrier_.arrive_and_wait();
    run(0);
    barrier_.arrive_and_wait();
  }

 private:
  void run(int thread) {
    for (int64_t block = thread; block < kBlocks; block += threads_) (*phase_)(block);
  }

  std::barrier<> barrier_;
  int threads_ = 1;
  const Phase* phase_ = nullptr;
  std::vector<std::thread> others_;
};

}  // namespace margrave
