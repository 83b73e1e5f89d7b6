// Quantisation: integers (or narrow floats) with a scale and a zero point, of a whole tensor, along an axis or by
// blocks.
#include <algorithm>
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/windows.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

// A scale or a zero point in a shape that broadcasts against x.
Value spread(const Call& c, const Value& parameter, const Value& x) {
  if (parameter.numel() == 1 && parameter.rank() <= 1) return reshape(parameter, {});
  const int axis = c.dim(c.i("axis", 1), x.rank());
  if (parameter.rank() == 1) return along(parameter, axis, x.rank());
  const std::int64_t given = c.i("block_size", 0), blocks = parameter.dim(axis);
  c.check(parameter.rank() == x.rank() && blocks > 0 && given >= 0, "a scale of shape ", parameter.shape(), " for ",
          x.shape());
  const std::int64_t block = given ? given : x.dim(axis) / blocks + (x.dim(axis) % blocks != 0);
  c.check(block == 0 || x.dim(axis) / block + (x.dim(axis) % block != 0) == blocks, "blocks of ", block, " for ",
          x.shape(), ", and a scale of shape ", parameter.shape());
  return narrow(repeat_interleave(parameter, block, axis), axis, 0, x.dim(axis));
}

struct Limits {
  double low, high;
};
Limits limits_of(Element type) {
  switch (type) {
    case Element::Uint8: return {0, 255};
    case Element::Int8: return {-128, 127};
    case Element::Uint16: return {0, 65535};
    case Element::Int16: return {-32768, 32767};
    case Element::Uint4: return {0, 15};
    case Element::Int4: return {-8, 7};
    case Element::Uint2: return {0, 3};
    case Element::Int2: return {-2, 1};
    default: return {-2147483648.0, 2147483647};
  }
}

// round(ratio) + zero, brought into the range of `type`.
Datum rounded(const Value& ratio, const Value& zero, Element type, bool saturate) {
  if (is_narrow_float(type)) return cast_to(Datum(of_type(ratio, DType::F32)), type, {.saturate = saturate});
  const Limits limits = limits_of(type);
  const DType wide = ratio.dtype() == DType::F64 || type == Element::Int32 ? DType::F64 : DType::F32;
  Value steps = round(of_type(ratio, wide));
  if (!zero.empty()) steps = steps + of_type(zero, wide);
  return {cast(clamp(steps, limits.low, limits.high), dtype_of(type)), type};
}

// round(x / scale) + zero, likewise.
Datum quantized(const Value& x, const Value& scale, const Value& zero, Element type, bool saturate) {
  return rounded(x / scale, zero, type, saturate);
}

Results quantize_linear(Call& c) {
  const Value& x = c[0];
  const Element type = c.has(2) ? c.datum(2).element() : c.element("output_dtype", Element::Uint8);
  const Element wanted = type == Element::Undefined ? Element::Uint8 : type;
  const Element precision = c.element("precision", Element::Undefined);
  const DType division = precision == Element::Undefined ? c[1].dtype() : dtype_of(precision);
  const Value scale = of_type(spread(c, c[1], x), is_float(division) ? division : DType::F32);
  const Value zero = c.has(2) ? spread(c, c[2], x) : Value();
  return quantized(of_type(x, scale.dtype()), scale, zero, wanted, c.i("saturate", 1) != 0);
}

Results dequantize_linear(Call& c) {
  const Value& x = c[0];
  const Element asked = c.element("output_dtype", Element::Undefined);
  const DType type = asked == Element::Undefined ? c[1].dtype() : dtype_of(asked);
  // Differences of up to 16 bits are exact in float32 as well, and need no type in between.
  const DType wide = !is_integer(x.dtype()) ? x.dtype() : size_of(x.dtype()) <= 2 ? DType::F32 : DType::I32;
  Value steps = of_type(x, wide);
  if (c.has(2)) steps = steps - of_type(spread(c, c[2], x), wide);
  const DType exact = type == DType::F64 ? DType::F64 : DType::F32;
  return of_type(of_type(steps, exact) * of_type(spread(c, c[1], x), exact), type);
}

Results fake_quantize(Call& c) {
  return clamp(round(c[0] / reshape(c[1], {})), c.f("low", 0), c.f("high", 0)) * reshape(c[1], {});
}

Results dynamic_quantize(Call& c) {
  const Value& x = c[0];
  const Value low = minimum(min(x), 0.0), high = maximum(max(x), 0.0);
  const Value range = (high - low) / 255.0;
  const Value scale = where(eq(range, 0), ones_like(range), range);
  const Value zero = clamp(round(neg(low) / scale), 0, 255);
  return {quantized(x, scale, zero, Element::Uint8, true), scale, Datum(cast(zero, DType::U8))};
}

