// Arithmetic, element by element.
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/elementwise/numbers.hpp"

namespace kiln::onnx {
namespace {

// A function of floats keeps the operand's type, integers (of Erf, Sign) included.
template <Value (*function)(const Value&)>
Results unary(Call& c) {
  return of_type(function(c[0]), c[0].dtype());
}

template <Value (*function)(const Value&, const Value&)>
Results binary(Call& c) {
  const auto [a, b] = operands(c);
  return of_type(function(a, b), a.dtype());
}

template <Value (*function)(const Value&, const Value&)>
Results fold(Call& c) {
  Value result = c[0];
  for (int i = 1; i < c.inputs(); ++i) result = function(result, c[i]);
  return of_type(result, c[0].dtype());
}

Results divide(Call& c) {
  const auto [a, b] = operands(c);
  return of_type(is_float(a.dtype()) ? div(a, b) : div(a, b, Rounding::Trunc), a.dtype());
}

Results power(Call& c) {
  const auto [a, b] = operands(c);
  return of_type(pow(a, b), a.dtype());
}

Results modulo(Call& c) {
  const auto [a, b] = operands(c);
  if (c.i("fmod", 0)) return of_type(fmod(a, b), a.dtype());
  c.check(!is_float(a.dtype()) || c.version() >= 28, "numbers of type ", kiln::name(a.dtype()), " need fmod = 1");
  const Value rest = remainder(a, b);
  return of_type(is_float(a.dtype()) ? where(eq(rest, 0), copysign(zeros_like(rest), b), rest) : rest, a.dtype());
}

Results mean_of(Call& c) {
  Value sum = c[0];
  for (int i = 1; i < c.inputs(); ++i) sum = sum + c[i];
  return of_type(sum / c.inputs(), c[0].dtype());
}

Results clip(Call& c) {
  Value x = c[0];
  const DType type = x.dtype();
  if (c.version() < 11) {
    if (c.given("min")) x = maximum(x, c.f("min", 0));
    if (c.given("max")) x = minimum(x, c.f("max", 0));
  } else {
    if (c.has(1)) x = maximum(x, c[1]);
    if (c.has(2)) x = minimum(x, c[2]);
  }
  return of_type(x, type);
}

using op::BinaryFn;
using op::UnaryFn;
constexpr OperatorRow kElementwiseRows[] = {
    {"Abs", 1, unary<abs>, traits_of(UnaryFn::Abs)},
    {"Acos", 7, unary<acos>, traits_of(UnaryFn::Acos)},
    {"Acosh", 9, unary<acosh>, traits_of(UnaryFn::Acosh)},
    {"Add", 1, binary<add>, traits_of(BinaryFn::Add)},
    {"Asin", 7, unary<asin>, traits_of(UnaryFn::Asin)},
    {"Asinh", 9, unary<asinh>, traits_of(UnaryFn::Asinh)},
    {"Atan", 7, unary<atan>, traits_of(UnaryFn::Atan)},
    // No operator of ONNX's: what find_angles() makes.
    {"Atan2", kNewestOpset, binary<atan2>, traits_of(OperatorKind::Broadcasting)},
    {"Atanh", 9, unary<atanh>, traits_of(UnaryFn::Atanh)},
    {"Ceil", 1, unary<ceil>, traits_of(UnaryFn::Ceil)},
    {"Clip", 1, clip, {.kind = OperatorKind::Elementwise}},
    {"Cos", 7, unary<cos>, traits_of(UnaryFn::Cos)},
    {"Cosh", 9, unary<cosh>, traits_of(UnaryFn::Cosh)},
    {"Div", 1, divide, traits_of(BinaryFn::Div)},
    {"Erf", 9, unary<erf>, traits_of(UnaryFn::Erf)},
    {"Exp", 1, unary<exp>, traits_of(UnaryFn::Exp)},
    {"Floor", 1, unary<floor>, traits_of(UnaryFn::Floor)},
    {"Log", 1, unary<log>, traits_of(UnaryFn::Log)},
    {"Max", 1, fold<maximum>, traits_of(BinaryFn::Maximum)},
    {"Mean", 1, mean_of, {.kind = OperatorKind::Broadcasting}},
    {"Min", 1, fold<minimum>, traits_of(BinaryFn::Minimum)},
    {"Mod", 10, modulo, {.kind = OperatorKind::Broadcasting}},
    {"Mul", 1, binary<mul>, traits_of(BinaryFn::Mul)},
    {"Neg", 1, unary<neg>, traits_of(UnaryFn::Neg)},
    {"Pow", 1, power, traits_of(BinaryFn::Pow)},
    {"Reciprocal", 1, unary<recip>, traits_of(UnaryFn::Recip)},
    {"Round", 11, unary<round>, traits_of(UnaryFn::Round)},
    {"Sign", 9, unary<sign>, traits_of(UnaryFn::Sign)},
    {"Sin", 7, unary<sin>, traits_of(UnaryFn::Sin)},
    {"Sinh", 9, unary<sinh>, traits_of(UnaryFn::Sinh)},
    {"Sqrt", 1, unary<sqrt>, traits_of(UnaryFn::Sqrt)},
    {"Sub", 1, binary<sub>, traits_of(BinaryFn::Sub)},
    {"Sum", 1, fold<add>, {.kind = OperatorKind::Broadcasting}},
    {"Tan", 7, unary<tan>, traits_of(UnaryFn::Tan)},
};

}  // namespace

std::span<const OperatorRow> elementwise_rows() { return kElementwiseRows; }

}  // namespace kiln::onnx
