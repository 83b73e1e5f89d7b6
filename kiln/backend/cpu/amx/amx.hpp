// Kernels on the tiles of Intel's processors (AMX), for products of bfloat16 matrices, convolutions and attention. On
// processors without tiles, vectors of pairs (AVX512-BF16) take their place.
#pragma once
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

}  // namespace kiln::cpu::amx
