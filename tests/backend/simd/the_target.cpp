// The sweep over instruction sets, where kernels are compiled for one.
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {

void for_each_target(const std::function<void()>& body) { body(); }

}  // namespace kiln::cpu::simd
