// The native build's measure: AVX2, whatever more the processor has.
#include <hwy/targets.h>

#include "bench/wasm/vectors.hpp"

namespace bench {

void use_vectors_of_256_bits() { hwy::DisableTargets(HWY_AVX3 | (HWY_AVX3 - 1)); }

}  // namespace bench
