// Kernels of oneDNN, for contractions.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/product/matmul_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::onednn {

/// Every op without an overload below. Its type says at compile time that there is no kernel.
template <class T>
std::false_type run(const T&, Call) {
  return {};
}

// The half types: bfloat16 itself where the processor has it, otherwise on float32 copies. And float32, but for
// products of matrices, which simd/ has.
bool run(const op::Matmul&, Call call);
bool run(const op::Conv& conv, Call call);
bool run(const op::ConvTranspose& op, Call call);
bool run(const op::ConvWeightGrad& op, Call call);

/// FastKernels::multiply, for convolutions.
bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue);

}  // namespace kiln::cpu::onednn
