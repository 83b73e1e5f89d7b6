// Fused kernels for rows against what they are fused from: which one is quicker is measured where that is asked for
// (Choices). Both may add in other orders, so that last bits differ; without the settings it is the fused one. A chain of
// elementwise steps is always fused: alone, they move more bytes.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/planned/row_fused.hpp"

namespace kiln::gpu {

/// Are the operations that this one is made of known to be quicker than its own kernel? fused(call) runs that kernel, and
/// returns false if there is none for the call. Operands keep their memory.
bool parts_are_quicker(Gpu& gpu, const op::Op& op, const op::RowFused& as, const Call& call,
                       FunctionRef<bool(Call)> fused);

}  // namespace kiln::gpu
