// Allocations that fail on purpose, for tests: loaded before a process starts (LD_PRELOAD), it counts the allocations
// of a kind once it is told to, and the n-th fails.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

enum Kind : int { kNone, kNew, kLarge };  // C++'s operator new; any allocation of many bytes
constexpr size_t kLargeBytes = 4096;

std::atomic<int> kind{kNone};
std::atomic<long> counted{0};
std::atomic<long> failing{0};

bool fails(Kind of) { return kind.load(std::memory_order_relaxed) == of && ++counted == failing; }

bool large_fails(size_t bytes) { return bytes >= kLargeBytes && fails(kLarge); }

void* allocated(size_t bytes, size_t alignment) {
  if (fails(kNew) || large_fails(bytes)) return nullptr;
  if (bytes == 0) bytes = 1;
  return alignment == 0 ? __libc_malloc(bytes) : __libc_memalign(alignment, bytes);
}

void* allocated_or_thrown(size_t bytes, size_t alignment = 0) {
  void* const found = allocated(bytes, alignment);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

}  // namespace

extern "C" {

// Counts from now on; the n-th allocation of the kind fails, none if n is 0, and nothing is counted if `of` is 0.
void fail_allocation(int of, long n) {
  kind = kNone;
  counted = 0;
  failing = n;
  kind = of;
}

long allocations() { return counted; }

void* malloc(size_t bytes) {
  if (large_fails(bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  if (large_fails(count * bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) {
  if (large_fails(bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(old, bytes);
}

}  // extern "C"

void* operator new(size_t bytes) { return allocated_or_thrown(bytes); }
void* operator new[](size_t bytes) { return allocated_or_thrown(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocated(bytes, 0); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocated(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t at) { return allocated_or_thrown(bytes, static_cast<size_t>(at)); }
void* operator new[](size_t bytes, std::align_val_t at) { return allocated_or_thrown(bytes, static_cast<size_t>(at)); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, size_t) noexcept { std::free(at); }
void operator delete[](void* at, size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, size_t, std::align_val_t) noexcept { std::free(at); }
