#include "kiln/ops/special/special_ops.hpp"

#include <optional>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/special/functions.hpp"
#include "kiln/ops/special/special.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

struct SpecialInfo {
  std::string_view name;
  std::size_t operands;
  SpecialFunction function;
};

constexpr SpecialInfo kRows[] = {
#define KILN_SPECIAL_OF_1(Name, function, ...) \
  {#function, 1, [](double x, double, double) { return special::function(x); }},
#define KILN_SPECIAL_OF_2(Name, function, ...) \
  {#function, 2, [](double x, double y, double) { return special::function(x, y); }},
#define KILN_SPECIAL_OF_3(Name, function, ...) \
  {#function, 3, [](double x, double y, double w) { return special::function(x, y, w); }},
#include "kiln/ops/special/special.def"
};

const SpecialInfo& row(SpecialFn fn) { return kRows[static_cast<std::size_t>(fn)]; }

/// The shape to which all operands broadcast. At least one is a tensor, and tensors have one element type.
Descs broadcast_all(std::string_view name, Inputs in, bool (*takes)(DType), std::string_view wanted) {
  const Value* tensor = nullptr;
  Shape shape;
  for (const Value& operand : in) {
    require<ArgumentError>(!operand.empty(), name, ": an operand is empty");
    if (operand.is_scalar()) continue;
    require<DTypeError>(takes(operand.dtype()), name, ": takes ", wanted, ", got ", operand);
    if (tensor) require_same_dtype(name, *tensor, operand);
    shape = broadcast(name, shape, operand.shape());
    tensor = &operand;
  }
  require<ArgumentError>(tensor, name, ": needs a tensor");
  return one(shape, tensor->dtype());
}

// Helpers of the gradients in special.def.
[[noreturn]] Value without_gradient(std::string_view function, std::string_view which) {
  fail<AutodiffError>(function, ": has no gradient with respect to its ", which, " operand");
}
Value below(const Value& degree) { return trunc(degree) - 1; }
/// y / x for a y that approaches x / 2 near 0.
Value over(const Value& y, const Value& x) {
  const Value at_zero = eq(x, 0);
  return where(at_zero, 0.5, y / where(at_zero, 1.0, x));
}
/// Densities are computed in float64: with large parameters, terms that cancel are thousands of times the result.
Value in_double(const Value& x) { return x.is_scalar() ? x : cast(x, DType::F64); }
Value igamma_slope(const Value& shape, const Value& at, DType dtype) {
  const Value a = in_double(shape), x = in_double(at);
  return cast(exp(xlogy(a - 1, x) - x - lgamma(a)), dtype);
}
Value betainc_slope(const Value& first, const Value& second, const Value& at, DType dtype) {
  const Value a = in_double(first), b = in_double(second), x = in_double(at);
  return cast(exp(xlogy(a - 1, x) + xlog1py(b - 1, neg(x)) - lgamma(a) - lgamma(b) + lgamma(a + b)), dtype);
}

}  // namespace

std::string_view name(SpecialFn fn) { return row(fn).name; }
SpecialFunction function_of(SpecialFn fn) { return row(fn).function; }

Descs Special::infer(Inputs in) const {
  require_count(name(fn), in, row(fn).operands, row(fn).operands);
  return broadcast_all(name(fn), in, is_float, "floats");
}

Saves Special::saves(std::uint32_t) const { return {.in = (1u << row(fn).operands) - 1}; }

void Special::vjp(Backward& backward) const {
  const Value& g = backward.grad();
  const auto operand = [&](int i) { return i < backward.arity() ? backward.in(i) : Value(); };
  const Value x = operand(0), y = operand(1), w = operand(2);
  switch (fn) {
#define KILN_SPECIAL_OF_1(Name, function, grad_x) KILN_SPECIAL_OF_3(Name, function, grad_x, g, g)
#define KILN_SPECIAL_OF_2(Name, function, grad_x, grad_y) KILN_SPECIAL_OF_3(Name, function, grad_x, grad_y, g)
#define KILN_SPECIAL_OF_3(Name, function, grad_x, grad_y, grad_w)     \
  case SpecialFn::Name:                                               \
    backward.to(0, [&] { return grad_x; });                           \
    if (backward.arity() > 1) backward.to(1, [&] { return grad_y; }); \
    if (backward.arity() > 2) backward.to(2, [&] { return grad_w; }); \
    return;
#include "kiln/ops/special/special.def"
  }
}

Descs Gcd::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  return broadcast_all(kName, in, is_integer, "integers");
}

}  // namespace op

namespace {

/// The type to which the operands promote; empty where none is a tensor.
std::optional<DType> promoted(std::string_view name, std::initializer_list<Value> operands) {
  std::optional<DType> dtype;
  for (const Value& operand : operands) {
    require<ArgumentError>(!operand.empty(), name, ": an operand is empty");
    if (!operand.is_scalar()) dtype = dtype ? promote(*dtype, operand.dtype()) : operand.dtype();
  }
  if (dtype)
    for (const Value& operand : operands)
      if (operand.is_scalar()) dtype = promote_scalar(*dtype, operand.scalar().kind());
  return dtype;
}

Values cast_all(std::initializer_list<Value> operands, DType dtype) {
  Values result;
  for (const Value& operand : operands) result.push_back(cast(operand, dtype));
  return result;
}

Value special_function(op::SpecialFn fn, std::initializer_list<Value> operands) {
  const std::optional<DType> dtype = promoted(op::name(fn), operands);
  if (!dtype) {
    double numbers[3] = {}, *number = numbers;
    for (const Value& operand : operands) *number++ = operand.scalar().to<double>();
    return op::function_of(fn)(numbers[0], numbers[1], numbers[2]);
  }
  return emit(op::Special{fn}, cast_all(operands, is_float(*dtype) ? *dtype : DType::F32));
}

}  // namespace

#define KILN_SPECIAL_OF_1(Name, function, ...) \
  Value function(const Value& x) { return special_function(op::SpecialFn::Name, {x}); }
#define KILN_SPECIAL_OF_2(Name, function, ...) \
  Value function(const Value& x, const Value& y) { return special_function(op::SpecialFn::Name, {x, y}); }
#define KILN_SPECIAL_OF_3(Name, function, ...)                     \
  Value function(const Value& x, const Value& y, const Value& w) { \
    return special_function(op::SpecialFn::Name, {x, y, w});       \
  }
#include "kiln/ops/special/special.def"

Value gcd(const Value& x, const Value& y) {
  const std::optional<DType> dtype = promoted("gcd", {x, y});
  require<ArgumentError>(dtype.has_value(), "gcd: needs a tensor, got ", x, " and ", y);
  require<DTypeError>(is_integer(*dtype), "gcd: takes integers, got ", x, " and ", y);
  return emit(op::Gcd{}, cast_all({x, y}, *dtype));
}
Value lcm(const Value& x, const Value& y) {
  const Value divisor = gcd(x, y);  // it is 0 for two zeros, and dividing by that gives 0
  return abs(floor_divide(x, divisor) * y);
}

}  // namespace kiln
