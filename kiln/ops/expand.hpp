// Runs an op for which there may be no kernel: the one place that asks, and that runs the op's expansion.
#pragma once
#include "kiln/ops/backend.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln {

/// Whether the op is composed of other ops.
bool is_composite(const op::Op& op);
/// Whether the op was created by a planner.
bool is_planned(const op::Op& op);
/// Whether the op only changes descriptions: its result is in the memory of its operand.
bool is_view(const op::Op& op);
/// Whether the op is a collective of ranks.
bool needs_ranks(const op::Op& op);

/// Returns the results of the expansion of `op`, on the device of the operands. Each part runs by its kernel or its own
/// expansion; nothing is recorded. Throws DeviceError for an op without an expansion, ArgumentError or ShapeError where
/// the results do not match `out`.
Values expansion(const op::Op& op, Inputs in, std::span<const Value> out);

/// Runs `op` on `backend`, which must compute results by the time run() returns: by the kernel, or by the expansion
/// where has_kernel() is false. The expansion runs on `backend` too, not on the decorators around it.
void run_or_expand(Backend& backend, const op::Op& op, Call call);
/// Runs the expansion although there may be a kernel, for operands that the kernel does not take.
void run_expansion(Backend& backend, const op::Op& op, Call call);

/// Runs a part of a planned op like emit_all(); the part may also be op::Fused or op::Epilogue.
Values emit_part(const op::Op& op, Inputs in);

}  // namespace kiln
