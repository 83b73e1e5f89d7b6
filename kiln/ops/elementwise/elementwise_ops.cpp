#include "kiln/ops/elementwise/elementwise_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"
#include "kiln/ops/elementwise/slopes.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

constexpr std::uint32_t kX = 1, kY = 2, kZ = 4;

/// Returns which of x, y and z a gradient's text reads.
constexpr std::uint32_t reads(std::string_view gradient) {
  const auto in_word = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const bool word = (i > 0 && in_word(gradient[i - 1])) || (i + 1 < gradient.size() && in_word(gradient[i + 1]));
    if (!word && gradient[i] >= 'x' && gradient[i] <= 'z') mask |= 1u << (gradient[i] - 'x');
  }
  return mask;
}

struct ElementwiseInfo {
  std::string_view name, expression;
  Domain domain;
  bool yields_bool;
  std::uint32_t grad_x_reads = 0, grad_y_reads = 0;
};

/// Returns which of x, y and z the gradients of the operands in `tracked` read.
constexpr std::uint32_t reads(const ElementwiseInfo& row, std::uint32_t tracked) {
  return (tracked & kX ? row.grad_x_reads : 0) | (tracked & kY ? row.grad_y_reads : 0);
}
Saves saves_for(const ElementwiseInfo& row, std::uint32_t tracked) {
  const std::uint32_t mask = reads(row, tracked);
  return {.in = mask & (kX | kY), .out = (mask & kZ) != 0};
}

