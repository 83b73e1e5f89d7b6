// Elementwise operations: an operator of ONNX where there is one that means the same, or else the expression of the row
// of elementwise.def, step by step.
#include "kiln/onnx/save/expression.hpp"
#include "kiln/onnx/save/rows.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/rows.hpp"

namespace kiln::onnx {
namespace {

using op::BinaryFn;
using op::UnaryFn;

// The type that operands have: that of the first tensor among them.
DType operand_type(const Program& program, const Program::Line& line) {
  for (const Program::LineOperand& operand : line.in)
    if (operand.id >= 0) return program.desc(operand).dtype;
  return DType::F32;
}
Strings operands_of(const WriterStep& s) {
  const DType type = operand_type(s.program(), s.line);
  Strings names;
  for (int i = 0; i < s.inputs(); ++i) names.push_back(s.in(i, type));
  return names;
}
// Elements of an expression as the result has them: comparisons are booleans already.
void tree_result(const WriterStep& s, const expr::Tree& tree) {
  s.result(write_tree(s.out, tree, operands_of(s), operand_type(s.program(), s.line)));
}
std::string tree_refused(const expr::Tree& tree, const Program& program, const Program::Line& line, int opset) {
  const DType type = operand_type(program, line);
  if (!is_float(type) && opset < 18) return "";
  return why_not(tree, type, opset);
}

// Gelu is one operator, whose attribute tells the two functions apart.
const OperatorRow* unary_operator(const op::Unary& op, int opset) {
  return find_row(op.fn == UnaryFn::GeluTanh ? UnaryFn::Gelu : op.fn, opset);
}
void unary(const op::Unary& op, const WriterStep& s) {
  const OperatorRow* const row = unary_operator(op, s.out.opset());
  if (!row) return tree_result(s, expr::tree(op.fn));
  NamedAttributes attributes;
  if (op.fn == UnaryFn::GeluTanh) attributes.push_back(attribute("approximate", "tanh"));
  s.result(s.one(row->name, operands_of(s), attributes));
}
std::string unary_refused(const op::Unary& op, const Program& p, const Program::Line& line, int opset) {
  return unary_operator(op, opset) ? "" : tree_refused(expr::tree(op.fn), p, line, opset);
}

bool is_shift(BinaryFn fn) { return fn == BinaryFn::ShiftLeft || fn == BinaryFn::ShiftRight; }
const OperatorRow* binary_operator(const op::Binary& op, const Program::Line& line, int opset) {
  const OperatorRow* const row = find_row(op.fn, opset);
  return row && !row->traits.function.attribute.empty() && !line.is_number(1) ? nullptr : row;
}
void binary(const op::Binary& op, const WriterStep& s) {
  if (is_shift(op.fn)) {
    const std::string_view direction = op.fn == BinaryFn::ShiftLeft ? "LEFT" : "RIGHT";
    return s.result(s.one("BitShift", operands_of(s), {attribute("direction", direction)}));
  }
  const OperatorRow* const row = binary_operator(op, s.line, s.out.opset());
  if (!row) return tree_result(s, expr::tree(op.fn));
  const std::string_view second = row->traits.function.attribute;
  if (!second.empty()) return s.result(s.one(row->name, {s.in(0)}, {attribute(second, s.value(1))}));
  s.result(s.one(row->name, operands_of(s)));
}
std::string binary_refused(const op::Binary& op, const Program& p, const Program::Line& line, int opset) {
  if (is_shift(op.fn)) {
    const DType type = operand_type(p, line);
    const bool is_unsigned = type == DType::U8 || type == DType::U16 || type == DType::U32 || type == DType::U64;
    return is_unsigned ? "" : "ONNX shifts unsigned integers alone";
  }
  return binary_operator(op, line, opset) ? "" : tree_refused(expr::tree(op.fn), p, line, opset);
}

void special(const op::Special& op, const WriterStep& s) { tree_result(s, expr::tree(op.fn)); }
std::string special_refused(const op::Special& op, const Program& p, const Program::Line& line, int opset) {
  return tree_refused(expr::tree(op.fn), p, line, opset);
}

void where(const op::Where&, const WriterStep& s) {
  const DType type = s.result_desc().dtype;
  s.result(s.one("Where", {s.in(0, DType::Bool), s.in(1, type), s.in(2, type)}));
}
// ONNX cannot refuse data: what may not lie outside is taken to lie inside.
void within(const op::Within&, const WriterStep& s) { s.result(s.in(0)); }
void cast_to_type(const op::Cast& op, const WriterStep& s) {
  s.result(cast_name(s.out, s.in(0), s.desc(0).dtype, op.to));
}

constexpr SaveRow kElementwiseSaveRows[] = {
    save_row<op::Unary, unary, unary_refused>(),
    save_row<op::Binary, binary, binary_refused>(),
    save_row<op::Special, special, special_refused>(),
    save_row<op::Where, where>(),
    save_row<op::Within, within>(),
    save_row<op::Cast, cast_to_type>(),
};

}  // namespace

std::span<const SaveRow> elementwise_save_rows() { return kElementwiseSaveRows; }

}  // namespace kiln::onnx
