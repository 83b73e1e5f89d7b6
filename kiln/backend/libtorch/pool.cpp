// Pools, resizing and weighted sums of scattered elements.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/spatial/blend_ops.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"
#include "kiln/ops/spatial/resample_ops.hpp"

namespace kiln::libtorch {
namespace {

using Sizes = std::vector<std::int64_t>;

/// ATen pads both sides alike, and counts windows that stick out by other rules.
bool fits(const op::Window& window) {
  if (window.ceil) return false;
  for (int i = 0; i < window.kernel.size(); ++i)
    if (window.padding[i] != window.padding_after[i] || window.padding[i] > window.kernel[i] / 2) return false;
  return true;
}

/// Pools of one spatial dimension are pools of two of which the first has size 1.
bool is_line(const at::Tensor& x) { return x.dim() == 3; }
at::Tensor as_plane(const at::Tensor& x) { return is_line(x) ? x.unsqueeze(2) : x; }
Sizes sizes_of(const Spatial& sizes, std::int64_t first) {
  Sizes all = to_vector(sizes);
  if (all.size() == 1) all.insert(all.begin(), first);
  return all;
}

using ValuesAndIndices = std::tuple<at::Tensor, at::Tensor>;
ValuesAndIndices max_pool(const op::MaxPool& op, const at::Tensor& x) {
  const bool volume = x.dim() == 5;
  if (!op.adaptive.empty()) {
    const Sizes sizes = sizes_of(op.adaptive, 1);
    return volume ? at::adaptive_max_pool3d(x, sizes) : at::adaptive_max_pool2d(x, sizes);
  }
  const Sizes kernel = sizes_of(op.window.kernel, 1), stride = sizes_of(op.window.stride, 1);
  const Sizes padding = sizes_of(op.window.padding, 0), dilation = sizes_of(op.window.dilation, 1);
  return volume ? at::max_pool3d_with_indices(x, kernel, stride, padding, dilation)
                : at::max_pool2d_with_indices(x, kernel, stride, padding, dilation);
}

c10::optional<std::int64_t> divisor(const op::AvgPool& op) {
  if (op.divisor == 0) return c10::nullopt;
  return op.divisor;
}

at::Tensor avg_pool(const op::AvgPool& op, const at::Tensor& x) {
  const bool volume = x.dim() == 5;
  if (!op.adaptive.empty()) {
    const Sizes sizes = sizes_of(op.adaptive, 1);
    return volume ? at::adaptive_avg_pool3d(x, sizes) : at::adaptive_avg_pool2d(x, sizes);
  }
  const Sizes kernel = sizes_of(op.window.kernel, 1), stride = sizes_of(op.window.stride, 1);
  const Sizes padding = sizes_of(op.window.padding, 0);
  return volume ? at::avg_pool3d(x, kernel, stride, padding, false, op.count_padding, divisor(op))
                : at::avg_pool2d(x, kernel, stride, padding, false, op.count_padding, divisor(op));
}

at::Tensor avg_pool_grad(const op::AvgPool& op, const at::Tensor& y, const at::Tensor& x) {
  const bool volume = x.dim() == 5;
  if (!op.adaptive.empty())
    return volume ? at::_adaptive_avg_pool3d_backward(y, x) : at::_adaptive_avg_pool2d_backward(y, x);
  const Sizes kernel = sizes_of(op.window.kernel, 1), stride = sizes_of(op.window.stride, 1);
  const Sizes padding = sizes_of(op.window.padding, 0);
  return volume ? at::avg_pool3d_backward(y, x, kernel, stride, padding, false, op.count_padding, divisor(op))
                : at::avg_pool2d_backward(y, x, kernel, stride, padding, false, op.count_padding, divisor(op));
}

/// An index [batch, points, taps] as one of elements [batch, channels, points * taps], and which of them are inside.
struct Taps {
  Taps(const Value& value, std::int64_t channels, std::int64_t size) {
    const at::Tensor index = computed(value);
    inside = at::logical_and(at::ge(index, 0), at::lt(index, size)).unsqueeze(1);
    flat = index.clamp(0, size - 1).flatten(1).unsqueeze(1).expand({index.size(0), channels, -1});
    shape = {index.size(0), channels, index.size(1), index.size(2)};
  }
  /// The elements of x that the index names [batch, channels, points, taps]; 0 outside.
  at::Tensor elements(const at::Tensor& x) const {
    const at::Tensor found = x.gather(2, flat).view(shape);
    return at::where(inside, found, at::zeros_like(found));
  }
  at::Tensor inside, flat;
  Sizes shape;
};

}  // namespace

bool run(const op::MaxPool& op, Call call) {
  if (!is_float(call.in[0].dtype()) || (op.adaptive.empty() && !fits(op.window))) return false;
  const at::Tensor x = computed(call.in[0]);
  if (at::isnan(x).any().item<bool>()) return false;  // of several NaN, ATen takes the last
  const auto [values, indices] = max_pool(op, as_plane(x));
  const bool line = is_line(x);
  give(call.out[op::MaxPool::values], line ? values.squeeze(2) : values);
  if (op.indexed) give(call.out[op::MaxPool::indices], line ? indices.squeeze(2) : indices);
  return true;
}

// An index outside is left to the reference, which names it.
bool run(const op::MaxPoolGrad& op, Call call) {
  const at::Tensor y = computed(call.in[op::MaxPoolGrad::y]), index = computed(call.in[op::MaxPoolGrad::indices]);
  std::int64_t size = 1;
  for (const std::int64_t each : op.sizes) size *= each;
  if (at::logical_or(at::lt(index, 0), at::ge(index, size)).any().item<bool>()) return false;
  const at::Tensor sums = at::zeros({y.size(0), y.size(1), size}, y.options());
  sums.scatter_add_(2, index.flatten(2), y.flatten(2));
  give(call.out[0], sums.view(to_vector(call.out[0].shape())));
  return true;
}

bool run(const op::AvgPool& op, Call call) {
  if (op.adaptive.empty() && !fits(op.window)) return false;
  const at::Tensor x = computed(call.in[0]), result = avg_pool(op, as_plane(x));
  give(call.out[0], is_line(x) ? result.squeeze(2) : result);
  return true;
}

bool run(const op::AvgPoolGrad& op, Call call) {
  if (op.pool.adaptive.empty() && !fits(op.pool.window)) return false;
  const at::Tensor y = computed(call.in[0]);
  const at::Tensor x = at::empty(to_vector(call.out[0].shape()), y.options());
  const at::Tensor result = avg_pool_grad(op.pool, as_plane(y).contiguous(), as_plane(x));
  give(call.out[0], is_line(x) ? result.squeeze(2) : result);
  return true;
}

// A linear map of each line is a product with a matrix; the largest ones would be mostly zeros.
bool run(const op::Resample& op, Call call) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  const std::int64_t rows = call.out[0].dim(op.dim), columns = call.in[0].dim(op.dim);
  if (rows > kMost / columns) return false;
  const op::Resample::Taps taps = op.taps();
  const at::Tensor map = at::zeros({rows, columns}, at::kDouble);
  auto* const elements = map.data_ptr<double>();
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto& row = taps.rows[static_cast<std::size_t>(i)];
    for (std::int64_t k = 0; k < row.count; ++k)
      elements[i * columns + row.begin + k] += taps.weights[static_cast<std::size_t>(row.first + k)];
  }
  const at::Tensor x = computed(call.in[0]).movedim(op.dim, -1);
  if (!at::isfinite(x).all().item<bool>()) return false;  // beside a weight of 0 they would be NaN
  give(call.out[0], at::matmul(x, map.to(x.scalar_type()).t()).movedim(-1, op.dim));
  return true;
}

