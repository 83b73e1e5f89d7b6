// Elementwise operations: an operator of ONNX where there is one that means the same, or else the expression of the row
// of elementwise.def, step by step.
#include <algorithm>

#include "kiln/onnx/save/expression.hpp"
#include "kiln/onnx/save/rows.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/rows.hpp"

namespace kiln::onnx {
namespace {

using op::BinaryFn;
using op::UnaryFn;

template <class Fn>
struct Operator {
  Fn fn;
  std::string_view name;
  int since = 1;                      // the first operator set that has it
  std::string_view alpha = {};        // of a binary one whose second operand is this attribute
  std::string_view approximate = {};  // a value of that attribute
};

constexpr Operator<UnaryFn> kUnary[] = {
    {UnaryFn::Neg, "Neg"},
    {UnaryFn::Abs, "Abs"},
    {UnaryFn::Sign, "Sign"},
    {UnaryFn::Recip, "Reciprocal"},
    {UnaryFn::Sqrt, "Sqrt"},
    {UnaryFn::Exp, "Exp"},
    {UnaryFn::Log, "Log"},
    {UnaryFn::Sin, "Sin"},
    {UnaryFn::Cos, "Cos"},
    {UnaryFn::Tan, "Tan"},
    {UnaryFn::Asin, "Asin"},
    {UnaryFn::Acos, "Acos"},
    {UnaryFn::Atan, "Atan"},
    {UnaryFn::Sinh, "Sinh"},
    {UnaryFn::Cosh, "Cosh"},
    {UnaryFn::Tanh, "Tanh"},
    {UnaryFn::Asinh, "Asinh"},
    {UnaryFn::Acosh, "Acosh"},
    {UnaryFn::Atanh, "Atanh"},
    {UnaryFn::Erf, "Erf"},
    {UnaryFn::Sigmoid, "Sigmoid"},
    {UnaryFn::Softplus, "Softplus"},
    {UnaryFn::Relu, "Relu"},
    {UnaryFn::Gelu, "Gelu", 20},
    {UnaryFn::GeluTanh, "Gelu", 20, {}, "tanh"},
    {UnaryFn::Silu, "Swish", 24},
    {UnaryFn::Mish, "Mish", 18},
    {UnaryFn::HardSwish, "HardSwish", 14},
    {UnaryFn::Softsign, "Softsign"},
    {UnaryFn::Floor, "Floor"},
    {UnaryFn::Ceil, "Ceil"},
    {UnaryFn::Round, "Round"},
    {UnaryFn::BitwiseNot, "BitwiseNot", 18},
    {UnaryFn::IsNan, "IsNaN"},
    {UnaryFn::IsInf, "IsInf"},
    {UnaryFn::LogicalNot, "Not"},
};
constexpr Operator<BinaryFn> kBinary[] = {
    {BinaryFn::Add, "Add"},
    {BinaryFn::Sub, "Sub"},
    {BinaryFn::Mul, "Mul"},
    {BinaryFn::Div, "Div"},
    {BinaryFn::Pow, "Pow"},
    {BinaryFn::Maximum, "Max"},
    {BinaryFn::Minimum, "Min"},
    {BinaryFn::LeakyRelu, "LeakyRelu", 1, "alpha"},
    {BinaryFn::Elu, "Elu", 1, "alpha"},
    {BinaryFn::Celu, "Celu", 12, "alpha"},
    {BinaryFn::ThresholdedRelu, "ThresholdedRelu", 10, "alpha"},
    {BinaryFn::BitwiseAnd, "BitwiseAnd", 18},
    {BinaryFn::BitwiseOr, "BitwiseOr", 18},
    {BinaryFn::BitwiseXor, "BitwiseXor", 18},
    {BinaryFn::Equal, "Equal"},
    {BinaryFn::Less, "Less"},
    {BinaryFn::LessEqual, "LessOrEqual"},
    {BinaryFn::Greater, "Greater"},
    {BinaryFn::GreaterEqual, "GreaterOrEqual"},
    {BinaryFn::LogicalAnd, "And"},
    {BinaryFn::LogicalOr, "Or"},
    {BinaryFn::LogicalXor, "Xor"},
};

template <class Fn, std::size_t N>
const Operator<Fn>* operator_of(const Operator<Fn> (&table)[N], Fn fn, int opset) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.fn == fn; });
  return found == std::end(table) || found->since > opset ? nullptr : found;
}

