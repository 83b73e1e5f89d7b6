#include "kiln/ops/pool.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
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
    require<ArgumentError>(window.padding[i] * 2 <= window.dilation[i] * (window.kernel[i] - 1) + 1, name, ": padding ",
                           window.padding, " is more than half of kernel ", window.kernel);
    const std::int64_t room =
        shape[i + 2] + window.padding[i] + window.padding_after[i] - window.dilation[i] * (window.kernel[i] - 1) - 1;
    require<ShapeError>(room >= 0, name, ": a window of ", window.kernel, " does not fit into ", shape,
                        " with padding ", window.padding);
    // Rounded up, the last window must still begin before the padding behind the tensor.
    const bool more = window.ceil &&
                      (room / window.stride[i] + 1) * window.stride[i] < shape[i + 2] + window.padding[i] &&
                      room % window.stride[i] != 0;
    counts.push_back(room / window.stride[i] + 1 + more);
  }
  return counts;
}

Shape with_sizes(Shape shape, const Spatial& sizes) {
  for (int i = 0; i < sizes.size(); ++i) shape[i + 2] = sizes[i];
  return shape;
}

Spatial averaged_sizes(const AvgPool& pool, const Shape& shape) {
  if (pool.adaptive.empty()) return window_counts(AvgPool::kName, pool.window, shape);
  require<ArgumentError>(pool.adaptive.size() == shape.size() - 2, "avg_pool: sizes ", pool.adaptive, " need ",
                         shape.size() - 2, " entries");
  for (int i = 0; i < pool.adaptive.size(); ++i) {
    require<ArgumentError>(pool.adaptive[i] > 0, "avg_pool: sizes ", pool.adaptive, " must be positive");
    require<ShapeError>(shape[i + 2] > 0, "avg_pool: ", shape, " has nothing to average");
  }
  return pool.adaptive;
}

}  // namespace

Descs MaxPool::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_images(kName, in[0]);
  const Shape shape = with_sizes(in[0].shape(), window_counts(kName, window, in[0].shape()));
  return Descs{Desc{shape, in[0].dtype()}, Desc{shape, DType::I64}};
}

void MaxPool::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Desc& x = backward.in_desc(0);
    const Value none =
        zeros({x.shape[0], x.shape[1], numel(x.shape) / std::max<std::int64_t>(x.shape[0] * x.shape[1], 1)},
              backward.device(), x.dtype);
    const Value added = scatter_add(none, 2, flatten(backward.out(indices), 2), flatten(backward.grad(values), 2));
    return kiln::reshape(added, x.shape);
  });
}

AvgPool::Part AvgPool::part(int axis, std::int64_t index, std::int64_t size) const {
  if (!adaptive.empty()) {
    const std::int64_t count = adaptive[axis];
    const std::int64_t begin = index * size / count, end = ((index + 1) * size + count - 1) / count;
    return {begin, end, end - begin};
  }
  const std::int64_t begin = index * window.stride[axis] - window.padding[axis];
  const std::int64_t end = std::min(begin + window.kernel[axis], size + window.padding_after[axis]);
  const std::int64_t inside_begin = std::max<std::int64_t>(begin, 0), inside_end = std::min(end, size);
  return {inside_begin, inside_end, count_padding ? end - begin : inside_end - inside_begin};
}

Descs AvgPool::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_images(kName, in[0]);
  require_float(kName, in[0]);
  return one(with_sizes(in[0].shape(), averaged_sizes(*this, in[0].shape())), in[0].dtype());
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
  require<ShapeError>(with_sizes(shape, averaged_sizes(pool, shape)) == in[0].shape(), "avg_pool_grad: pooling ", shape,
                      " does not give ", in[0].shape());
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
  return {options.kernel,
          options.stride.empty() ? options.kernel : options.stride,
          filled(options.padding, 0),
          filled(options.padding, 0),
          filled(options.dilation, 1),
          options.ceil};
}

}  // namespace

MaxPoolResult max_pool_with_indices(const Value& x, const PoolOptions& options) {
  const Values results = emit_all(op::MaxPool{to_window("max_pool", options, x)}, {&x, 1});
  return {results[op::MaxPool::values], results[op::MaxPool::indices]};
}
Value max_pool(const Value& x, const PoolOptions& options) { return max_pool_with_indices(x, options).values; }

Value avg_pool(const Value& x, const PoolOptions& options) {
  require<ArgumentError>(options.dilation.empty() || options.dilation == Spatial::filled(options.dilation.size(), 1),
                         "avg_pool: takes no dilation, got ", options.dilation);
  return emit(op::AvgPool{to_window("avg_pool", options, x), options.count_padding, {}}, {x});
}
Value adaptive_avg_pool(const Value& x, const Spatial& sizes) { return emit(op::AvgPool{{}, true, sizes}, {x}); }

}  // namespace kiln
