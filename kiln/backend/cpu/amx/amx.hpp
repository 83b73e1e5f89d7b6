// Kernels on the tiles of Intel's processors (AMX), for products of bfloat16 matrices, convolutions and attention. Where
// there are none, vectors of pairs (AVX512-BF16) take their place.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"

namespace kiln::cpu::amx {

/// The processor multiplies vectors of pairs of bfloat16, on which everything here runs.
bool available();
/// It multiplies tiles as well, and the system lets this process use them. Implies available().
bool has_tiles();
/// The same of tiles of bytes.
bool has_bytes();
/// The processor tells of the tiles as well, without which oneDNN does not use them.
bool describes_tiles();

/// Every op without an overload below. Its type says at compile time that there is no kernel.
template <class T>
std::false_type run(const T&, Call) {
  return {};
}

/// bfloat16, of some queries and keys, without mask, bias and softcap.
bool run(const op::Attention& op, Call call);

}  // namespace kiln::cpu::amx
