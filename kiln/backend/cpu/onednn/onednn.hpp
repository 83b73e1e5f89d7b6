// Kernels of oneDNN for convolutions and products of bfloat16, for OnednnKernels (engines.hpp).
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry, conv::ConvOperand;

// These functions compute float32, and bfloat16 if the processor has it.
bool has_conv(conv::Pass pass, const Geometry& g, DType dtype, bool with_bias);
void convolve(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const ConvOperand& bias, Value& y,
              const Epilogue* epilogue);
void convolve_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& x);
void convolve_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight);

bool has_matmul(DType dtype, std::int64_t depth);
/// Computes c = a b of bfloat16; the call is one of op::Matmul.
void multiply(Call call);

}  // namespace kiln::cpu::onednn
