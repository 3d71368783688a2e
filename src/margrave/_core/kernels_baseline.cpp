// The hot loops for any processor, and the choice among the instruction sets.
#include "kernels.h"
//
#include "kernels_body.h"

namespace margrave {

const Kernels& baseline_kernels() {
  static const Kernels table{"baseline", score_rows, scatter_rows, dot, softmax, any_chain_logsum, any_chain_viterbi};
  return table;
}

const Kernels& kernels() {
#ifdef MARGRAVE_AVX2
  static const bool newer = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (newer) return avx2_kernels();
#endif
  return baseline_kernels();
}

}  // namespace margrave
