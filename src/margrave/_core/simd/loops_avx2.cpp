// The hot loops for processors with AVX2 and FMA; only this file is compiled with those switches.
#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Loops& avx2_loops() {
  static constexpr Loops table = loops_named("avx2");
  return table;
}

}  // namespace margrave
