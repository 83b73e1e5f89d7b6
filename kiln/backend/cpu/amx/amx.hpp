// Kernels on the tiles of Intel's processors (AMX), for products of bfloat16 matrices.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/product/matmul_ops.hpp"

namespace kiln::cpu::amx {

/// The processor multiplies tiles of bfloat16, and the system lets this process use them.
bool available();
/// The same of bytes.
bool has_bytes();

/// Every op without an overload below. Its type says at compile time that there is no kernel.
template <class T>
std::false_type run(const T&, Call) {
  return {};
}

/// bfloat16, summed in float32; false for other types and without tiles.
bool run(const op::Matmul&, Call call);
/// As FastKernels has it.
bool multiply(const op::Epilogue&, Call call, const Epilogue&);

}  // namespace kiln::cpu::amx
