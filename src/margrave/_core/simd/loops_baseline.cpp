// The hot loops for any processor, and the choice among the instruction sets.
#include <atomic>
#include <cstring>

#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Kernels& baseline_kernels() {
  static constexpr Kernels table = kernels_named("baseline");
  return table;
}

namespace {

// What this processor runs, best first.
const Kernels* supported(int rank) {
  const Kernels* found[3] = {};
  int count = 0;
#ifdef MARGRAVE_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    found[count++] = &avx512_kernels();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found[count++] = &avx2_kernels();
#endif
  found[count++] = &baseline_kernels();
  return rank < count ? found[rank] : nullptr;
}

std::atomic<const Kernels*>& chosen() {
  static std::atomic<const Kernels*> table{supported(0)};
  return table;
}

}  // namespace

const Kernels& kernels() { return *chosen().load(std::memory_order_relaxed); }

bool choose_kernels(const char* name) {
  for (int rank = 0; const Kernels* table = supported(rank); ++rank)
    if (std::strcmp(table->name, name) == 0) {
      chosen() = table;
      return true;
    }
  return false;
}

}  // namespace margrave
