// Arithmetic, element by element.
#include "kiln/onnx/operators/broadcast.hpp"
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

constexpr Row kElementwiseRows[] = {
    {"Abs", 1, unary<abs>},
    {"Acos", 7, unary<acos>},
    {"Acosh", 9, unary<acosh>},
    {"Add", 1, binary<add>},
    {"Asin", 7, unary<asin>},
    {"Asinh", 9, unary<asinh>},
    {"Atan", 7, unary<atan>},
    {"Atan2", kNewestOpset, binary<atan2>},  // no operator of ONNX's: what find_angles() makes
    {"Atanh", 9, unary<atanh>},
    {"Ceil", 1, unary<ceil>},
    {"Clip", 1, clip},
    {"Cos", 7, unary<cos>},
    {"Cosh", 9, unary<cosh>},
    {"Div", 1, divide},
    {"Erf", 9, unary<erf>},
    {"Exp", 1, unary<exp>},
    {"Floor", 1, unary<floor>},
    {"Log", 1, unary<log>},
    {"Max", 1, fold<maximum>},
    {"Mean", 1, mean_of},
    {"Min", 1, fold<minimum>},
    {"Mod", 10, modulo},
    {"Mul", 1, binary<mul>},
    {"Neg", 1, unary<neg>},
    {"Pow", 1, power},
    {"Reciprocal", 1, unary<recip>},
    {"Round", 11, unary<round>},
    {"Sign", 9, unary<sign>},
    {"Sin", 7, unary<sin>},
    {"Sinh", 9, unary<sinh>},
    {"Sqrt", 1, unary<sqrt>},
    {"Sub", 1, binary<sub>},
    {"Sum", 1, fold<add>},
    {"Tan", 7, unary<tan>},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kElementwiseRows; }

}  // namespace kiln::onnx
