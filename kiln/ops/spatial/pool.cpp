#include "kiln/ops/spatial/pool.hpp"

#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/index/index.hpp"

namespace kiln {
namespace {

void require_images(std::string_view name, const Value& x) {
  op::require_tensor(name, x);
  require<ShapeError>(x.rank() >= 3 && x.rank() <= 5, name,
                      ": needs [batch, channels, 1 to 3 spatial dimensions], got ", x);
}

}  // namespace

Value max_unpool(const Value& x, const Value& indices, const Spatial& sizes) {
  const CalledAs named("max_unpool");
  require_images("max_unpool", x);
  op::require_index("max_unpool", indices);
  require<ShapeError>(indices.shape() == x.shape(), "max_unpool: indices ", indices.shape(), " must have the shape of ",
                      x);
  require<ArgumentError>(sizes.size() == x.rank() - 2, "max_unpool: sizes ", sizes, " do not fit ", x);
  Shape shape{x.dim(0), x.dim(1)};
  for (const auto size : sizes) shape.push_back(size);
  const Value plane = flatten(zeros(shape, x.device(), x.dtype()), 2);
  return reshape(scatter(plane, 2, flatten(indices, 2), flatten(x, 2)), shape);
}

Value lp_pool(const Value& x, double p, const PoolOptions& options) {
  op::require_float("lp_pool", x);
  require<ArgumentError>(p > 0 && std::isfinite(p), "lp_pool: the power ", p, " is not positive");
  PoolOptions sums = options;
  sums.divisor = 1;
  const Value powers = p == 1 ? abs(x) : p == 2 ? square(x) : power_of_size(x, p);
  const Value sum = avg_pool(powers, sums);
  if (p == 1) return sum;
  return root_or_zero(sum, [&](const Value& total) { return pow(total, 1 / p); });
}

namespace {

/// The indices that `count` overlapping regions of `reach` elements read, by Graham's pseudo-random sequence.
Value fractional_regions(std::int64_t size, std::int64_t reach, std::int64_t count, double draw, const Device& device) {
  const double ratio = count > 1 ? static_cast<double>(size - reach) / static_cast<double>(count - 1) : 0;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    const double begin = std::floor((static_cast<double>(i) + draw) * ratio) - std::floor(draw * ratio);
    // The last region ends at the last element, whatever was rounded.
    const std::int64_t first = i == count - 1 ? size - reach : static_cast<std::int64_t>(begin);
    for (std::int64_t k = 0; k < reach; ++k) places.push_back(first + k);
  }
  return from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(places.size())}, places), device);
}

}  // namespace

Value fractional_max_pool(const Value& x, const Spatial& kernel, const Spatial& sizes, std::optional<Key> key) {
  require_images("fractional_max_pool", x);
  const int axes = x.rank() - 2;
  require<ArgumentError>(kernel.size() == axes && sizes.size() == axes, "fractional_max_pool: kernel ", kernel,
                         " and sizes ", sizes, " need ", axes, " entries each");
  const std::vector<double> draws = uniform({axes}, 0, 1, x.device(), DType::F64, key).data().to_vector<double>();
  Value read = x;
  for (int i = 0; i < axes; ++i) {
    const std::int64_t size = x.dim(i + 2);
    require<ShapeError>(kernel[i] > 0 && sizes[i] > 0 && kernel[i] <= size && sizes[i] - 1 <= size - kernel[i],
                        "fractional_max_pool: ", sizes, " regions of ", kernel, " do not fit into ", x);
    read = select(read, i + 2,
                  fractional_regions(size, kernel[i], sizes[i], draws[static_cast<std::size_t>(i)], x.device()));
  }
  return max_pool(read, {.kernel = kernel});
}

}  // namespace kiln
