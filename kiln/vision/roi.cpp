#include "kiln/vision/roi.hpp"

#include <cmath>
#include <limits>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"

namespace kiln::vision {
namespace {

/// The elements of each part along one axis, [count, parts, most], and which of them are valid.
struct PartElements {
  Value index, exists;
};

/// Divides the elements first to last [count] of boxes into `parts` parts of about equal size.
PartElements elements_of(const Value& first, const Value& last, std::int64_t parts, std::int64_t size) {
  const Device device = first.device();
  const Value length = unsqueeze(maximum(last - first + 1, 1.0), 1), begin = unsqueeze(first, 1);
  const Value part = arange(0, parts, 1, device, first.dtype());
  const double share = 1 / static_cast<double>(parts);
  const auto inside = [&](const Value& place) { return clamp(place + begin, 0.0, static_cast<double>(size)); };
  const Value from = inside(floor(part * length * share)), to = inside(ceil((part + 1) * length * share));
  const double most = std::max(max(to - from).item(), 1.0);
  const Value place = unsqueeze(from, -1) + arange(0, static_cast<std::int64_t>(most), 1, device, first.dtype());
  return {cast(clamp(place, 0.0, static_cast<double>(size - 1)), DType::I64), lt(place, unsqueeze(to, -1))};
}

}  // namespace

Value roi_pool(const Value& x, const Value& boxes, const RoiPool& options) {
  constexpr std::string_view name = "roi_pool";
  const CalledAs named("roi_pool");
  require_pictures(name, x);
  op::require_float(name, x);
  op::require_float(name, boxes);
  require<ShapeError>(boxes.rank() == 2 && boxes.dim(1) == 5, name, ": boxes ", boxes.shape(),
                      " must be [count, 5] of (image, x1, y1, x2, y2)");
  require<ShapeError>(x.dim(2) > 0 && x.dim(3) > 0, name, ": maps ", x.shape(), " have no elements to read");
  require<ArgumentError>(options.size.size() == 2 && options.size[0] > 0 && options.size[1] > 0, name, ": the size ",
                         options.size, " must have two positive entries");
  require<ArgumentError>(options.spatial_scale > 0 && std::isfinite(options.spatial_scale), name,
                         ": spatial_scale = ", options.spatial_scale, " must be positive");
  const std::int64_t count = boxes.dim(0), channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const std::int64_t rows = options.size[0], columns = options.size[1];
  if (count == 0) return zeros({0, channels, rows, columns}, x.device(), x.dtype());
  const Value numbers = cast(boxes.detach(), DType::F64);
  const auto corner = [&](int column, std::int64_t size) {
    // Half an element is rounded up, as in the paper's program; coordinates far outside are clamped to a range that can
    // be counted.
    const double reach = 2 * static_cast<double>(size);
    return clamp(floor(at(numbers, 1, column) * options.spatial_scale + 0.5), -reach, reach);
  };
  const PartElements down = elements_of(corner(2, height), corner(4, height), rows, height);
  const PartElements across = elements_of(corner(1, width), corner(3, width), columns, width);
  const std::int64_t tall = down.index.dim(2), wide = across.index.dim(2);
  // [count, rows, tall, columns, wide]: the index, in all pictures, of each element of each part.
  const auto of_rows = [&](const Value& v) { return reshape(v, {count, rows, tall, 1, 1}); };
  const auto of_columns = [&](const Value& v) { return reshape(v, {count, 1, 1, columns, wide}); };
  const Value first =
      select(arange(0, x.dim(0), 1, x.device()) * (height * width), 0, cast(at(numbers, 1, 0), DType::I64));
  const Value index = reshape(first, {count, 1, 1, 1, 1}) + of_rows(down.index) * width + of_columns(across.index);
  const Value exists = logical_and(of_rows(down.exists), of_columns(across.exists));
  const Value elements = select(flatten(permute(x, {1, 0, 2, 3}), 1), 1, index);  // [channels, count, rows, ...]
  const Value largest = max(where(exists, elements, -std::numeric_limits<double>::infinity()), {3, 5});
  return permute(where(any(exists, {2, 4}), largest, 0.0), {1, 0, 2, 3});
}

}  // namespace kiln::vision
