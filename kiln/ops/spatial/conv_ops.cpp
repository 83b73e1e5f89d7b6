#include "kiln/ops/spatial/conv_ops.hpp"

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

Spatial spatial_of(const Shape& shape) { return Spatial(shape.begin() + 2, shape.end()); }

/// The extent of a kernel with dilation, in elements.
std::int64_t reach(std::string_view name, std::int64_t kernel, std::int64_t dilation) {
  return add_sizes(name, multiply_sizes(name, dilation, kernel - 1), 1);
}

void require_options(std::string_view name, const Conv& conv, int rank) {
  const int axes = rank - 2;
  require<ShapeError>(axes >= 1 && axes <= 3, name, ": needs [batch, channels, 1 to 3 spatial dimensions], got rank ",
                      rank);
  require<ArgumentError>(conv.stride.size() == axes && conv.padding.size() == axes && conv.dilation.size() == axes &&
                             conv.padding_after.size() == axes,
                         name, ": stride ", conv.stride, ", padding ", conv.padding, " to ", conv.padding_after,
                         " and dilation ", conv.dilation, " need ", axes, " entries each");
  for (int i = 0; i < axes; ++i)
    require<ArgumentError>(
        conv.stride[i] > 0 && conv.dilation[i] > 0 && conv.padding[i] >= 0 && conv.padding_after[i] >= 0, name,
        ": stride ", conv.stride, " and dilation ", conv.dilation, " must be positive, padding ", conv.padding, " to ",
        conv.padding_after, " not negative");
  require_reasonable(name, {conv.stride, conv.padding, conv.padding_after, conv.dilation});
  require<ArgumentError>(conv.groups > 0, name, ": ", conv.groups, " groups");
}

/// The spatial sizes of a convolution's result.
Spatial result_sizes(std::string_view name, const Conv& conv, const Spatial& sizes, const Spatial& kernel) {
  Spatial result;
  for (int i = 0; i < sizes.size(); ++i) {
    const std::int64_t padded = add_sizes(name, sizes[i], conv.padding[i] + conv.padding_after[i]);
    const bool is_size = sizes[i] >= 0 && kernel[i] > 0;
    const std::int64_t room = is_size ? padded - reach(name, kernel[i], conv.dilation[i]) : -1;
    require<ShapeError>(room >= 0, name, ": a kernel of ", kernel, " with dilation ", conv.dilation,
                        " does not fit into ", sizes, " with padding ", conv.padding, " to ", conv.padding_after);
    result.push_back(room / conv.stride[i] + 1);
  }
  return result;
}

Shape join(std::int64_t batch, std::int64_t channels, const Spatial& sizes) {
  Shape shape{batch, channels};
  for (const auto size : sizes) shape.push_back(size);
  return shape;
}

void require_ranks(std::string_view name, const Value& a, const Value& b) {
  require_float(name, a);
  require_float(name, b);
  require<ShapeError>(a.rank() == b.rank(), name, ": ", a.shape(), " and ", b.shape(), " must have the same rank");
}
void require_operands(std::string_view name, const Value& a, const Value& b) {
  require_ranks(name, a, b);
  require_same_dtype(name, a, b);
}

/// The shape of the result for x `data` and weight `filter`.
Shape shape_of(std::string_view name, const Conv& conv, const Shape& data, const Shape& filter) {
  require_options(name, conv, data.size());
  const std::int64_t taken = multiply_sizes(name, filter[1], conv.groups);
  require<ShapeError>(data[1] == taken, name, ": x ", data, " has ", data[1], " channels, weight ", filter, " with ",
                      conv.groups, conv.groups == 1 ? " group takes " : " groups takes ", taken);
  require<ShapeError>(filter[0] % conv.groups == 0, name, ": ", conv.groups, " groups do not divide the ", filter[0],
                      " result channels of weight ", filter);
  return join(data[0], filter[0], result_sizes(name, conv, spatial_of(data), spatial_of(filter)));
}

}  // namespace

Descs Conv::infer(Inputs in) const {
  require_count(kName, in, 2, 3);
  require_operands(kName, in[x], in[weight]);
  const Shape shape = shape_of(kName, *this, in[x].shape(), in[weight].shape());
  if (in.size() > 2 && !in[bias].empty()) {
    require_same_dtype(kName, in[x], in[bias]);
    require<ShapeError>(in[bias].shape() == Shape{shape[1]}, "conv: bias ", in[bias].shape(), " does not have the ",
                        shape[1], " result channels of weight ", in[weight].shape());
  }
  return one(shape, in[x].dtype());
}

