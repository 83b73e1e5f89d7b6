// Products of bfloat16 matrices on tiles, or vectors.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::cpu::amx {

/// A call of op::Matmul. False where pieces are not worth handing to `epilogue`; nothing has happened then.
bool multiply(Call call, const Epilogue* epilogue);

}  // namespace kiln::cpu::amx
