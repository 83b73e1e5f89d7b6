// Kernels for products and convolutions of 8-bit integers. They are exact: all processors give the same bits.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/product/matmul_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::integer {

/// Returns false if a zero point is neither one number nor one for each column or channel of the right operand.
bool run(const op::MatmulInteger&, Call call);
bool run(const op::ConvInteger&, Call call);
/// Implements a member of FastKernels.
bool multiply(const op::Epilogue&, Call call, const Epilogue&);

/// Computes the convolution, and passes its pieces to `epilogue` if there is one.
bool convolve(const op::ConvInteger&, Call call, const Epilogue* epilogue);
/// Computes a depthwise convolution into `result`, or for `epilogue` if there is one. Requires short sums, padding
/// smaller than the kernel, and x in channels-last order.
void depthwise(const conv::Geometry& g, const Array& x, std::int32_t zero, const conv::ConvOperand& weight,
               const Value& weight_zero, const Epilogue* epilogue, std::int32_t* result);

}  // namespace kiln::cpu::integer
