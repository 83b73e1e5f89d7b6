// Ops that move no element, for devices with strided memory: results share their operand's memory.
#pragma once
#include "kiln/backend/strided/strided.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln::strided {

/// Returns false and does nothing where no strides show the elements in that shape; the backend then copies them.
bool run(const op::Reshape& op, Call call);
void run(const op::Permute& op, Call call);
void run(const op::Expand& op, Call call);
void run(const op::Slice& op, Call call);
void run(const op::Unfold& op, Call call);

}  // namespace kiln::strided
