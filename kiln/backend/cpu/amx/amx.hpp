// Kernels on the tiles of Intel's processors (AMX), for products of bfloat16 matrices, convolutions and attention. On
// processors without tiles, vectors of pairs (AVX512-BF16) take their place.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"

namespace kiln::cpu::amx {

/// Whether the processor multiplies vectors of pairs of bfloat16, which all kernels here need.
bool available();
/// Whether it multiplies tiles as well, and the system lets this process use them. Implies available().
bool has_tiles();
/// Whether it multiplies tiles of bytes.
bool has_bytes();
/// Whether the processor reports its tiles, without which oneDNN does not use them.
bool reports_tiles();

/// Computes attention of bfloat16 for a minimum of queries and keys, without mask, bias and softcap.
bool run(const op::Attention& op, Call call);

// ConvKernels (engines.hpp) holds the following functions.

using conv::Geometry, conv::ConvOperand;

/// Whether the pieces of the convolution are wide enough for an epilogue that runs row by row.
bool has_wide_pieces(const Geometry& g);

void convolve(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const ConvOperand& bias, Value& y,
              const Epilogue* epilogue);
void convolve_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& x);
void convolve_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight);

/// Computes a call of op::Matmul. Returns false, without any effect, if pieces are too small for `epilogue`.
bool multiply(Call call, const Epilogue* epilogue);

}  // namespace kiln::cpu::amx
