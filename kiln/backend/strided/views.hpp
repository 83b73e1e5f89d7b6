// Ops that move no element, as a device with strided memory runs them: results lie in their operand's memory.
#pragma once
#include "kiln/backend/strided/strided.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln::strided {

/// False, with nothing done, where no strides show the elements in that shape: the backend copies them then.
bool run(const op::Reshape& op, Call call);
void run(const op::Permute& op, Call call);
void run(const op::Expand& op, Call call);
void run(const op::Slice& op, Call call);
void run(const op::Unfold& op, Call call);

}  // namespace kiln::strided
