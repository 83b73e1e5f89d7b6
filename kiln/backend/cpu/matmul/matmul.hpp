// Matrix products. Each call goes to the algorithm that choose.hpp selects.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/product/matmul_ops.hpp"

namespace kiln::cpu::matmul {

/// Returns false for booleans.
bool run(const op::Matmul&, Call call);
/// Implements FastKernels::multiply.
bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue);

}  // namespace kiln::cpu::matmul
