// Calls on the wire: an op, what it is called with and what comes out. Tensors travel apart; a call refers to them by
// their numbers, which writer and reader give in the same order.
#pragma once
#include <span>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/wire/op_wire.hpp"

namespace kiln::wire {

/// A value by its number, or a plain number, or nothing.
struct Operand {
  static constexpr std::int64_t kNumber = -1, kNothing = -2;
  std::int64_t id = kNothing;  // from 0 on
  Scalar number{};             // where id is kNumber
};

struct CallOf {
  op::Op op;
  std::vector<Operand> in;
  std::vector<Desc> out;
};

void write_call(Writer& out, const op::Op& op, std::span<const Operand> in, std::span<const Desc> results);

/// The next call. `known` describes the value of a number, or gives null where the reader has none of that number. What
/// the op makes of these operands is what the writer says, or it is refused: by a DataError, or by the sentence that
/// anyone hears who calls the op so. `device` is where it will run; none will do.
CallOf read_call(Reader& in, FunctionRef<const Desc*(std::int64_t)> known, const Device& device = {});

void write_operand(Writer& out, const Operand& operand);
Operand read_operand(Reader& in);

/// What any op makes of such operands, a planned one too: infer's answer, or its error.
std::vector<Desc> results_of(const op::Op& op, Inputs in);
/// A tensor that nobody will compute, to ask infer about.
inline Value imagined(const Desc& desc, const Device& device) { return Value(make_ref<Node>(desc, device)); }

}  // namespace kiln::wire
