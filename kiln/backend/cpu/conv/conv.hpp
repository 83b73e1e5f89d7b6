// Convolutions on our own loops: of few channels directly, of channels by themselves, of few pixels and many weights on
// the tiles of matrix products, of 3 x 3 and many channels by Winograd's way, and as products of matrices where that is
// quicker, or where nobody else has a kernel.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/planned/conv_chain.hpp"

namespace kiln::cpu::conv {

/// Every op without an overload below. Its type says at compile time that there is no kernel.
template <class T>
std::false_type run(const T&, Call) {
  return {};
}

// float32 and float64, and halves by way of float32, in one group or, but for float64, in one of each channel. The
// largest go to the reference.
bool run(const op::Conv& op, Call call);
bool run(const op::ConvTranspose& op, Call call);
bool run(const op::ConvWeightGrad& op, Call call);
// A pointwise convolution and the depthwise one after it, of float32.
bool run(const op::ConvChain& op, Call call);

/// FastKernels::multiply.
bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue);

/// Are these loops ahead of oneDNN's for the case? Then oneDNN leaves it to them.
bool is_ahead(Pass pass, const Geometry& g, DType dtype);

/// Are pieces of the result worth finishing one by one? A small one stays in the caches by itself.
bool worth_finishing(const Value& result);

/// float32, or one of the halves.
bool takes(DType dtype);

}  // namespace kiln::cpu::conv
