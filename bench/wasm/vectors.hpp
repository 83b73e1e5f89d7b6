#pragma once

namespace bench {

/// Lets kernels use no wider vectors than these, where the processor has them.
void use_vectors_of_256_bits();

}  // namespace bench
