#include "kiln/ops/spatial/pool_ops.hpp"

#include <algorithm>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

void require_images(std::string_view name, const Value& x) {
  require_tensor(name, x);
  require<ShapeError>(x.rank() >= 3 && x.rank() <= 5, name,
                      ": needs [batch, channels, 1 to 3 spatial dimensions], got ", x);
}

Spatial window_counts(std::string_view name, const Window& window, const Shape& shape) {
  const int axes = shape.size() - 2;
  require<ArgumentError>(window.kernel.size() == axes && window.stride.size() == axes &&
                             window.padding.size() == axes && window.padding_after.size() == axes &&
                             window.dilation.size() == axes,
                         name, ": kernel ", window.kernel, ", stride ", window.stride, ", padding ", window.padding,
                         " and dilation ", window.dilation, " need ", axes, " entries each");
  require_reasonable(name, {window.kernel, window.stride, window.padding, window.padding_after, window.dilation});
  Spatial counts;
  for (int i = 0; i < axes; ++i) {
    require<ArgumentError>(window.kernel[i] > 0 && window.stride[i] > 0 && window.dilation[i] > 0 &&
                               window.padding[i] >= 0 && window.padding_after[i] >= 0,
                           name, ": kernel ", window.kernel, ", stride ", window.stride, " and dilation ",
                           window.dilation, " must be positive, padding ", window.padding, " not negative");
    const std::int64_t span = add_sizes(name, multiply_sizes(name, window.dilation[i], window.kernel[i] - 1), 1);
    const std::int64_t most = span / 2;
    require<ArgumentError>(window.padding[i] <= most && window.padding_after[i] <= most, name, ": padding ",
                           window.padding[i] <= most ? window.padding_after : window.padding,
                           " is more than half of kernel ", window.kernel);
    const std::int64_t padded =
        add_sizes(name, add_sizes(name, shape[i + 2], window.padding[i]), window.padding_after[i]);
    require<ShapeError>(padded >= span, name, ": a window of ", window.kernel, " does not fit into ", shape,
                        " with padding ", window.padding);
    const std::int64_t room = padded - span;
    // With rounding up, the last window must still begin before the padding after the tensor.
    const std::int64_t rest = room % window.stride[i];
    const bool more = window.ceil && rest != 0 && room - rest < shape[i + 2] + window.padding[i] - window.stride[i];
    counts.push_back(room / window.stride[i] + 1 + more);
  }
  return counts;
}

Shape with_sizes(Shape shape, const Spatial& sizes) {
  for (int i = 0; i < sizes.size(); ++i) shape[i + 2] = sizes[i];
  return shape;
}

/// The spatial sizes of a pool's result.
Spatial pooled_sizes(std::string_view name, const Window& window, const Spatial& adaptive, const Shape& shape) {
  if (adaptive.empty()) return window_counts(name, window, shape);
  require<ArgumentError>(adaptive.size() == shape.size() - 2, name, ": sizes ", adaptive, " need ", shape.size() - 2,
                         " entries");
  for (int i = 0; i < adaptive.size(); ++i) {
    require<ArgumentError>(adaptive[i] > 0, name, ": sizes ", adaptive, " must be positive");
    require<ShapeError>(shape[i + 2] > 0, name, ": ", shape, " has nothing to pool");
  }
  return adaptive;
}

/// Part `index` of `count` nearly equal parts of [0, size).
struct AdaptiveWindow {
  std::int64_t begin, end;
  AdaptiveWindow(std::int64_t index, std::int64_t count, std::int64_t size)
      : begin(bound(index, count, size, 0)), end(bound(index + 1, count, size, count - 1)) {}

 private:
  /// (index * size + more) / count, computed without the product, which may exceed 64 bits.
  static std::int64_t bound(std::int64_t index, std::int64_t count, std::int64_t size, std::int64_t more) {
    return index * (size / count) + (index * (size % count) + more) / count;
  }
};

}  // namespace

MaxPool::WindowPart MaxPool::part(int axis, std::int64_t index, std::int64_t size) const {
  if (!adaptive.empty()) {
    const AdaptiveWindow part(index, adaptive[axis], size);
    return {part.begin, part.end, 1};
  }
  const std::int64_t step = window.dilation[axis], begin = index * window.stride[axis] - window.padding[axis];
  return {begin < 0 ? begin + (-begin + step - 1) / step * step : begin,
          std::min(begin + step * (window.kernel[axis] - 1) + 1, size), step};
}

Descs MaxPool::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_images(kName, in[0]);
  const Shape shape = with_sizes(in[0].shape(), pooled_sizes(kName, window, adaptive, in[0].shape()));
  Descs descs = one(shape, in[0].dtype());
  if (indexed) descs.push_back({shape, DType::I64});
  return descs;
}
void MaxPool::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Shape& shape = backward.in_desc(0).shape;
    const Value found =
        indexed ? backward.out(indices) : emit_all(MaxPool{window, adaptive}, {backward.in(0)})[indices];
    return emit(MaxPoolGrad{Spatial(shape.begin() + 2, shape.end())}, {backward.grad(values), found});
  });
}