constexpr ElementwiseInfo kUnary[] = {
#define KILN_UNARY(Name, function, domain, value, gradient) \
  {#function, #value, Domain::domain, false, reads(#gradient)},
#define KILN_PREDICATE(Name, function, domain, value) {#function, #value, Domain::domain, true},
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
};

constexpr ElementwiseInfo kBinary[] = {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) \
  {#function, #value, Domain::domain, false, reads(#grad_x), reads(#grad_y)},
#define KILN_COMPARISON(Name, function, domain, value) {#function, #value, Domain::domain, true},
#include "kiln/ops/elementwise/elementwise.def"
};

/// Whether a row has this function, with this domain and kind of result.
constexpr bool has(std::span<const ElementwiseInfo> rows, std::string_view function, Domain domain, bool yields_bool) {
  for (const ElementwiseInfo& row : rows)
    if (row.name == function) return row.domain == domain && row.yields_bool == yields_bool;
  return false;
}
#define KILN_UNARY(function, domain) static_assert(has(kUnary, #function, Domain::domain, false));
#define KILN_PREDICATE(function, domain) static_assert(has(kUnary, #function, Domain::domain, true));
#define KILN_BINARY(function, domain) static_assert(has(kBinary, #function, Domain::domain, false));
#define KILN_COMPARISON(function, domain) static_assert(has(kBinary, #function, Domain::domain, true));
#include "kiln/ops/elementwise/names.def"

const ElementwiseInfo& row(UnaryFn fn) { return kUnary[static_cast<std::size_t>(fn)]; }
const ElementwiseInfo& row(BinaryFn fn) { return kBinary[static_cast<std::size_t>(fn)]; }

/// Returns the type in which a row's function computes a tensor of `dtype`.
DType computed_in(const ElementwiseInfo& row, DType dtype) {
  switch (row.domain) {
    case Domain::Float: return is_float(dtype) ? dtype : DType::F32;
    case Domain::Number: return dtype == DType::Bool ? DType::I64 : dtype;
    case Domain::Integer:
      require<DTypeError>(!is_float(dtype), row.name, ": takes integers or booleans, got ", dtype);
      return dtype;
    case Domain::Bool: return DType::Bool;
    case Domain::Any: return dtype;
  }
  KILN_CHECK(false);
  return dtype;
}

void require_domain(const ElementwiseInfo& row, const Value& x) {
  require<DTypeError>(computed_in(row, x.dtype()) == x.dtype(), row.name, ": takes no ", x);
}

// The rows' expressions for plain numbers. Kernels of the backends do the arithmetic of tensors; this is for the few
// numbers that gradients compute with.
template <class T>
Scalar evaluate_as(UnaryFn fn, T a) {
  using namespace scalar_math;
  switch (fn) {
#define KILN_UNARY(Name, function, domain, value, gradient)                                \
  case UnaryFn::Name:                                                                      \
    if constexpr (Domain::domain == Domain::Integer && std::is_floating_point_v<T>) break; \
    else return [](Computed<T, wraps(#value)> x) { return Scalar(static_cast<T>(value)); }(a);
#define KILN_PREDICATE(Name, function, domain, value) \
  case UnaryFn::Name: return [](T x) { return Scalar(static_cast<bool>(value)); }(a);
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
  fail<DTypeError>(name(fn), ": takes integers or booleans, got a float");
}

template <class T>
Scalar evaluate_as(BinaryFn fn, T a, T b) {
  using namespace scalar_math;
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y)                         \
  case BinaryFn::Name:                                                                     \
    if constexpr (Domain::domain == Domain::Integer && std::is_floating_point_v<T>) break; \
    else return [](Computed<T, wraps(#value)> x, decltype(x) y) { return Scalar(static_cast<T>(value)); }(a, b);
#define KILN_COMPARISON(Name, function, domain, value) \
  case BinaryFn::Name: return [](T x, T y) { return Scalar(static_cast<bool>(value)); }(a, b);
#include "kiln/ops/elementwise/elementwise.def"
  }
  fail<DTypeError>(name(fn), ": takes integers or booleans, got a float");
}

bool as_float(const ElementwiseInfo& row, Kind kind) { return kind == Kind::Float || row.domain == Domain::Float; }

}  // namespace

std::string_view name(UnaryFn fn) { return row(fn).name; }
std::string_view name(BinaryFn fn) { return row(fn).name; }
std::size_t enumerator_count(UnaryFn) { return std::size(kUnary); }
std::size_t enumerator_count(BinaryFn) { return std::size(kBinary); }
Domain domain(UnaryFn fn) { return row(fn).domain; }
Domain domain(BinaryFn fn) { return row(fn).domain; }
bool yields_bool(UnaryFn fn) { return row(fn).yields_bool; }
bool yields_bool(BinaryFn fn) { return row(fn).yields_bool; }
std::string_view expression(UnaryFn fn) { return row(fn).expression; }
std::string_view expression(BinaryFn fn) { return row(fn).expression; }

Scalar evaluate(UnaryFn fn, const Scalar& x) {
  return as_float(row(fn), x.kind()) ? evaluate_as(fn, x.to<double>()) : evaluate_as(fn, x.to<std::int64_t>());
}
Scalar evaluate(BinaryFn fn, const Scalar& x, const Scalar& y) {
  const bool real = as_float(row(fn), x.kind()) || y.kind() == Kind::Float;
  return real ? evaluate_as(fn, x.to<double>(), y.to<double>())
              : evaluate_as(fn, x.to<std::int64_t>(), y.to<std::int64_t>());
}

Descs Unary::infer(Inputs in) const {
  require_count(name(fn), in, 1, 1);
  require_tensor(name(fn), in[0]);
  require_domain(row(fn), in[0]);
  return one(in[0].shape(), yields_bool(fn) ? DType::Bool : in[0].dtype());
}
Saves Unary::saves(std::uint32_t tracked) const { return saves_for(row(fn), tracked); }

Descs Binary::infer(Inputs in) const {
  require_count(name(fn), in, 2, 2);
  if (in[0].node() && in[1].node() && in[0].node()->desc == in[1].node()->desc && !yields_bool(fn)) {
    require_domain(row(fn), in[0]);
    return {in[0].node()->desc};
  }
  const Value& tensor = in[0].is_scalar() ? in[1] : in[0];
  require_tensor(name(fn), tensor);
  require_domain(row(fn), tensor);
  if (fn == BinaryFn::SoftShrink && in[1].is_scalar())
    require<ArgumentError>(in[1].scalar().to<double>() >= 0, "soft_shrink: the bound must not be negative, got ",
                           in[1]);
  require_present(name(fn), in[1]);
  if (!in[0].is_scalar() && !in[1].is_scalar()) require_same_dtype(name(fn), in[0], in[1]);
  return one(broadcast(name(fn), in[0].shape(), in[1].shape()), yields_bool(fn) ? DType::Bool : tensor.dtype());
}
Saves Binary::saves(std::uint32_t tracked) const { return saves_for(row(fn), tracked); }

void Unary::vjp(Backward& backward) const {
  const std::uint32_t read = row(fn).grad_x_reads;
  const Value& g = backward.grad();
  const Value x = read & kX ? backward.in(0) : Value(), z = read & kZ ? backward.out() : Value();
  backward.to(0, [&]() -> Value {
    switch (fn) {
#define KILN_UNARY(Name, function, domain, value, gradient) \
  case UnaryFn::Name: return gradient;
#define KILN_PREDICATE(Name, ...) \
  case UnaryFn::Name: return {};
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
    }
    return {};
  });
}

void Binary::vjp(Backward& backward) const {
  const std::uint32_t read = reads(row(fn), (backward.wants(0) ? kX : 0) | (backward.wants(1) ? kY : 0));
  const Value& g = backward.grad();
  const Value x = read & kX ? backward.in(0) : Value(), y = read & kY ? backward.in(1) : Value(),
              z = read & kZ ? backward.out() : Value();
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) \
  case BinaryFn::Name:                                             \
    backward.to(0, [&] { return grad_x; });                        \
    backward.to(1, [&] { return grad_y; });                        \
    return;
#define KILN_COMPARISON(Name, ...) \
  case BinaryFn::Name: return;
#include "kiln/ops/elementwise/elementwise.def"
  }
}

Descs Where::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_tensor(kName, in[condition]);
  require<DTypeError>(in[condition].dtype() == DType::Bool, "where: the condition must be boolean, got ",
                      in[condition]);
  for (const Slot slot : {x, y}) require_present(kName, in[slot]);
  if (!in[x].is_scalar() && !in[y].is_scalar()) require_same_dtype(kName, in[x], in[y]);
  const Value& value = in[x].is_scalar() ? in[y] : in[x];
  return one(broadcast(kName, in[condition].shape(), broadcast(kName, in[x].shape(), in[y].shape())), value.dtype());
}
void Where::vjp(Backward& backward) const {
  const Value& mask = backward.in(condition);
  backward.to(x, [&] { return where(mask, backward.grad(), 0.0); });
  backward.to(y, [&] { return where(mask, 0.0, backward.grad()); });
}

