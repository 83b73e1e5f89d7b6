// Matrix products, convolutions and their gradients.
#include <algorithm>

#include "kiln/compile/nest.hpp"
#include "kiln/compile/whole.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::compile {
namespace {

enum Place : int { kA, kB, kResult };

/// Rows of a product for which its right side is worth a copy as floats.
constexpr std::int64_t kRowsOfFloats = 4;

/// Narrow integers as int32, less their zero point, which is one number or broadcasts to x from the shape `by_channel`.
View widened(Lowering& to, const View& x, const View* zero, const Shape& by_channel) {
  View wide = combined(op::Cast{DType::I32}, DType::I32, x.shape, {x});
  if (!zero || zero->value.in.empty()) return wide;
  const Shape shape = numel(zero->shape) == 1 ? Shape{} : by_channel;
  View aligned = *zero;
  if (!reshaped(aligned, shape)) {
    aligned = to.stored(aligned);
    reshaped(aligned, shape);
  }
  const View point = combined(op::Cast{DType::I32}, DType::I32, x.shape, {expanded(aligned, x.shape)});
  return combined(kSubtract, DType::I32, x.shape, {wide, point});
}
const View* operand(const Site& site, int i) { return site.has(i) ? &site.in[static_cast<std::size_t>(i)] : nullptr; }

Shape broadcast_to(const Shape& shape, const Shape& batch) {
  Shape all = batch;
  all[all.size() - 2] = shape[shape.size() - 2];
  all.back() = shape.back();
  return all;
}

/// A constant whose last dimension is not that of its memory is written again in the order in which it is read.
View in_order(Lowering& to, View view) {
  for (Operand& operand : view.value.in) {
    if (operand.is_number || to.program[operand.access.buffer].place != Buffer::Place::Constant) continue;
    const Counts wanted = [&] {
      const Dims strides = contiguous_strides(view.shape);
      return Counts(strides.begin(), strides.end());
    }();
    Access& access = operand.access;
    const TensorData& data = to.program[access.buffer].data;
    if (access.strides == wanted || access.index >= 0 || data.numel() != numel(view.shape)) continue;
    const std::size_t bytes = size_of(data.dtype());
    std::vector<std::byte> moved(static_cast<std::size_t>(data.numel()) * bytes);
    bool reads_each = true;
    for (std::int64_t i = 0; i < data.numel(); ++i) {
      std::int64_t from = access.offset, left = i;
      for (int d = view.shape.size(); d-- > 0; left /= view.shape[d])
        from += left % view.shape[d] * access.strides[static_cast<std::size_t>(d)];
      reads_each = reads_each && from >= 0 && from < data.numel();
      if (reads_each)
        std::copy_n(data.bytes().begin() + from * static_cast<std::int64_t>(bytes), bytes,
                    moved.begin() + i * static_cast<std::int64_t>(bytes));
    }
    if (!reads_each) continue;
    access = {to.add_constant(TensorData(view.shape, data.dtype(), std::move(moved))), 0, wanted};
  }
  return view;
}

void multiply(Lowering& to, Site& site, View a, View b) {
  const Desc& desc = site.result();
  const int rank = desc.shape.size(), row = rank - 2, column = rank - 1;
  a = to.reread(a);
  b = in_order(to, to.reread(b));
  // Tiles read floats: what is kept as integers becomes such first, where enough rows use it.
  if (to.tiles && desc.dtype == DType::F32 && desc.shape[row] >= kRowsOfFloats) {
    a = to.plain(a);
    b = to.plain(b);
  }
  a = expanded(a, broadcast_to(a.shape, desc.shape));
  b = expanded(b, broadcast_to(b.shape, desc.shape));
  const auto sums = [&](const View& left, const View& right, DType dtype) {
    Contraction sum{.a = left,
                    .b = right,
                    .result = to.buffer_for({desc.shape, dtype}),
                    .outer = {},
                    .reduced = {{left.shape.back(), {{kA, column}, {kB, row}}}},
                    .inner = {}};
    for (int dim = 0; dim < row; ++dim) sum.outer.push_back({desc.shape[dim], {{kA, dim}, {kB, dim}, {kResult, dim}}});
    sum.outer.push_back({desc.shape[row], {{kA, row}, {kResult, row}}});
    const Axis along{desc.shape[column], {{kB, column}, {kResult, column}}};
    const bool in_rows = std::ranges::all_of(
        right.value.in, [](const Operand& each) { return each.is_number || each.access.strides.back() <= 1; });
    (in_rows ? sum.inner : sum.outer).push_back(along);
    const View result = sum.result;
    contract(to, std::move(sum));
    return result;
  };
  auto x = scaled_whole(to.program, a), y = scaled_whole(to.program, b);
  if (x && y && is_same_along(x->factor, column) && is_same_along(y->factor, row) && sums_fit(a.shape.back())) {
    x->factor.shape = y->factor.shape = desc.shape;
    site.out = {rescaled(sums(x->whole, y->whole, DType::I32), x->factor, y->factor)};
    return;
  }
  site.out = {sums(a, b, desc.dtype)};
}

/// The axes of a convolution of x [batch, in, sizes...] to y [batch, out, sizes...] by weight
/// [out, in / groups, kernel...], for operands by their numbers.
struct ConvAxes {
  Axis batch, group, out, in;
  Axes kernel, places;
  Dims begin;  // of x
};
ConvAxes axes_of(const op::Conv& conv, const Shape& x, const Shape& weight, const Shape& y, int at_x, int at_w,
                 int at_y) {
  const std::int64_t outs = y[1] / conv.groups, ins = x[1] / conv.groups;
  ConvAxes axes{.batch = {x[0], {{at_x, 0}, {at_y, 0}}},
                .group = {conv.groups, {{at_x, 1, ins}, {at_w, 0, outs}, {at_y, 1, outs}}},
                .out = {outs, {{at_w, 0}, {at_y, 1}}},
                .in = {ins, {{at_x, 1}, {at_w, 1}}},
                .kernel = {},
                .places = {},
                .begin = {0, 0}};
  for (int i = 0; i + 2 < x.size(); ++i) {
    axes.kernel.push_back({weight[i + 2], {{at_x, i + 2, conv.dilation[i]}, {at_w, i + 2}}});
    axes.places.push_back({y[i + 2], {{at_x, i + 2, conv.stride[i]}, {at_y, i + 2}}});
    axes.begin.push_back(-conv.padding[i]);
  }
  return axes;
}

/// The convolution as loops that ask at each place whether it lies in the padding.
Contraction direct(Lowering& to, const op::Conv& conv, const View& x, const View& weight, const Desc& desc) {
  const ConvAxes axes = axes_of(conv, x.shape, weight.shape, desc.shape, kA, kB, kResult);
  Contraction sum{.a = x,
                  .b = weight,
                  .result = to.buffer_for(desc),
                  .outer = {axes.batch, axes.group, axes.out},
                  .reduced = joined({axes.in}, axes.kernel),
                  .inner = axes.places};
  sum.begin[kA] = axes.begin;
  sum.guarded = kA;
  return sum;
}

/// The convolution of quantised tensors by sums of int32; `added` may be empty. Returns false where it is none.
bool convolve_whole(Lowering& to, Site& site, const op::Conv& conv, const View& x, const View& weight,
                    const View& added) {
  const Desc& desc = site.result();
  const auto image = scaled_whole(to.program, x), kernel = scaled_whole(to.program, weight);
  if (!image || !kernel || !image->factor.is_number() || numel(weight.shape) == 0) return false;
  for (int dim = 1; dim < weight.shape.size(); ++dim)
    if (!is_same_along(kernel->factor, dim)) return false;
  if (!sums_fit(numel(weight.shape) / weight.shape[0])) return false;
  Contraction sum = direct(to, conv, image->whole, kernel->whole, {desc.shape, DType::I32});
  const View sums = sum.result;
  contract(to, std::move(sum));
  View of_image = image->factor, of_channel = kernel->factor;
  of_image.shape = of_channel.shape = desc.shape;
  if (Operand& scale = of_channel.value.in[0]; !scale.is_number) {
    Counts strides(static_cast<std::size_t>(desc.shape.size()), 0);
    strides[1] = scale.access.strides[0];
    scale.access.strides = std::move(strides);
  }
  site.out = {rescaled(sums, of_image, of_channel)};
  if (!added.value.in.empty()) site.out = {combined(kAdd, DType::F32, desc.shape, {site.out[0], added})};
  return true;
}

void convolve(Lowering& to, Site& site, const op::Conv& conv, View x, View weight, const View* bias) {
  const Desc& desc = site.result();
  const DType wide = expr::computed_in(desc.dtype);  // sums of halves are rounded once, with the bias
  View added;
  if (bias) {
    View per_channel = to.plain(*bias);
    Shape shape = Shape::filled(desc.shape.size(), 1);
    shape[1] = desc.shape[1];
    reshaped(per_channel, shape);
    added = expanded(per_channel, desc.shape);
  }
  weight = to.reread(weight);
  if (const auto flat = convolved_flat(to, conv, x, weight, added, desc)) {
    site.out = {*flat};
    return;
  }
  x = to.reread(x);
  if (!to.tiles && convolve_whole(to, site, conv, x, weight, added)) return;
  Contraction sum = direct(to, conv, x, weight, {desc.shape, wide});
  site.out = {sum.result};
  sum.start = added;
  if (!contract(to, std::move(sum)) && bias) site.out = {combined(kAdd, wide, desc.shape, {site.out[0], added})};
  if (wide != desc.dtype) site.out = {combined(op::Cast{desc.dtype}, desc.dtype, desc.shape, {site.out[0]})};
}

void transpose(Lowering& to, Site& site, const op::ConvTranspose& op) {
  const View y = to.reread(site.in[op::ConvTranspose::y]), weight = to.reread(site.in[op::ConvTranspose::weight]);
  const ConvAxes axes = axes_of(op.conv, site.result().shape, weight.shape, y.shape, kResult, kB, kA);
  Contraction sum{.a = y,
                  .b = weight,
                  .result = to.buffer_for(site.result()),
                  .outer = {axes.batch, axes.group, axes.in},
                  .reduced = joined({axes.out}, axes.kernel),
                  .inner = axes.places};
  sum.begin[kResult] = axes.begin;
  sum.guarded = kResult;
  sum.scatters = true;
  site.out = {sum.result};
  contract(to, std::move(sum));
}

void weight_gradient(Lowering& to, Site& site, const op::ConvWeightGrad& op) {
  const View x = to.reread(site.in[op::ConvWeightGrad::x]), y = to.reread(site.in[op::ConvWeightGrad::y]);
  const ConvAxes axes = axes_of(op.conv, x.shape, site.result().shape, y.shape, kA, kResult, kB);
  Contraction sum{.a = x,
                  .b = y,
                  .result = to.buffer_for(site.result()),
                  .outer = {axes.group, axes.out, axes.in},
                  .reduced = joined({axes.batch}, axes.places),
                  .inner = {}};
  sum.outer = joined(sum.outer, axes.kernel);
  sum.begin[kA] = axes.begin;
  sum.guarded = kA;
  site.out = {sum.result};
  contract(to, std::move(sum));
}

/// Whether sums of the type can be kept: halves would be rounded at each step.
bool sums(const Site& site) { return expr::computed_in(site.result().dtype) == site.result().dtype; }

}  // namespace

