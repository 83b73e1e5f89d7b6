// Elementwise ops. A row of elementwise.def is compiled over tensors of ATen, so that a new row needs nothing here but
// the functions that it names (function.hpp).
#include "kiln/backend/libtorch/function.hpp"
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::libtorch {
namespace {

at::Tensor apply(op::UnaryFn fn, const X& x) {
  using namespace function;
  switch (fn) {
#define KILN_UNARY(Name, function, domain, value, gradient) \
  case op::UnaryFn::Name: return X(value).t;
#define KILN_PREDICATE(Name, function, domain, value) \
  case op::UnaryFn::Name: return X(value).t;
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
  __builtin_unreachable();
}

at::Tensor apply(op::BinaryFn fn, const X& x, const X& y) {
  using namespace function;
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) \
  case op::BinaryFn::Name: return X(value).t;
#define KILN_COMPARISON(Name, function, domain, value) \
  case op::BinaryFn::Name: return X(value).t;
#include "kiln/ops/elementwise/elementwise.def"
  }
  __builtin_unreachable();
}

/// Whether a cast by way of float32 would round twice.
bool rounds_twice(DType from, DType to) {
  const bool wide = from == DType::F64 || from == DType::I64 || from == DType::I32;
  return wide && (to == DType::F16 || to == DType::BF16);
}

/// Floats as integers: truncated, saturated at the limits of the type; NaN is 0.
at::Tensor saturated(const at::Tensor& x, DType to) {
  return visit_dtype(to, [&]<class T>(TypeTag<T>) -> at::Tensor {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      const double beyond = static_cast<double>(Limits::max() / 2 + 1) * 2, least = static_cast<double>(Limits::min());
      const at::Tensor over = at::ge(x, beyond), under = at::le(x, least);
      const at::Tensor inside = at::logical_not(at::logical_or(at::logical_or(over, under), at::isnan(x)));
      const at::Tensor whole = at::where(inside, x, at::zeros_like(x)).to(at::kLong);
      return whole.masked_fill(over, static_cast<std::int64_t>(Limits::max()))
          .masked_fill(under, static_cast<std::int64_t>(Limits::min()));
    }
    KILN_CHECK(false);
    return x;
  });
}

}  // namespace

bool run(const op::Unary& op, Call call) {
  const bool one_bit = op.fn == op::UnaryFn::BitwiseNot && call.in[0].dtype() == DType::Bool;
  give(call.out[0], apply(one_bit ? op::UnaryFn::LogicalNot : op.fn, X(computed(call.in[0]))));
  return true;
}

bool run(const op::Binary& op, Call call) {
  const DType dtype = (call.in[0].is_scalar() ? call.in[1] : call.in[0]).dtype();
  const at::Tensor result = apply(op.fn, X(operand(call.in[0], dtype)), X(operand(call.in[1], dtype)));
  give(call.out[0], result.expand(to_vector(call.out[0].shape())));  // a row may read only one of its operands
  return true;
}

bool run(const op::Where&, Call call) {
  using op::Where;
  const DType dtype = call.out[0].dtype();
  const auto chosen = [&](const Value& value) {
    return value.is_scalar() ? number(value.scalar(), dtype) : tensor(value);
  };
  const Value& condition = call.in[Where::condition];
  const at::Tensor flags = condition.is_scalar() ? number(condition.scalar(), DType::Bool) : tensor(condition);
  const at::Tensor result = at::where(flags, chosen(call.in[Where::x]), chosen(call.in[Where::y]));
  give(call.out[0], result.expand(to_vector(call.out[0].shape())));
  return true;
}

// An element outside is left to the reference, which names it.
bool run(const op::Within& op, Call call) {
  const at::Tensor x = computed(call.in[0]);
  if (at::logical_or(at::lt(x, op.low), at::gt(x, op.high)).any().item<bool>()) return false;
  const Node& operand = *call.in[0].node();
  strided::alias(call.out[0], call.in[0], operand.strides, operand.offset);
  return true;
}

bool run(const op::Cast& op, Call call) {
  const DType from = call.in[0].dtype();
  if (rounds_twice(from, op.to)) return false;
  const at::Tensor x = tensor(call.in[0]);
  if (op.to == DType::Bool) give(call.out[0], at::ne(x, 0));
  else if (is_float(from) && is_integer(op.to)) give(call.out[0], saturated(computed(call.in[0]), op.to));
  else if (from == op.to) give(call.out[0], x.clone());
  else give(call.out[0], x);
  return true;
}

}  // namespace kiln::libtorch
