// Convolutions and their adjoints: each goes to the algorithm that choose.hpp says.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/planned/conv_chain.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::conv {

/// Every op without an overload below. Its type says at compile time that there is no kernel.
template <class T>
std::false_type run(const T&, Call) {
  return {};
}

// False for empty ones, and for those in groups and the largest where oneDNN has nothing.
bool run(const op::Conv& op, Call call);
bool run(const op::ConvTranspose& op, Call call);
bool run(const op::ConvWeightGrad& op, Call call);
// A pointwise convolution and the depthwise one after it, of float32.
bool run(const op::ConvChain& op, Call call);

/// As FastKernels has it.
bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue);

}  // namespace kiln::cpu::conv
