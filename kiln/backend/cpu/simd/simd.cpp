#include "kiln/backend/cpu/simd/simd.hpp"

#include "kiln/backend/cpu/family.hpp"

namespace kiln::cpu {

FastKernels simd_kernels() {
  FastKernels kernels = family([](const auto& op, Call call) { return simd::run(op, call); });
  kernels.finish = simd::finish;
  return kernels;
}

}  // namespace kiln::cpu
