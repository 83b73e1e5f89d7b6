// Products of bfloat16 matrices on tiles or vectors.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::cpu::amx {

/// Computes a call of op::Matmul. Returns false, without any effect, if pieces are too small for `epilogue`.
bool multiply(Call call, const Epilogue* epilogue);

}  // namespace kiln::cpu::amx