// The type that operands have: that of the first tensor among them.
DType operand_type(const Program& program, const Program::Line& line) {
  for (const Program::Operand& operand : line.in)
    if (operand.id >= 0) return program.desc(operand).dtype;
  return DType::F32;
}
Strings operands_of(const Step& s) {
  const DType type = operand_type(s.program(), s.line);
  Strings names;
  for (int i = 0; i < s.inputs(); ++i) names.push_back(s.in(i, type));
  return names;
}
// Elements of an expression as the result has them: comparisons are booleans already.
void tree_result(const Step& s, const expr::Tree& tree) {
  s.result(write_tree(s.out, tree, operands_of(s), operand_type(s.program(), s.line)));
}
std::string tree_refused(const expr::Tree& tree, const Program& program, const Program::Line& line, int opset) {
  const DType type = operand_type(program, line);
  if (!is_float(type) && opset < 18) return "";
  return why_not(tree, type);
}

void unary(const op::Unary& op, const Step& s) {
  const Operator<UnaryFn>* const found = operator_of(kUnary, op.fn, s.out.opset());
  if (!found) return tree_result(s, expr::tree(op.fn));
  Attributes attributes;
  if (!found->approximate.empty()) attributes.push_back(attribute("approximate", found->approximate));
  s.result(s.one(found->name, operands_of(s), attributes));
}
std::string unary_refused(const op::Unary& op, const Program& p, const Program::Line& line, int opset) {
  return operator_of(kUnary, op.fn, opset) ? "" : tree_refused(expr::tree(op.fn), p, line, opset);
}

bool is_shift(BinaryFn fn) { return fn == BinaryFn::ShiftLeft || fn == BinaryFn::ShiftRight; }
const Operator<BinaryFn>* binary_operator(const op::Binary& op, const Program::Line& line, int opset) {
  const Operator<BinaryFn>* const found = operator_of(kBinary, op.fn, opset);
  return found && !found->alpha.empty() && !line.is_number(1) ? nullptr : found;
}
void binary(const op::Binary& op, const Step& s) {
  const Operator<BinaryFn>* const found = binary_operator(op, s.line, s.out.opset());
  if (is_shift(op.fn)) {
    const std::string_view direction = op.fn == BinaryFn::ShiftLeft ? "LEFT" : "RIGHT";
    return s.result(s.one("BitShift", operands_of(s), {attribute("direction", direction)}));
  }
  if (!found) return tree_result(s, expr::tree(op.fn));
  if (!found->alpha.empty()) return s.result(s.one(found->name, {s.in(0)}, {attribute(found->alpha, s.value(1))}));
  s.result(s.one(found->name, operands_of(s)));
}
std::string binary_refused(const op::Binary& op, const Program& p, const Program::Line& line, int opset) {
  if (is_shift(op.fn)) {
    const DType type = operand_type(p, line);
    const bool is_unsigned = type == DType::U8 || type == DType::U16 || type == DType::U32 || type == DType::U64;
    return is_unsigned ? "" : "ONNX shifts unsigned integers alone";
  }
  return binary_operator(op, line, opset) ? "" : tree_refused(expr::tree(op.fn), p, line, opset);
}

void special(const op::Special& op, const Step& s) { tree_result(s, expr::tree(op.fn)); }
std::string special_refused(const op::Special& op, const Program& p, const Program::Line& line, int opset) {
  return tree_refused(expr::tree(op.fn), p, line, opset);
}

void where(const op::Where&, const Step& s) {
  const DType type = s.result_desc().dtype;
  s.result(s.one("Where", {s.in(0, DType::Bool), s.in(1, type), s.in(2, type)}));
}
// ONNX cannot refuse data: what may not lie outside is taken to lie inside.
void within(const op::Within&, const Step& s) { s.result(s.in(0)); }
void cast_to_type(const op::Cast& op, const Step& s) { s.result(cast_name(s.out, s.in(0), s.desc(0).dtype, op.to)); }

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
