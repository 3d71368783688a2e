// The hot loops for processors with AVX2 and FMA; this file alone is compiled with those switches.
#include "simd/loops.h"
//
#include "simd/loops_body.h"

namespace margrave {

const Kernels& avx2_kernels() {
  static constexpr Kernels table = kernels_named("avx2");
  return table;
}

}  // namespace margrave
