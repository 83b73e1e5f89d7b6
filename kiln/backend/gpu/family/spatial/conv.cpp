#include "kiln/backend/gpu/family/spatial/conv.hpp"

#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/pointwise.hpp"

namespace kiln::gpu::family {
namespace {

Expr product(const std::vector<Expr>& sizes) {
  Expr all = sizes[0];
  for (std::size_t axis = 1; axis < sizes.size(); ++axis) all = all * sizes[axis];
  return all;
}

}  // namespace

Dims strides_in(const Shape& shape, bool channels_last) {
  if (!channels_last) return contiguous_strides(shape);
  Dims order{0};
  for (int dim = 2; dim < shape.size(); ++dim) order.push_back(dim);
  order.push_back(1);
  return dense_strides(shape, order);
}

// ---- for kernels ---------------------------------------------------------------------------------------------------

ConvKey key_of(const Convolution& conv, std::int64_t most) {
  for (const Array* array : {&conv.x, &conv.y, &conv.weight}) {
    std::int64_t reach = array->numel();
    for (int dim = 0; dim < array->shape.size(); ++dim) reach += array->shape[dim] * std::abs(array->strides[dim]);
    most = std::max(most, reach);
  }
  const Spatial kernel = conv.kernel();
  for (int axis = 0; axis < conv.axes(); ++axis)
    most = std::max(most, conv.x.shape[axis + 2] + conv.y.shape[axis + 2] * conv.stride[axis] +
                              kernel[axis] * conv.dilation[axis] + 2 * conv.padding[axis]);
  return {conv.result, conv.x.dtype,  index_type({most}), kernel,
          conv.stride, conv.dilation, conv.channels_last, conv.bias != nullptr};
}

ConvNumbers::ConvNumbers(Builder& k, const ConvKey& key) : key_(key) {
  const auto numbers = [&](std::vector<Expr>& list) {
    for (int axis = 0; axis < key.axes(); ++axis) list.push_back(k.number(key.index));
  };
  for (Expr* number : {&batch, &groups, &in, &out, &x_batch, &x_channel, &y_batch, &y_channel})
    *number = k.number(key.index);
  for (auto* list : {&x_sizes, &x_strides, &y_sizes, &y_strides, &padding}) numbers(*list);
  for (int axis = 0; axis < key.axes(); ++axis) axes_.push_back(axis);
}

void ConvNumbers::append(std::vector<Argument>& arguments, const Convolution& conv) {
  const Array &x = conv.x, &y = conv.y;
  for (const std::int64_t number :
       {x.shape[0], conv.groups, conv.in(), conv.out(), x.strides[0], x.strides[1], y.strides[0], y.strides[1]})
    arguments.emplace_back(number);
  const auto add = [&](const Dims& all, int first) {
    for (int i = first; i < all.size(); ++i) arguments.emplace_back(all[i]);
  };
  for (const Array* array : {&x, &y}) {
    add(array->shape, 2);
    add(array->strides, 2);
  }
  for (const std::int64_t number : conv.padding) arguments.emplace_back(number);
}

Expr ConvNumbers::x_size() const { return product(x_sizes); }
Expr ConvNumbers::y_size() const { return product(y_sizes); }

Expr ConvNumbers::weight_at(const Expr& group, const Expr& o, const Expr& i, const Expr& tap) const {
  const Expr filter = group * out + o;
  return key_.channels_last ? (filter * key_.taps() + tap) * in + i : (filter * in + i) * key_.taps() + tap;
}

std::vector<Expr> ConvNumbers::reach_of(const Expr& tap) const {
  std::vector<Expr> all(static_cast<std::size_t>(key_.axes()));
  Expr left = tap;
  for (int axis = key_.axes(); axis-- > 0;) {
    all[static_cast<std::size_t>(axis)] = (axis ? left % key_.kernel[axis] : left) * key_.dilation[axis];
    left = left / key_.kernel[axis];
  }
  return all;
}

ConvNumbers::Tap ConvNumbers::x_of(std::span<const Expr> y, std::span<const Expr> reach) const {
  Tap found;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    const Expr place = y[axis] * key_.stride[static_cast<int>(axis)] - padding[axis] + reach[axis];
    const Expr inside = (place >= 0) & (place < x_sizes[axis]), at = place * x_strides[axis];
    found = axis ? Tap{found.at + at, found.inside & inside} : Tap{at, inside};
  }
  return found;
}