// Scales or zero points of a matrix or a filter: one for all, or one for each row or column.
Value in_dim(const Value& parameter, int rank, int dim) {
  if (parameter.numel() == 1) return reshape(parameter, {});
  return parameter.rank() == 1 ? along(parameter, dim < 0 ? dim + rank : dim, rank) : parameter;
}
Value zero_of(const Call& c, int i, int rank, int dim) {
  return c.has(i) ? in_dim(cast(c[i], DType::I32), rank, dim) : full({}, 0, c.device(), DType::I32);
}

// A matrix's zero point as matmul_integer() takes it: one number, or those of rows or columns.
Value zero_point(const Call& c, int i, bool of_rows) {
  if (!c.has(i)) return {};
  const Value& zero = c[i];
  if (zero.numel() == 1) return reshape(zero, {});
  return of_rows && zero.rank() == 1 ? unsqueeze(zero, 1) : zero;
}

// The product of inputs `a` and `b`, whose zero points are the inputs given; vectors as in NumPy's matmul.
Value product_of_steps(const Call& c, int a, int a_zero, int b, int b_zero) {
  const bool row = c[a].rank() == 1, column = c[b].rank() == 1;
  Value result = matmul_integer(row ? unsqueeze(c[a], 0) : c[a], column ? unsqueeze(c[b], 1) : c[b],
                                zero_point(c, a_zero, true), zero_point(c, b_zero, false));
  if (column) result = squeeze(result, -1);
  return row ? squeeze(result, column ? -1 : -2) : result;
}

Results matmul_integer_of(Call& c) { return product_of_steps(c, 0, 2, 1, 3); }

Results qlinear_matmul(Call& c) {
  const auto scale_of = [&](int i, int rank, int dim) { return in_dim(of_type(c[i], DType::F32), rank, dim); };
  const int rows = std::max(-2, -c[0].rank());
  const Value product = product_of_steps(c, 0, 2, 3, 5);
  const Value real = of_type(product, DType::F32) * scale_of(1, c[0].rank(), rows) * scale_of(4, c[3].rank(), -1);
  const Value zero = zero_of(c, 7, product.rank(), std::max(-2, -product.rank()));
  return quantized(real, scale_of(6, product.rank(), std::max(-2, -product.rank())), zero, c.datum(7).element(), true);
}

Value zero_of_filter(const Call& c, int i) {
  if (!c.has(i)) return {};
  return reshape(c[i], c[i].numel() == 1 ? Shape{} : Shape{c[i].numel()});
}

Results conv_integer_of(Call& c) {
  return integer_convolution(c, c[0], c[1], zero_of_filter(c, 2), zero_of_filter(c, 3));
}

Results qlinear_conv(Call& c) {
  const Value &x = c[0], &weight = c[3];
  Value sums = integer_convolution(c, x, weight, zero_of_filter(c, 2), zero_of_filter(c, 5));
  const auto by_channel = [&](const Value& v) {
    c.check(v.numel() == 1 || v.numel() == weight.dim(0), v.numel(), " numbers for ", weight.dim(0), " channels");
    return in_dim(reshape(v, {v.numel()}), x.rank(), 1);
  };
  // float32 holds the sums of all but filters of more than 258 numbers, and those nearly.
  Value real = cast(sums, DType::F32);
  if (c.has(8)) real = real + by_channel(cast(c[8], DType::F32));
  const Value scale = of_type(c[1], DType::F32) * by_channel(of_type(c[4], DType::F32)) / of_type(c[6], DType::F32);
  return rounded(real * scale, zero_of(c, 7, x.rank(), 1), c.datum(7).element(), true);
}

constexpr OperatorRow kQuantizeRows[] = {
    {"ConvInteger", 10, conv_integer_of},
    // Constant weights stay integers: floats would take four times their memory.
    {"DequantizeLinear", 10, dequantize_linear, {.kind = OperatorKind::SameShape, .folds = false}},
    {"DynamicQuantizeLinear", 11, dynamic_quantize},
    // No operator of ONNX's: what find_fake_quantisation() makes.
    {"FakeQuantize", kNewestOpset, fake_quantize, traits_of(OperatorKind::SameShape)},
    {"MatMulInteger", 10, matmul_integer_of},
    {"QLinearConv", 10, qlinear_conv},
    {"QLinearMatMul", 10, qlinear_matmul},
    {"QuantizeLinear", 10, quantize_linear, {.kind = OperatorKind::SameShape}},
};

}  // namespace

std::span<const OperatorRow> quantize_rows() { return kQuantizeRows; }

}  // namespace kiln::onnx