bool lower_product(Lowering& to, Site& site) {
  const auto& op = site.step.op.is;
  if (std::holds_alternative<op::Matmul>(op)) {
    multiply(to, site, site.in[0], site.in[1]);
  } else if (std::holds_alternative<op::MatmulInteger>(op)) {
    const auto steps = [&](int slot, int zero) {
      const View* const point = operand(site, zero);
      return widened(to, site.in[static_cast<std::size_t>(slot)], point, point ? point->shape : Shape{});
    };
    multiply(to, site, steps(op::MatmulInteger::a, op::MatmulInteger::a_zero),
             steps(op::MatmulInteger::b, op::MatmulInteger::b_zero));
  } else if (const auto* conv = std::get_if<op::Conv>(&op)) {
    convolve(to, site, *conv, site.in[op::Conv::x], site.in[op::Conv::weight], operand(site, op::Conv::bias));
  } else if (const auto* integer = std::get_if<op::ConvInteger>(&op)) {
    const View &x = site.in[op::ConvInteger::x], &weight = site.in[op::ConvInteger::weight];
    Shape channels = Shape::filled(weight.shape.size(), 1);
    channels[0] = weight.shape[0];
    convolve(to, site, integer->conv, widened(to, x, operand(site, op::ConvInteger::x_zero), channels),
             widened(to, weight, operand(site, op::ConvInteger::weight_zero), channels), nullptr);
  } else if (const auto* transposed = std::get_if<op::ConvTranspose>(&op); transposed && sums(site)) {
    transpose(to, site, *transposed);
  } else if (const auto* gradient = std::get_if<op::ConvWeightGrad>(&op)) {
    weight_gradient(to, site, *gradient);
  } else {
    return false;
  }
  return true;
}

}  // namespace kiln::compile
