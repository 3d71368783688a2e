// The hot loops for processors with AVX2 and FMA; this file alone is compiled with those switches.
#include "kernels.h"
//
#include "kernels_body.h"

namespace margrave {

const Kernels& avx2_kernels() {
  static constexpr Kernels table{"avx2", score_rows, scatter_rows, dot, softmax, any_chain_logsum, any_chain_viterbi};
  return table;
}

}  // namespace margrave
