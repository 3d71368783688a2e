// The hot loops for processors with AVX2 and FMA; this file alone is compiled with those switches.
#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Loops& avx2_loops() {
  static constexpr Loops table = loops_named("avx2");
  return table;
}

}  // namespace margrave
