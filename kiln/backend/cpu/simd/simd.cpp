#include "kiln/backend/cpu/simd/simd.hpp"

#include "kiln/backend/cpu/family.hpp"

namespace kiln::cpu {

FastKernels simd_kernels() {
  FastKernels kernels =
      family([](const auto& op, Call call) -> decltype(simd::run(op, call)) { return simd::run(op, call); });
  kernels.run_epilogue = simd::run_epilogue;
  return kernels;
}

}  // namespace kiln::cpu