bool run(const op::Blend&, Call call) {
  using op::Blend;
  const at::Tensor x = computed(call.in[Blend::x]), weight = computed(call.in[Blend::weight]);
  const Taps taps(call.in[Blend::index], x.size(1), x.size(2));
  const at::Tensor used = at::where(taps.inside, weight.unsqueeze(1), at::zeros({}, x.options()));
  give(call.out[0], (taps.elements(x) * used).sum(-1));
  return true;
}

bool run(const op::BlendTranspose& op, Call call) {
  using op::BlendTranspose;
  const at::Tensor y = computed(call.in[BlendTranspose::y]), weight = computed(call.in[BlendTranspose::weight]);
  const Taps taps(call.in[BlendTranspose::index], y.size(1), op.size);
  const at::Tensor products = y.unsqueeze(-1) * weight.unsqueeze(1);
  const at::Tensor parts = at::where(taps.inside, products, at::zeros({}, y.options()));
  const at::Tensor sums = at::zeros({y.size(0), y.size(1), op.size}, y.options());
  give(call.out[0], sums.scatter_add_(2, taps.flat, parts.flatten(2)));
  return true;
}

bool run(const op::BlendWeightGrad&, Call call) {
  using op::BlendWeightGrad;
  const at::Tensor x = computed(call.in[BlendWeightGrad::x]), y = computed(call.in[BlendWeightGrad::y]);
  const Taps taps(call.in[BlendWeightGrad::index], x.size(1), x.size(2));
  const at::Tensor products = taps.elements(x) * y.unsqueeze(-1);
  give(call.out[0], at::where(taps.inside, products, at::zeros({}, x.options())).sum(1));
  return true;
}

}  // namespace kiln::libtorch
