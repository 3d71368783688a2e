// The end of Python, at which daemon threads stop where they are.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

namespace margrave {

// When Python ends, it ends every other thread that asks for its lock, by unwinding the stack. Wherever a destructor or
// a function of NumPy's interface is on this stack, C++ answers with std::terminate, which ends the process with an
// error. But such a thread has nothing left to do: it waits, and the process ends without it, as with Python 3.14.
class EndOfPython {
 public:
  static void expect() { before_ = std::set_terminate(&stop); }
  // Called by the thread that ends Python.
  static void begin() {
    ending_ = std::this_thread::get_id();
    begun_ = true;
  }

 private:
  [[noreturn]] static void stop() {
    while (begun_ && std::this_thread::get_id() != ending_ && !std::current_exception())
      std::this_thread::sleep_for(std::chrono::hours(1));
    if (before_) before_();
    std::abort();
  }

  static inline std::terminate_handler before_ = nullptr;
  static inline std::thread::id ending_;  // set before `begun_`
  static inline std::atomic<bool> begun_ = false;
};

}  // namespace margrave
