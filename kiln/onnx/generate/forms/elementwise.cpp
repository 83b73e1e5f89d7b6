// How Kiln says what is done element by element.
#include "kiln/onnx/generate/forms/forms.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

Statement infix(std::string text) {
  Statement statement = said(std::move(text));
  statement.form = Statement::Form::Infix;
  return statement;
}

bool is_same_element(const Site& n) { return n.operand(0).element == n.operand(1).element; }

Said gelu(const Site& n) {
  const std::string how = n.s("approximate", "none");
  return how == "none" ? method(n, "gelu") : how == "tanh" ? method(n, "gelu_tanh") : Said();
}

Said negative(const Site& n) {
  if (!n.typed(0) || n.operand(0).type.kind == Bool || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".neg()"));
}

Said leaky_relu(const Site& n) {
  if (!n.typed(0, Float) || !n.gives(Float)) return {};
  return said(text(n.in(0), ".leaky_relu(", literal(static_cast<float>(n.f("alpha", 0.01f))), ')'));
}

Said clip(const Site& n) {
  if (!n.typed(0, Float) || !n.gives(Float) || n.node.version < 11) return {};
  const std::optional<double> low = n.number(1), high = n.number(2);
  if ((n.has(1) && !low) || (n.has(2) && !high)) return {};
  if (low == 0.0 && high == 6.0) return method(n, "relu6");
  if (low && high) return said(text(n.in(0), ".clamp(", literal(*low), ", ", literal(*high), ')'));
  if (low) return said(text(n.in(0), ".maximum(", literal(*low), ')'));
  if (high) return said(text(n.in(0), ".minimum(", literal(*high), ')'));
  return {};
}

// The operand of an arithmetic operator: a tensor, or the number that a constant of rank 0 is.
std::optional<std::string> term(const Site& n, std::size_t i, kiln::Kind kind) {
  if (n.typed(i, kind)) return n.in(i);
  const Datum* const constant = n.constant(i);
  if (!constant || constant->value().rank() > 0 || kind_of(constant->value().dtype()) != kind) return {};
  const double number = constant->value().data().at(0);
  if (kind == Int) return literal(constant->value().data().to_vector<std::int64_t>()[0]);
  return constant->value().dtype() == DType::F64 ? literal(number) : literal(static_cast<float>(number));
}

Said arithmetic(const Site& n, std::string_view symbol, bool integers) {
  if (n.node.version < 7 || n.inputs() != 2 || !is_same_element(n) || (!n.typed(0) && !n.typed(1))) return {};
  const kiln::Kind kind = n.operand(n.typed(0) ? 0 : 1).type.kind;
  if (!(kind == Float || (integers && kind == Int)) || !n.gives(kind)) return {};
  const auto a = term(n, 0, kind), b = term(n, 1, kind);
  if (!a || !b) return {};
  return infix(text(*a, ' ', symbol, ' ', *b));
}
Said add(const Site& n) { return arithmetic(n, "+", true); }
Said subtract(const Site& n) { return arithmetic(n, "-", true); }
Said multiply(const Site& n) { return arithmetic(n, "*", true); }
Said divide(const Site& n) { return arithmetic(n, "/", false); }

Said power(const Site& n) {
  const std::optional<double> exponent = n.number(1);
  if (n.node.version < 7 || !exponent || !n.typed(0, Float) || !n.gives(Float) || n.constant(1)->value().rank() > 0)
    return {};
  return *exponent == 2 ? said(n.in(0) + ".square()") : said(text(n.in(0), ".pow(", literal(*exponent), ')'));
}

Said compare(const Site& n, std::string_view symbol) {
  if (n.node.version < 7 || !is_same_element(n) || (!n.typed(0) && !n.typed(1)) || !n.gives(Bool)) return {};
  const kiln::Kind kind = n.operand(n.typed(0) ? 0 : 1).type.kind;
  const auto a = term(n, 0, kind), b = term(n, 1, kind);
  if (kind == Bool || !a || !b) return {};
  return infix(text(*a, ' ', symbol, ' ', *b));
}
Said equal(const Site& n) { return compare(n, "=="); }
Said less(const Site& n) { return compare(n, "<"); }
Said greater(const Site& n) { return compare(n, ">"); }
Said less_or_equal(const Site& n) { return compare(n, "<="); }
Said greater_or_equal(const Site& n) { return compare(n, ">="); }

Said where(const Site& n) {
  if (!n.typed(0, Bool) || n.operand(1).element != n.operand(2).element) return {};
  if ((!n.typed(1) && !n.typed(2)) || !n.gives(Float)) return {};
  const auto a = term(n, 1, Float), b = term(n, 2, Float);
  if (!a || !b) return {};
  return said(text("where(", n.in(0), ", ", *a, ", ", *b, ')'));
}

Said cast(const Site& n) {
  const auto to = static_cast<Element>(n.i("to", 0));
  if (n.node.version < 6 || !n.typed(0) || n.operand(0).type.kind == Float || !n.gives(Float) || to != Element::Float)
    return {};
  return said(text(n.in(0), ".to_float()"));
}

constexpr Form kForms[] = {
    {"Abs", nullptr, "abs"},
    {"Add", add},
    {"Cast", cast},
    {"Ceil", nullptr, "ceil"},
    {"Clip", clip},
    {"Cos", nullptr, "cos"},
    {"Div", divide},
    {"Equal", equal},
    {"Erf", nullptr, "erf"},
    {"Exp", nullptr, "exp"},
    {"Floor", nullptr, "floor"},
    {"Gelu", gelu},
    {"Greater", greater},
    {"GreaterOrEqual", greater_or_equal},
    {"HardSwish", nullptr, "hard_swish"},
    {"LeakyRelu", leaky_relu},
    {"Less", less},
    {"LessOrEqual", less_or_equal},
    {"Log", nullptr, "log"},
    {"Mish", nullptr, "mish"},
    {"Mul", multiply},
    {"Neg", negative},
    {"Pow", power},
    {"Reciprocal", nullptr, "recip"},
    {"Relu", nullptr, "relu"},
    {"Sigmoid", nullptr, "sigmoid"},
    {"Sin", nullptr, "sin"},
    {"Softplus", nullptr, "softplus"},
    {"Softsign", nullptr, "softsign"},
    {"Sqrt", nullptr, "sqrt"},
    {"Sub", subtract},
    {"Tanh", nullptr, "tanh"},
    {"Where", where},
};

}  // namespace

std::span<const Form> elementwise_forms() { return kForms; }

}  // namespace kiln::onnx::cpp