void Conv::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(
      x, [&] { return emit(ConvTranspose{*this, spatial_of(backward.in_desc(x).shape)}, {g, backward.in(weight)}); });
  backward.to(weight, [&] {
    return emit(ConvWeightGrad{*this, spatial_of(backward.in_desc(weight).shape)}, {backward.in(x), g});
  });
  backward.to(bias, [&] {
    Dims dims{0};
    for (int i = 2; i < g.rank(); ++i) dims.push_back(i);
    return sum(g, dims);
  });
}

Descs ConvTranspose::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_operands(kName, in[y], in[weight]);
  require_options(kName, conv, in[y].rank());
  const Shape &data = in[y].shape(), &filter = in[weight].shape();
  require<ShapeError>(data[1] == filter[0] && filter[0] % conv.groups == 0, "conv_transpose: ", data, " has ", data[1],
                      " channels, weight ", filter, " takes ", filter[0], " in ", conv.groups, " groups");
  require<ShapeError>(
      sizes.size() == data.size() - 2 && result_sizes(kName, conv, sizes, spatial_of(filter)) == spatial_of(data),
      "conv_transpose: no convolution with weight ", filter, " and stride ", conv.stride, " maps ", sizes, " to ",
      spatial_of(data));
  return one(join(data[0], multiply_sizes(kName, filter[1], conv.groups), sizes), in[y].dtype());
}

void ConvTranspose::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(y, [&] { return emit(conv, {g, backward.in(weight)}); });
  backward.to(weight, [&] {
    return emit(ConvWeightGrad{conv, spatial_of(backward.in_desc(weight).shape)}, {g, backward.in(y)});
  });
}

Descs ConvWeightGrad::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_operands(kName, in[x], in[y]);
  require_options(kName, conv, in[x].rank());
  const Shape &data = in[x].shape(), &result = in[y].shape();
  require<ShapeError>(kernel.size() == data.size() - 2 && data[0] == result[0] && data[1] % conv.groups == 0 &&
                          result[1] % conv.groups == 0 &&
                          result_sizes(kName, conv, spatial_of(data), kernel) == spatial_of(result),
                      "conv_weight_grad: no convolution with a kernel of ", kernel, " maps ", data, " to ", result);
  return one(join(result[1], data[1] / conv.groups, kernel), in[x].dtype());
}

void ConvWeightGrad::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(x, [&] { return emit(ConvTranspose{conv, spatial_of(backward.in_desc(x).shape)}, {backward.in(y), g}); });
  backward.to(y, [&] { return emit(conv, {backward.in(x), g}); });
}

Descs ConvInteger::infer(Inputs in) const {
  require_count(kName, in, 2, 4);
  for (const Slot slot : {x, weight}) {
    require_tensor(kName, in[slot]);
    require<DTypeError>(in[slot].dtype() == DType::U8 || in[slot].dtype() == DType::I8, kName,
                        ": needs a tensor of int8 or uint8, got ", in[slot]);
  }
  require<ShapeError>(in[x].rank() == in[weight].rank(), kName, ": ", in[x].shape(), " and ", in[weight].shape(),
                      " must have the same rank");
  const Shape shape = shape_of(kName, conv, in[x].shape(), in[weight].shape());
  for (const Slot slot : {x_zero, weight_zero}) {
    if (in.size() <= static_cast<std::size_t>(slot) || in[slot].empty()) continue;
    const Value &zero = in[slot], &of = in[slot - x_zero];
    require_tensor(kName, zero);
    require_same_dtype(kName, of, zero);
    require<ShapeError>(zero.numel() == 1 || (slot == weight_zero && zero.shape() == Shape{shape[1]}), kName,
                        ": a zero point of shape ", zero.shape(), " does not fit ", of.shape());
  }
  return one(shape, DType::I32);
}

// In float64 every sum is exact; sums that exceed int32 wrap around by a conversion through int64.
Values ConvInteger::expand(Inputs in) const {
  const auto steps = [&](Slot slot, std::size_t zero, const Shape& by_channel) {
    const Value wide = cast(in[slot], DType::F64);
    if (in.size() <= zero || in[zero].empty()) return wide;
    const Value point = cast(in[zero], DType::F64);
    return wide - reshape(point, point.numel() == 1 ? Shape{} : by_channel);
  };
  Shape channels = Shape::filled(in[weight].rank(), 1);
  channels[0] = in[weight].dim(0);
  const Value sums = emit(conv, {steps(x, x_zero, channels), steps(weight, weight_zero, channels)});
  return {cast(cast(sums, DType::I64), DType::I32)};
}

Conv to_conv(const ConvOptions& options, int axes) {
  const auto filled = [&](const Spatial& given, std::int64_t value) {
    return given.empty() && axes >= 0 && axes <= 3 ? Spatial::filled(axes, value) : given;
  };
  const Spatial padding = filled(options.padding, 0);
  return {filled(options.stride, 1), padding, options.padding_after.empty() ? padding : options.padding_after,
          filled(options.dilation, 1), options.groups};
}