Descs MaxPoolGrad::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_images(kName, in[y]);
  require_float(kName, in[y]);
  require_index(kName, in[indices]);
  require<ShapeError>(in[indices].shape() == in[y].shape(), "max_pool_grad: indices ", in[indices].shape(),
                      " must have the shape of ", in[y]);
  require<ArgumentError>(sizes.size() == in[y].rank() - 2, "max_pool_grad: sizes ", sizes, " do not fit ", in[y]);
  return one(with_sizes(in[y].shape(), sizes), in[y].dtype());
}
void MaxPoolGrad::vjp(Backward& backward) const {
  backward.to(y, [&] {
    const Value& index = backward.in(indices);
    return kiln::reshape(gather(flatten(backward.grad(), 2), 2, flatten(index, 2)), index.shape());
  });
}

AvgPool::WindowPart AvgPool::part(int axis, std::int64_t index, std::int64_t size) const {
  if (!adaptive.empty()) {
    const AdaptiveWindow part(index, adaptive[axis], size);
    return {part.begin, part.end, part.end - part.begin};
  }
  const std::int64_t begin = index * window.stride[axis] - window.padding[axis];
  const std::int64_t end = std::min(begin + window.kernel[axis], size + window.padding_after[axis]);
  const std::int64_t inside_begin = std::max<std::int64_t>(begin, 0), inside_end = std::min(end, size);
  if (divisor != 0) return {inside_begin, inside_end, axis == 0 ? divisor : 1};
  return {inside_begin, inside_end, count_padding ? end - begin : inside_end - inside_begin};
}

Descs AvgPool::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_images(kName, in[0]);
  require_float(kName, in[0]);
  require<ArgumentError>(divisor >= 0, "avg_pool: the divisor ", divisor, " is not positive");
  return one(with_sizes(in[0].shape(), pooled_sizes(kName, window, adaptive, in[0].shape())), in[0].dtype());
}
void AvgPool::vjp(Backward& backward) const {
  const Shape& shape = backward.in_desc(0).shape;
  backward.to(0, [&] { return emit(AvgPoolGrad{*this, Spatial(shape.begin() + 2, shape.end())}, {backward.grad()}); });
}

Descs AvgPoolGrad::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_images(kName, in[0]);
  require_float(kName, in[0]);
  require<ArgumentError>(sizes.size() == in[0].rank() - 2, "avg_pool_grad: sizes ", sizes, " do not fit ", in[0]);
  const Shape shape = with_sizes(in[0].shape(), sizes);
  require<ShapeError>(
      with_sizes(shape, pooled_sizes(AvgPool::kName, pool.window, pool.adaptive, shape)) == in[0].shape(),
      "avg_pool_grad: pooling ", shape, " does not give ", in[0].shape());
  return one(shape, in[0].dtype());
}
void AvgPoolGrad::vjp(Backward& backward) const {
  backward.to(0, [&] { return emit(pool, {backward.grad()}); });
}

}  // namespace op

namespace {

op::Window to_window(std::string_view name, const PoolOptions& options, const Value& x) {
  op::require_images(name, x);
  const int axes = x.rank() - 2;
  const auto filled = [&](const Spatial& given, std::int64_t value) {
    return given.empty() ? Spatial::filled(axes, value) : given;
  };
  const Spatial padding = filled(options.padding, 0);
  return {options.kernel,
          options.stride.empty() ? options.kernel : options.stride,
          padding,
          options.padding_after.empty() ? padding : options.padding_after,
          filled(options.dilation, 1),
          options.ceil};
}

op::AvgPool to_avg_pool(const PoolOptions& options, const Value& x) {
  require<ArgumentError>(options.dilation.empty() || options.dilation == Spatial::filled(options.dilation.size(), 1),
                         "avg_pool: takes no dilation, got ", options.dilation);
  return {to_window("avg_pool", options, x), options.count_padding, {}, options.divisor};
}

// Indices are for the gradient; without one they would waste memory.
MaxPoolResult pooled(op::MaxPool pool, const Value& x, bool with_indices) {
  op::require_images("max_pool", x);
  pool.indexed = with_indices || (x.tracked() && grad_enabled());
  const Values results = emit_all(pool, {x});
  return {results[op::MaxPool::values], with_indices ? results[op::MaxPool::indices] : Value()};
}

}  // namespace

MaxPoolResult max_pool_with_indices(const Value& x, const PoolOptions& options) {
  return pooled({.window = to_window("max_pool", options, x)}, x, true);
}
Value max_pool(const Value& x, const PoolOptions& options) {
  return pooled({.window = to_window("max_pool", options, x)}, x, false).values;
}
MaxPoolResult adaptive_max_pool_with_indices(const Value& x, const Spatial& sizes) {
  return pooled({.adaptive = sizes}, x, true);
}
Value adaptive_max_pool(const Value& x, const Spatial& sizes) {
  const CalledAs named("adaptive_max_pool");
  return pooled({.adaptive = sizes}, x, false).values;
}

Value max_pool_backward(const Value& gradient, const Value& indices, const Spatial& sizes) {
  const CalledAs named("max_pool_backward");
  return emit(op::MaxPoolGrad{sizes}, {gradient, indices});
}

Value avg_pool(const Value& x, const PoolOptions& options) { return emit(to_avg_pool(options, x), {x}); }
Value adaptive_avg_pool(const Value& x, const Spatial& sizes) {
  const CalledAs named("adaptive_avg_pool");
  return emit(op::AvgPool{.adaptive = sizes}, {x});
}

Value avg_pool_backward(const Value& gradient, const Spatial& sizes, const PoolOptions& options) {
  const CalledAs named("avg_pool_backward");
  return emit(op::AvgPoolGrad{to_avg_pool(options, gradient), sizes}, {gradient});
}

}  // namespace kiln
