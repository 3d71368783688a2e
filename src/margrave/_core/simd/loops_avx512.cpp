// The hot loops for processors with AVX-512; only this file is compiled with those switches.
#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Loops& avx512_loops() {
  static constexpr Loops table = loops_named("avx512");
  return table;
}

}  // namespace margrave