Descs Within::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_float(kName, in[0]);
  require<ArgumentError>(low <= high, kName, ": the bounds ", low, " and ", high, " are not in order");
  return one(in[0].shape(), in[0].dtype());
}
void Within::vjp(Backward& backward) const {
  backward.to(0, [&] { return backward.grad(); });
}

Descs Cast::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  return one(in[0].shape(), to);
}
void Cast::vjp(Backward& backward) const {
  backward.to(0, [&] { return cast(backward.grad(), backward.in_desc(0).dtype); });
}

}  // namespace op

Value within(const Value& x, double low, double high) { return emit(op::Within{low, high}, {x}); }

namespace {

/// Returns x, or x cast to another type; then `held` keeps the result alive.
const Value& as(DType dtype, const Value& x, Value& held) {
  return x.is_scalar() || x.dtype() == dtype ? x : held = cast(x, dtype);
}

Value unary(op::UnaryFn fn, const Value& x) {
  require<ArgumentError>(!x.empty(), op::name(fn), ": the operand is empty");
  if (x.is_scalar()) return evaluate(fn, x.scalar());
  if (fn == op::UnaryFn::BitwiseNot && x.dtype() == DType::Bool) fn = op::UnaryFn::LogicalNot;
  Value held;
  return emit(op::Unary{fn}, Borrowed(as(op::computed_in(op::row(fn), x.dtype()), x, held)));
}

/// Returns a power of floats that needs no logarithm; empty for other exponents. Halves are computed in float32, so
/// that they are rounded once.
Value power_by_arithmetic(const Value& x, double exponent) {
  if (exponent == 2) return square(x);
  if (exponent == 3) return cube(x);
  if (exponent == -1) return recip(x);
  if (exponent == 0.5) return sqrt(x);
  if (exponent == -0.5) return rsqrt(x);
  if (exponent != -2) return {};
  if (size_of(x.dtype()) < 4) return cast(power_by_arithmetic(cast(x, DType::F32), exponent), x.dtype());
  return square(recip(x));
}

Value binary(op::BinaryFn fn, const Value& x, const Value& y) {
  if (x.node() && y.node() && x.dtype() == y.dtype() && op::computed_in(op::row(fn), x.dtype()) == x.dtype())
    return emit(op::Binary{fn}, Borrowed(x, y));
  require<ArgumentError>(!x.empty() && !y.empty(), op::name(fn), ": an operand is empty");
  if (x.is_scalar() && y.is_scalar()) return evaluate(fn, x.scalar(), y.scalar());
  if (fn == op::BinaryFn::Pow && y.is_scalar() && is_float(x.dtype()))
    if (Value power = power_by_arithmetic(x, y.scalar().to<double>())) return power;
  const DType promoted = x.is_scalar()   ? promote_scalar(y.dtype(), x.scalar().kind())
                         : y.is_scalar() ? promote_scalar(x.dtype(), y.scalar().kind())
                                         : promote(x.dtype(), y.dtype());
  const DType dtype = op::computed_in(op::row(fn), promoted);
  Value held_x, held_y;
  return emit(op::Binary{fn}, Borrowed(as(dtype, x, held_x), as(dtype, y, held_y)));
}

}  // namespace

