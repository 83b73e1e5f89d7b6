// Running an op where there may be no kernel for it: the one place that asks, and that runs what the op is made of.
#pragma once
#include "kiln/ops/backend.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln {

/// Is it made of other ops?
bool is_composite(const op::Op& op);
/// Has a planner made it?
bool is_planned(const op::Op& op);

/// The results of what `op` is made of, on the device of the operands. Each part runs by its kernel or as what it is made of
/// in turn; nothing of it is recorded. Throws DeviceError for an op that is made of no others; ArgumentError or
/// ShapeError where the results are not like `out`.
Values expansion(const op::Op& op, Inputs in, std::span<const Value> out);

/// Runs `op` on `backend`, which makes values by the time that run() returns: the kernel, or what the op is made of where
/// has_kernel() says that there is none. That runs on `backend` too, and not on what is around it.
void run_or_expand(Backend& backend, const op::Op& op, Call call);
/// The same where the kernel is not for these operands.
void run_expansion(Backend& backend, const op::Op& op, Call call);

/// A part of a planned op: emit_all(), but that it may be op::Fused or op::Epilogue.
Values emit_part(const op::Op& op, Inputs in);

}  // namespace kiln
