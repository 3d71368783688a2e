// The hot loops for processors with AVX-512; this file alone is compiled with those switches.
#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Kernels& avx512_kernels() {
  static constexpr Kernels table = kernels_named("avx512");
  return table;
}

}  // namespace margrave
