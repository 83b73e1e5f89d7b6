// WebAssembly has vectors of 128 bits alone.
#include "bench/wasm/vectors.hpp"

namespace bench {

void use_vectors_of_256_bits() {}

}  // namespace bench