ConvNumbers::Tap ConvNumbers::y_of(std::span<const Expr> x, std::span<const Expr> reach) const {
  Tap found;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t stride = key_.stride[static_cast<int>(axis)];
    const Expr shifted = x[axis] + padding[axis] - reach[axis], place = stride == 1 ? shifted : shifted / stride;
    Expr inside = (shifted >= 0) & (place < y_sizes[axis]);
    if (stride != 1) inside = inside & (place * stride == shifted);
    const Expr at = place * y_strides[axis];
    found = axis ? Tap{found.at + at, found.inside & inside} : Tap{at, inside};
  }
  return found;
}

// ---- ops -----------------------------------------------------------------------------------------------------------

namespace {

bool is_channels_last(const Array& x) { return x.shape[1] > 1 && x.strides[1] == 1 && !x.contiguous(); }

/// Tensor cores take neighbouring channels; a library would convert images of another order to this one for each call,
/// and back.
bool prefers_channels_last(const Gpu& gpu, const Array& x) {
  Library* const library = gpu.driver().library();
  const bool by_tensor_cores =
      multiplies_fragments(gpu, x.dtype) ||
      (x.dtype == DType::F32 && Float32Precision::said() == Float32Precision::High && library && library->worth().tf32);
  return by_tensor_cores && x.shape.size() > 3 && x.shape[1] > 1;
}

/// Returns a tensor in that order: in place, or as a copy.
Array ordered(Gpu& gpu, const Array& x, bool channels_last, Value& held) {
  const Dims strides = strides_in(x.shape, channels_last);
  if (x.numel() == 0 || strided::same_order(x.shape, x.strides, strides)) return x;
  held = gpu.scratch({x.shape, x.dtype});
  Array copied = read(held);
  copied.strides = strides;
  copy(gpu, x, copied);
  return copied;
}

/// If the spatial dimensions can be merged into one, returns its stride.
std::optional<std::int64_t> as_one(const Array& x) {
  Shape sizes(x.shape.begin() + 2, x.shape.end());
  const Dims strides[] = {Dims(x.strides.begin() + 2, x.strides.end())};
  const Loop loop = merged(sizes, strides);
  if (loop.sizes.size() > 1) return std::nullopt;
  return loop.sizes.empty() ? 1 : loop.strides[0][0];
}

/// A kernel of one tap that reads each element once is a product of matrices, for each batch entry and group.
bool multiply_channels(Gpu& gpu, const Convolution& conv) {
  if (conv.taps() != 1 || conv.bias || conv.result == Convolved::Weight) return false;
  for (int axis = 0; axis < conv.axes(); ++axis)
    if (conv.stride[axis] != 1 || conv.padding[axis] != 0 || conv.x.shape[axis + 2] != conv.y.shape[axis + 2])
      return false;
  const bool to_y = conv.result == Convolved::Y;
  const Array &from = to_y ? conv.x : conv.y, &to = to_y ? conv.y : conv.x;
  const std::optional<std::int64_t> pixel = as_one(from);
  if (!pixel) return false;
  const std::int64_t pixels = to.numel() / (to.shape[0] * to.shape[1]), groups = conv.groups;
  const std::int64_t from_channels = from.shape[1] / groups, to_channels = to.shape[1] / groups;
  const std::int64_t in_stride = conv.in();
  const Lines data{from.data, *pixel, from.strides[1]};
  const Lines weight{conv.weight.data, to_y ? in_stride : 1, to_y ? 1 : in_stride};
  const Dims data_batch{from.strides[0], from_channels * from.strides[1]}, weight_batch{0, conv.out() * conv.in()};
  const Shape batch{to.shape[0], groups};
  Matrices product{.dtype = to.dtype, .k = from_channels, .c = to.data};
  if (conv.channels_last) {  // pixels are rows of the result
    if (groups > 1) return false;
    const bool joined = from.strides[0] == pixels * *pixel;  // images can be merged if the weight is the same for all
    product.m = joined ? pixels * batch[0] : pixels;
    product.n = to_channels;
    product.a = data;
    product.b = weight;
    product.batch = merged(joined ? Shape{} : batch, std::array{data_batch, weight_batch});
  } else {
    product.m = to_channels;
    product.n = pixels;
    product.a = weight;
    product.b = data;
    product.batch = merged(batch, std::array{weight_batch, data_batch});
  }
  matmul(gpu, product);
  return true;
}

struct BiasKernel {
  DType dtype;
  PointwiseShape shape;

