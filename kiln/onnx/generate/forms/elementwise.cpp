// Forms of elementwise operators.
#include "kiln/onnx/generate/forms/forms.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

bool is_same_element(const Site& n) { return n.operand(0).element == n.operand(1).element; }

MaybeStatement gelu(const Site& n) {
  const std::string how = n.s("approximate", "none");
  return how == "none" ? method(n, "gelu") : how == "tanh" ? method(n, "gelu_tanh") : MaybeStatement();
}

MaybeStatement clip(const Site& n) {
  if (!n.typed(0, Float) || !n.gives(Float) || n.node.version < 11) return {};
  const std::optional<double> low = n.number(1), high = n.number(2);
  if ((n.has(1) && !low) || (n.has(2) && !high)) return {};
  if (low == 0.0 && high == 6.0) return method(n, "relu6");
  if (low && high) return statement_of(Code::method(n.in(0), "clamp", {Code::literal(*low), Code::literal(*high)}));
  if (low) return statement_of(Code::method(n.in(0), "maximum", {Code::literal(*low)}));
  if (high) return statement_of(Code::method(n.in(0), "minimum", {Code::literal(*high)}));
  return {};
}

// The operand of an arithmetic operator: a tensor, or the number that a constant of rank 0 is.
std::optional<Code> term(const Site& n, std::size_t i, kiln::Kind kind) {
  if (n.typed(i, kind)) return n.in(i);
  const Datum* const constant = n.constant(i);
  if (!constant || constant->value().rank() > 0 || kind_of(constant->value().dtype()) != kind) return {};
  const double number = constant->value().data().at(0);
  if (kind == Int) return Code::literal(constant->value().data().to_vector<std::int64_t>()[0]);
  return constant->value().dtype() == DType::F64 ? Code::literal(number) : Code::literal(static_cast<float>(number));
}

bool takes(op::Domain domain, kiln::Kind kind) {
  switch (domain) {
    case op::Domain::Float: return kind == Float;
    case op::Domain::Number: return kind != Bool;
    case op::Domain::Integer: return kind == Int;
    case op::Domain::Bool: return kind == Bool;
    case op::Domain::Any: return true;
  }
  return false;
}

// x.name()
MaybeStatement unary(const Site& n, op::UnaryFn fn) {
  if (!n.node.attributes.empty() || !n.typed(0)) return {};
  const kiln::Kind kind = n.operand(0).type.kind;
  if (!takes(domain(fn), kind) || !n.gives(yields_bool(fn) ? Bool : kind)) return {};
  return statement_of(Code::method(n.in(0), name(fn)));
}

// x.name(0.5f), for a function whose second operand is an attribute.
MaybeStatement with_attribute(const Site& n, op::BinaryFn fn, const KilnFunction& function) {
  if (!n.typed(0, Float) || !n.gives(Float)) return {};
  const auto second = static_cast<float>(n.f(function.attribute, function.otherwise));
  return statement_of(Code::method(n.in(0), name(fn), {Code::literal(second)}));
}

std::string_view symbol_of(op::BinaryFn fn) {
  using enum op::BinaryFn;
  switch (fn) {
    case Add: return "+";
    case Sub: return "-";
    case Mul: return "*";
    case Div: return "/";
    case Equal: return "==";
    case Less: return "<";
    case Greater: return ">";
    case LessEqual: return "<=";
    case GreaterEqual: return ">=";
    default: return {};
  }
}

// x + y, or x.name(y).
MaybeStatement binary(const Site& n, op::BinaryFn fn) {
  if (n.node.version < 7 || n.inputs() != 2 || !is_same_element(n) || (!n.typed(0) && !n.typed(1))) return {};
  const kiln::Kind kind = n.operand(n.typed(0) ? 0 : 1).type.kind;
  const auto a = term(n, 0, kind), b = term(n, 1, kind);
  const std::string_view symbol = symbol_of(fn);
  if (!a || !b || !takes(domain(fn), kind) || !n.gives(yields_bool(fn) ? Bool : kind)) return {};
  if (!symbol.empty()) return kind == Bool ? MaybeStatement() : statement_of(Code::infix(*a, symbol, *b));
  return n.typed(0) ? statement_of(Code::method(*a, name(fn), {*b})) : MaybeStatement();
}

MaybeStatement power(const Site& n) {
  const std::optional<double> exponent = n.number(1);
  if (n.node.version < 7 || !exponent || !n.typed(0, Float) || !n.gives(Float) || n.constant(1)->value().rank() > 0)
    return {};
  return *exponent == 2 ? statement_of(Code::method(n.in(0), "square"))
                        : statement_of(Code::method(n.in(0), "pow", {Code::literal(*exponent)}));
}

MaybeStatement where(const Site& n) {
  if (!n.typed(0, Bool) || n.operand(1).element != n.operand(2).element) return {};
  if ((!n.typed(1) && !n.typed(2)) || !n.gives(Float)) return {};
  const auto a = term(n, 1, Float), b = term(n, 2, Float);
  if (!a || !b) return {};
  return statement_of(Code::call("where", {n.in(0), *a, *b}));
}

MaybeStatement cast(const Site& n) {
  const auto to = static_cast<Element>(n.i("to", 0));
  if (n.node.version < 6 || !n.typed(0) || n.operand(0).type.kind == Float || !n.gives(Float) || to != Element::Float)
    return {};
  return statement_of(Code::method(n.in(0), "to_float"));
}

constexpr Form kForms[] = {
    {"Cast", cast}, {"Clip", clip}, {"Gelu", gelu}, {"Pow", power}, {"Where", where},
};

}  // namespace

std::span<const Form> elementwise_forms() { return kForms; }

MaybeStatement form_of_function(const Site& n) {
  const KilnFunction& function = n.node.row->traits.function;
  if (const auto* const fn = std::get_if<op::UnaryFn>(&function.fn)) return unary(n, *fn);
  if (const auto* const fn = std::get_if<op::ReduceFn>(&function.fn)) return reduce(n, *fn);
  if (const auto* const fn = std::get_if<op::BinaryFn>(&function.fn))
    return function.attribute.empty() ? binary(n, *fn) : with_attribute(n, *fn, function);
  return {};
}

}  // namespace kiln::onnx::cpp
