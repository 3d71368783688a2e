// The hot loops for any processor, and the choice among the instruction sets.
#include <atomic>
#include <cstring>

#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Loops& baseline_loops() {
  static constexpr Loops table = loops_named("baseline");
  return table;
}

const Loops* supported_loops(int rank) {
  const Loops* found[3] = {};
  int count = 0;
#ifdef MARGRAVE_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    found[count++] = &avx512_loops();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found[count++] = &avx2_loops();
#endif
  found[count++] = &baseline_loops();
  return rank < count ? found[rank] : nullptr;
}

namespace {

std::atomic<const Loops*>& chosen() {
  static std::atomic<const Loops*> table{supported_loops(0)};
  return table;
}

}  // namespace

const Loops& loops() { return *chosen().load(std::memory_order_relaxed); }

bool choose_loops(const char* name) {
  for (int rank = 0; const Loops* table = supported_loops(rank); ++rank)
    if (std::strcmp(table->name, name) == 0) {
      chosen() = table;
      return true;
    }
  return false;
}

}  // namespace margrave