  Kernel kernel() const {
    Builder k("add_bias", Pointwise::kThreads);
    const DType inputs[] = {dtype, dtype}, outputs[] = {dtype};
    Pointwise pointwise(k, shape, inputs, outputs);
    pointwise.run([](std::span<const Expr> in) { return std::vector{in[0] + in[1]}; });
    return k.finish();
  }
};

/// Adds the bias to every channel of y, in place.
void add_bias(Gpu& gpu, const Array& y, const std::byte* bias) {
  Array channels = y;
  channels.data = const_cast<std::byte*>(bias);
  for (int dim = 0; dim < y.shape.size(); ++dim) channels.strides[dim] = dim == 1;
  const PointwiseOperand inputs[] = {{y}, {channels}};
  PointwiseLaunch launch(y.shape, inputs, {&y, 1});
  launch.shape.in_place = true;
  gpu.launch(BiasKernel{y.dtype, launch.shape}, launch.blocks, launch.arguments);
}

/// Calls the library, which needs dense tensors that all have the same order.
bool convolve_by_library(Gpu& gpu, const Convolution& conv, const Spatial& padding_after) {
  using Kind = gpu::Convolution::Kind;
  Library* const library = gpu.driver().library();
  if (!library) return false;
  const std::int64_t few = library->worth().min_library_channels;
  if (!multiplies_fragments(gpu, conv.x.dtype) && std::min(conv.in(), conv.out()) < few) return false;
  gpu::Convolution asked{.kind = conv.result == Convolved::Y   ? Kind::Forward
                                 : conv.result == Convolved::X ? Kind::DataGradient
                                                               : Kind::WeightGradient,
                         .dtype = conv.x.dtype,
                         .stride = conv.stride,
                         .padding = conv.padding,
                         .padding_after = padding_after,
                         .dilation = conv.dilation};
  const auto layout = [&](const Array& array, gpu::Convolution::Tensor& tensor) {
    tensor = {array.data, array.shape, strides_in(array.shape, conv.channels_last)};
    return array.numel() > 0 && strided::same_order(array.shape, array.strides, tensor.strides);
  };
  if (!layout(conv.x, asked.x) || !layout(conv.weight, asked.weight) || !layout(conv.y, asked.y)) return false;
  if (!library->convolve(asked)) return false;
  if (conv.bias) add_bias(gpu, conv.y, conv.bias);
  return true;
}

void convolve(Gpu& gpu, Convolution conv, const op::Conv& op, const Value& weight, Value& result) {
  Array& operand = conv.result == Convolved::X ? conv.y : conv.x;
  conv.groups = op.groups;
  conv.stride = op.stride;
  conv.padding = op.padding;
  conv.dilation = op.dilation;
  conv.channels_last = is_channels_last(operand) || prefers_channels_last(gpu, operand);
  const bool of_weight = conv.result == Convolved::Weight;
  const Array made = gpu.allocate(result, strides_in(result.shape(), conv.channels_last && !of_weight));
  if (made.numel() == 0) return;
  Value held[3];
  Array& place = of_weight ? conv.weight : conv.result == Convolved::X ? conv.x : conv.y;
  place = made;
  place.strides = strides_in(made.shape, conv.channels_last);
  // Gradients of weights are returned in the order of the weights.
  const bool turns = !strided::same_order(made.shape, place.strides, made.strides);
  if (turns) place.data = read(held[2] = gpu.scratch({made.shape, made.dtype})).data;
  if (conv.channels_last) operand = ordered(gpu, operand, true, held[0]);
  if (!of_weight) conv.weight = ordered(gpu, read(weight), conv.channels_last, held[1]);
  else if (conv.channels_last) conv.y = ordered(gpu, conv.y, true, held[1]);
  if (!multiply_channels(gpu, conv) && !convolve_by_library(gpu, conv, op.padding_after)) {
    if (conv.groups > 1 && std::min(conv.in(), conv.out()) < 8) convolve_alone(gpu, conv);
    else convolve_tiles(gpu, conv);
  }
  if (turns) copy(gpu, place, made);
}

}  // namespace

bool run(Gpu& gpu, const op::Conv& op, Call call) {
  Convolution conv{.result = Convolved::Y, .x = read(call.in[op::Conv::x])};
  const bool biased = call.in.size() > op::Conv::bias && !call.in[op::Conv::bias].empty();
  Value held;
  if (biased) conv.bias = gpu.read_contiguous(call.in[op::Conv::bias], held).data;
  convolve(gpu, conv, op, call.in[op::Conv::weight], call.out[0]);
  return true;
}

bool run(Gpu& gpu, const op::ConvTranspose& op, Call call) {
  convolve(gpu, {.result = Convolved::X, .y = read(call.in[op::ConvTranspose::y])}, op.conv,
           call.in[op::ConvTranspose::weight], call.out[0]);
  return true;
}

bool run(Gpu& gpu, const op::ConvWeightGrad& op, Call call) {
  convolve(gpu,
           {.result = Convolved::Weight,
            .x = read(call.in[op::ConvWeightGrad::x]),
            .y = read(call.in[op::ConvWeightGrad::y])},
           op.conv, {}, call.out[0]);
  return true;
}

}  // namespace kiln::gpu::family