namespace {

/// Each element of `y` is a sum over the elements of a filter: a multiplication and an addition for each.
double flops_of_products(const Shape& y, const Shape& weight) {
  if (weight.empty() || weight[0] == 0) return 0;
  return 2.0 * static_cast<double>(numel(y)) * static_cast<double>(numel(weight)) / static_cast<double>(weight[0]);
}

}  // namespace

double Conv::flops(Inputs in, Inputs out) const { return flops_of_products(out[0].shape(), in[weight].shape()); }
double ConvInteger::flops(Inputs in, Inputs out) const { return flops_of_products(out[0].shape(), in[weight].shape()); }
double ConvTranspose::flops(Inputs in, Inputs) const { return flops_of_products(in[y].shape(), in[weight].shape()); }
double ConvWeightGrad::flops(Inputs in, Inputs out) const { return flops_of_products(in[y].shape(), out[0].shape()); }

}  // namespace op

Value conv(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options) {
  op::require_tensor("conv", x);
  const op::Conv op = op::to_conv(options, x.rank() - 2);
  return bias ? emit(op, {x, weight, bias}) : emit(op, {x, weight});
}

Value conv_integer(const Value& x, const Value& weight, const Value& x_zero, const Value& weight_zero,
                   const ConvOptions& options) {
  op::require_tensor("conv_integer", x);
  const op::ConvInteger op{op::to_conv(options, x.rank() - 2)};
  if (x_zero || weight_zero) return emit(op, {x, weight, x_zero, weight_zero});
  return emit(op, {x, weight});
}

Value conv_transpose(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options,
                     const Spatial& result_padding) {
  constexpr std::string_view name = op::ConvTranspose::kName;
  op::require_ranks(name, x, weight);  // their types are settled only in emit(), where Autocast may change them
  op::Conv op = op::to_conv(options, x.rank() - 2);
  op::require_options(name, op, x.rank());
  require<ArgumentError>(result_padding.empty() || result_padding.size() == x.rank() - 2,
                         "conv_transpose: result_padding ", result_padding, " needs ", x.rank() - 2, " entries");
  Spatial sizes;
  Dims zeros = Dims::filled(x.rank(), 0);  // beyond the result, where no element of x contributes
  bool has_zeros = false;
  for (int i = 0; i < x.rank() - 2; ++i) {
    std::int64_t more = result_padding.empty() ? 0 : result_padding[i];
    require<ArgumentError>(more >= 0 && more < std::max(op.stride[i], op.dilation[i]), name, ": result_padding ",
                           result_padding, " must be at least 0, and less than the stride ", op.stride,
                           " or the dilation ", op.dilation);
    // No convolution maps these sizes to x's if more than a stride is left over: the padding is reduced instead, as far
    // as possible.
    if (more >= op.stride[i]) {
      const std::int64_t kept = std::min(more, op.padding_after[i]);
      op.padding_after[i] -= kept;
      zeros[i + 2] = more - kept;
      has_zeros |= zeros[i + 2] > 0;
      more = 0;
    }
    const std::int64_t apart = multiply_sizes(name, x.shape()[i + 2] - 1, op.stride[i]);
    const std::int64_t all = add_sizes(name, apart, op::reach(name, weight.shape()[i + 2], op.dilation[i]));
    sizes.push_back(add_sizes(name, all - op.padding[i] - op.padding_after[i], more));
    require<ShapeError>(sizes.back() >= 0, "conv_transpose: padding ", op.padding, " leaves nothing of ", x.shape());
  }
  Value result = emit(op::ConvTranspose{op, sizes}, {x, weight});
  if (has_zeros) result = pad(result, Dims::filled(x.rank(), 0), zeros);
  if (!bias) return result;
  op::require_tensor(name, bias);
  const std::int64_t channels = result.shape()[1];
  require<ShapeError>(bias.shape() == Shape{channels}, "conv_transpose: bias ", bias.shape(), " does not have the ",
                      channels, " result channels of weight ", weight.shape());
  Shape aligned = Shape::filled(x.rank() - 1, 1);
  aligned[0] = channels;
  const Value added = reshape(bias, aligned);
  // Under Autocast the convolution has half precision, and the sum keeps it.
  return result + (autocast_dtype() == DType::F32 ? added : cast(added, result.dtype()));
}

Value conv_input_backward(const Value& gradient, const Value& weight, const Spatial& sizes,
                          const ConvOptions& options) {
  return emit(op::ConvTranspose{op::to_conv(options, sizes.size()), sizes}, {gradient, weight});
}
Value conv_weight_backward(const Value& x, const Value& gradient, const Spatial& kernel, const ConvOptions& options) {
  return emit(op::ConvWeightGrad{op::to_conv(options, kernel.size()), kernel}, {x, gradient});
}

}  // namespace kiln
