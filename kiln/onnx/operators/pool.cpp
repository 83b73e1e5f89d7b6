// Pools.
#include "kiln/ops/spatial/pool.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/windows.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

PoolOptions options_of(const Call& c, const Windows& w) {
  return {.kernel = w.kernel,
          .stride = w.stride,
          .padding = w.before,
          .dilation = w.dilation,
          .ceil = c.i("ceil_mode", 0) != 0,
          .padding_after = w.after};
}

// A fold over windows of any padding and dilation, one dimension after the other. What lies beyond x, in the padding
// and where the number of windows is rounded up, counts as `nothing`.
Value fold_windows(const Value& x, const Windows& w, bool ceil, const Scalar& nothing,
                   Value (*fold)(const Value&, const Dims&, bool)) {
  Value folded = x;
  for (int d = 0; d < w.dims(); ++d) {
    const std::int64_t size = x.dim(d + 2), padded = add_sizes("a pool", size, w.before[d] + w.after[d]),
                       space = padded - w.reach(d);
    require<ShapeError>(space >= 0, "a window of ", w.reach(d), " elements does not fit dimension ", d + 2, " of ",
                        x.shape());
    std::int64_t count = space / w.stride[d] + (ceil && space % w.stride[d] != 0) + 1;
    if (ceil && (count - 1) * w.stride[d] >= size + w.before[d]) --count;  // a window would begin behind all elements
    Dims before = Dims::filled(x.rank(), 0), after = before;
    before[d + 2] = w.before[d];
    after[d + 2] = add_sizes("a pool", (count - 1) * w.stride[d], w.reach(d)) - size - w.before[d];
    folded =
        fold(unfold(pad(folded, before, after, nothing), d + 2, w.kernel[d], w.stride[d], w.dilation[d]), {-1}, false);
  }
  return folded;
}
Value window_sums(const Value& x, const Windows& w, bool ceil) {
  return of_type(fold_windows(x, w, ceil, 0, sum), x.dtype());
}
Value window_maxima(const Value& x, const Windows& w, bool ceil) {
  Scalar least = -std::numeric_limits<double>::infinity();
  if (is_integer(x.dtype()))
    visit_dtype(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) least = Scalar(std::numeric_limits<T>::min());
    });
  return fold_windows(x, w, ceil, least, max);
}

// Kiln's own pools take padding up to half a window, and averages no dilation.
bool is_plain(const Windows& w, bool dilated) {
  bool plain = true;
  for (int d = 0; d < w.dims(); ++d)
    plain = plain && w.before[d] >= 0 && w.after[d] >= 0 && 2 * w.before[d] <= w.kernel[d] &&
            2 * w.after[d] <= w.kernel[d] && (dilated || w.dilation[d] == 1);
  return plain;
}

std::int64_t spatial_size(const Value& x) {
  std::int64_t size = 1;
  for (int d = 2; d < x.rank(); ++d) size *= x.dim(d);
  return size;
}

// Indices into all of x from indices into an image; column by column where storage_order is 1.
Value places_in_all(const Call& c, const Value& indices, const Value& x) {
  Value place = indices;
  if (c.i("storage_order", 0)) {
    Value rest = indices, by_columns = zeros_like(indices);
    std::int64_t step = spatial_size(x);
    for (int d = x.rank(); d-- > 2;) {
      step /= x.dim(d);
      by_columns = by_columns + remainder(rest, x.dim(d)) * step;
      rest = floor_divide(rest, x.dim(d));
    }
    place = by_columns;
  }
  Shape images = Shape::filled(x.rank(), 1);
  images[0] = x.dim(0);
  images[1] = x.dim(1);
  return place + reshape(arange(0, x.dim(0) * x.dim(1), 1, c.device()), images) * spatial_size(x);
}

Results max_pool_of(Call& c) {
  const Value& x = c[0];
  const Windows w = windows_of(c, x.shape(), {});
  const PoolOptions options = options_of(c, w);
  if (!c.wants(1) && is_plain(w, true)) return c.like(0, max_pool(x, options));
  if (!c.wants(1)) return c.like(0, window_maxima(x, w, options.ceil));
  const MaxPoolResult found = max_pool_with_indices(x, options);
  return {c.like(0, found.values), places_in_all(c, found.indices, x)};
}

