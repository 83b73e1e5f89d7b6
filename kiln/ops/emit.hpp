// The one door through which every operation goes: infer, run, record.
#pragma once
#include <initializer_list>

#include "kiln/ops/op.hpp"

namespace kiln {

/// Runs `op` and returns its only result. The device is that of the tensor operands, which must agree.
Value emit(const op::Op& op, Inputs in);
inline Value emit(const op::Op& op, std::initializer_list<Value> in) { return emit(op, Inputs(in.begin(), in.size())); }
/// For ops without tensor operands.
Value emit(const Device& device, const op::Op& op, std::initializer_list<Value> in);
/// For ops with several results.
Values emit_all(const op::Op& op, Inputs in);

}  // namespace kiln