#define KILN_UNARY(Name, function, ...) \
  Value function(const Value& x) { return unary(op::UnaryFn::Name, x); }
#define KILN_PREDICATE(Name, function, ...) \
  Value function(const Value& x) { return unary(op::UnaryFn::Name, x); }
#define KILN_BINARY(Name, function, ...) \
  Value function(const Value& x, const Value& y) { return binary(op::BinaryFn::Name, x, y); }
#define KILN_COMPARISON(Name, function, ...) \
  Value function(const Value& x, const Value& y) { return binary(op::BinaryFn::Name, x, y); }
#include "kiln/ops/elementwise/elementwise.def"

Value where(const Value& condition, const Value& x, const Value& y) {
  require<ArgumentError>(condition && x && y, "where: an operand is empty");
  if (condition.is_scalar()) return condition.scalar().to<bool>() ? x : y;
  DType dtype = x.is_scalar() && !y.is_scalar()   ? promote_scalar(y.dtype(), x.scalar().kind())
                : y.is_scalar() && !x.is_scalar() ? promote_scalar(x.dtype(), y.scalar().kind())
                                                  : promote(x.dtype(), y.dtype());
  // If both are plain numbers, only they can give the element type.
  const Value first = x.is_scalar() && y.is_scalar() ? full({}, x.scalar(), condition.device(), dtype) : cast(x, dtype);
  return emit(op::Where{}, {cast(condition, DType::Bool), first, cast(y, dtype)});
}

Value clamp(const Value& x, const Value& low, const Value& high) { return minimum(maximum(x, low), high); }

Value cast(const Value& x, DType dtype) {
  if (x.is_scalar() || (x && x.dtype() == dtype)) return x;
  return emit(op::Cast{dtype}, {x});
}

}  // namespace kiln
