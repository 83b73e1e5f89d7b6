// Calls on the wire: an op, its operands and its results. Tensors travel separately; a call refers to them by numbers,
// which writer and reader assign in the same order.
#pragma once
#include <span>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::wire {

/// A value by its number, or a plain number, or nothing.
struct CallOperand {
  static constexpr std::int64_t kNumber = -1, kNothing = -2;
  std::int64_t id = kNothing;  // from 0 on
  Scalar number{};             // where id is kNumber
};

struct CallOf {
  op::Op op;
  std::vector<CallOperand> in;
  std::vector<Desc> out;
};

void write_call(Writer& out, const op::Op& op, std::span<const CallOperand> in, std::span<const Desc> results);

/// Reads the next call. `known` returns the description of a value's number, or null where the reader has no value with
/// that number. The results that the op infers from these operands must be those the writer declares; otherwise it
/// throws DataError, or the error that any caller of the op would get. `device` is where the call will run; it may be
/// empty.
CallOf read_call(Reader& in, FunctionRef<const Desc*(std::int64_t)> known, const Device& device = {});

void write_operand(Writer& out, const CallOperand& operand);
CallOperand read_operand(Reader& in);

/// The results of any op for such operands, planned ops included: infer's result, or its error.
std::vector<Desc> results_of(const op::Op& op, Inputs in);
/// A tensor that will never be computed, as an operand for infer.
inline Value description_only(const Desc& desc, const Device& device) { return Value(make_ref<Node>(desc, device)); }

}  // namespace kiln::wire