Results average_pool(Call& c) {
  const Value& x = c[0];
  const Windows w = windows_of(c, x.shape(), {});
  PoolOptions options = options_of(c, w);
  options.count_padding = c.i("count_include_pad", 0) != 0;
  if (is_plain(w, false)) return avg_pool(x, options);
  // Divided by the elements of each window that count: those of x, or of the padding as well.
  Shape counted{1, 1};
  Windows of_ones = w;
  for (int d = 0; d < w.dims(); ++d) {
    counted.push_back(x.dim(d + 2) + (options.count_padding ? w.before[d] + w.after[d] : 0));
    if (options.count_padding) of_ones.before[d] = of_ones.after[d] = 0;
  }
  const Value ones_of = ones(counted, c.device(), x.dtype());
  const Value counts = window_sums(ones_of, of_ones, options.ceil), sums = window_sums(x, w, options.ceil);
  return of_type(sums / counts, x.dtype());
}

Results lp_pool_of(Call& c) {
  const Value& x = c[0];
  const double p = c.version() < 2 ? c.f("p", 2) : static_cast<double>(c.i("p", 2));
  const Value powers = p == 1 ? abs(x) : p == 2 ? square(x) : pow(abs(x), p);
  const Value sums = window_sums(powers, windows_of(c, x.shape(), {}), c.i("ceil_mode", 0) != 0);
  return of_type(p == 1 ? sums : p == 2 ? sqrt(sums) : pow(sums, 1 / p), x.dtype());
}

Dims spatial_dims(const Call& c, const Value& x) {
  c.check(x.rank() >= 2, "an operand of shape ", x.shape());
  Dims dims;
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

Results global_average(Call& c) {
  const Dims dims = spatial_dims(c, c[0]);
  return dims.empty() ? c[0] : mean(c[0], dims, true);
}
Results global_max(Call& c) {
  const Dims dims = spatial_dims(c, c[0]);
  return dims.empty() ? c[0] : max(c[0], dims, true);
}
Results global_lp(Call& c) {
  const double p = c.version() < 2 ? c.f("p", 2) : static_cast<double>(c.i("p", 2));
  const Dims dims = spatial_dims(c, c[0]);
  const Value powers = pow(abs(c[0]), p);
  return of_type(pow(dims.empty() ? powers : sum(powers, dims, true), 1 / p), c[0].dtype());
}

// Undoes MaxPool: indices are places in all of the pooled operand.
Results max_unpool_of(Call& c) {
  const Value& x = c[0];
  const Windows w = windows_of(c, x.shape(), {});
  Shape natural{x.dim(0), x.dim(1)};
  for (int d = 0; d < w.dims(); ++d)
    natural.push_back(add_sizes("MaxUnpool", multiply_sizes("MaxUnpool", x.dim(d + 2) - 1, w.stride[d]),
                                w.kernel[d] - w.before[d] - w.after[d]));
  const Shape shape = c.has(2) ? to_shape(c.ints(2)) : natural;
  const auto is_size = [](std::int64_t size) { return size >= 0; };
  c.check(shape.size() == natural.size() && std::all_of(natural.begin(), natural.end(), is_size) &&
              std::all_of(shape.begin(), shape.end(), is_size),
          "output_shape is ", shape, ", and without it ", natural, ", for ", x.shape());
  // The indices are of the tensor of natural size; a larger one has the same element elsewhere.
  Value place = of_type(c[1], DType::I64);
  const Value flat = zeros({numel(natural)}, c.device(), x.dtype());
  const Value filled = reshape(scatter_add(flat, 0, reshape(place, {place.numel()}), reshape(x, {x.numel()})), natural);
  Dims before = Dims::filled(shape.size(), 0), after = before;
  for (int d = 0; d < shape.size(); ++d) after[d] = shape[d] - natural[d];
  return pad(filled, before, after);
}

constexpr OperatorRow kPoolRows[] = {
    {"AveragePool", 1, average_pool},
    {"GlobalAveragePool", 1, global_average},
    {"GlobalLpPool", 1, global_lp},
    {"GlobalMaxPool", 1, global_max},
    {"LpPool", 1, lp_pool_of},
    {"MaxPool", 1, max_pool_of},
    {"MaxUnpool", 9, max_unpool_of, {.folds = false}},
};

}  // namespace

std::span<const OperatorRow> pool_rows() { return kPoolRows; }

}  // namespace kiln::onnx
