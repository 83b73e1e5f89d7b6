#include "kiln/vision/roi.hpp"

#include <algorithm>
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
  const auto all = static_cast<double>(parts);
  const auto inside = [&](const Value& place) { return clamp(place + begin, 0.0, static_cast<double>(size)); };
  const Value from = inside(floor(part * length / all)), to = inside(ceil((part + 1) * length / all));
  const double most = std::max(max(to - from).item(), 1.0);
  const Value place = unsqueeze(from, -1) + arange(0, static_cast<std::int64_t>(most), 1, device, first.dtype());
  return {cast(clamp(place, 0.0, static_cast<double>(size - 1)), DType::I64), lt(place, unsqueeze(to, -1))};
}

void require_regions(std::string_view name, const Value& x, const Value& boxes, const Spatial& size, double scale) {
  require_pictures(name, x);
  op::require_float(name, x);
  op::require_float(name, boxes);
  require<ShapeError>(boxes.rank() == 2 && boxes.dim(1) == 5, name, ": boxes ", boxes.shape(),
                      " must be [count, 5] of (image, x1, y1, x2, y2)");
  require<ShapeError>(x.dim(2) > 0 && x.dim(3) > 0, name, ": maps ", x.shape(), " have no elements to read");
  require<ArgumentError>(size.size() == 2 && size[0] > 0 && size[1] > 0, name, ": the size ", size,
                         " must have two positive entries");
  require<ArgumentError>(scale > 0 && std::isfinite(scale), name, ": spatial_scale = ", scale, " must be positive");
}

/// [count]: where each box's image begins among the elements of all images.
Value first_elements(const Value& x, const Value& boxes) {
  const Value starts = arange(0, x.dim(0), 1, x.device()) * (x.dim(2) * x.dim(3));
  return select(starts, 0, cast(at(boxes.detach(), 1, 0), DType::I64));
}

}  // namespace

Value roi_pool(const Value& x, const Value& boxes, const RoiPool& options) {
  constexpr std::string_view name = "roi_pool";
  const CalledAs named("roi_pool");
  require_regions(name, x, boxes, options.size, options.spatial_scale);
  const std::int64_t count = boxes.dim(0), channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const std::int64_t rows = options.size[0], columns = options.size[1];
  if (count == 0) return zeros({0, channels, rows, columns}, x.device(), x.dtype());
  const Value numbers = cast(boxes.detach(), DType::F64);
  // A box with a corner that is NaN lies outside of all maps.
  const Value is_box = logical_not(any(is_nan(narrow(numbers, 1, 1, 4)), {1}));
  const auto corner = [&](int column) {
    constexpr double kFarthest = 1e9;  // where products with the number of a part are whole numbers of float64
    const Value place = at(numbers, 1, column) * options.spatial_scale, size = abs(place), whole = floor(size);
    // Half an element goes away from 0, as in the publication's program.
    const Value rounded = (whole + cast(ge(size - whole, 0.5), DType::F64)) * sign(place);
    return clamp(where(is_box, rounded, -kFarthest), -kFarthest, kFarthest);
  };
  const PartElements down = elements_of(corner(2), corner(4), rows, height);
  const PartElements across = elements_of(corner(1), corner(3), columns, width);
  const std::int64_t tall = down.index.dim(2), wide = across.index.dim(2);
  // [count, rows, tall, columns, wide]: the index, in all pictures, of each element of each part.
  const auto of_rows = [&](const Value& v) { return reshape(v, {count, rows, tall, 1, 1}); };
  const auto of_columns = [&](const Value& v) { return reshape(v, {count, 1, 1, columns, wide}); };
  const Value first = first_elements(x, boxes);
  const Value index = reshape(first, {count, 1, 1, 1, 1}) + of_rows(down.index) * width + of_columns(across.index);
  const Value exists = logical_and(of_rows(down.exists), of_columns(across.exists));
  const Value elements = select(flatten(permute(x, {1, 0, 2, 3}), 1), 1, index);  // [channels, count, rows, ...]
  const Value largest = max(where(exists, elements, -std::numeric_limits<double>::infinity()), {3, 5});
  return permute(where(any(exists, {2, 4}), largest, 0.0), {1, 0, 2, 3});
}

// ---- the largest of samples ------------------------------------------------------------------------------------------

namespace {

/// The samples of the parts of boxes along one axis, each [count, parts, most samples].
struct PartSamples {
  Value before, after;  // the elements around it
  Value fraction;       // float64: the way from the first to the second
  Value exists, is_inside;

  /// The samples of some boxes.
  PartSamples of(std::int64_t first, std::int64_t count) const {
    const auto some = [&](const Value& v) { return narrow(v, 0, first, count); };
    return {some(before), some(after), some(fraction), some(exists), some(is_inside)};
  }
};

PartSamples samples_of(const Value& begin, const Value& extent, std::int64_t parts, std::int64_t ratio,
                       std::int64_t size) {
  constexpr double kMost = 4096;
  require<ArgumentError>(ratio <= 4096, "roi_align_largest: ", ratio, " samples along an axis; there are at most ",
                         kMost);
  const Device device = begin.device();
  const Value part = extent / static_cast<double>(parts),
              number = cast(ratio > 0 ? full(part.shape(), ratio, device, DType::F64) : ceil(part), DType::F64);
  const bool is_small = begin.numel() == 0 || all(le(abs(part), kMost)).item() != 0;
  require<ArgumentError>(is_small, "roi_align_largest: a part of a box has a side that is not within ", kMost,
                         " elements");
  const double most = std::max(begin.numel() == 0 ? 1.0 : max(number).item(), 1.0);
  const auto along = [](const Value& v) { return unsqueeze(unsqueeze(cast(v, DType::F64), -1), -1); };
  const Value place = arange(0, parts, 1, device, DType::F64),
              sample = arange(0, static_cast<std::int64_t>(most), 1, device, DType::F64);
  const Value position =
      along(begin) + along(part) * (unsqueeze(place, -1) + (sample + 0.5) / maximum(along(number), 1.0));
  const auto last = static_cast<double>(size - 1);
  const Value inside = clamp(position, 0.0, last), before = floor(inside);
  const Value exists = lt(sample, along(number));
  return {cast(before, DType::I64), cast(minimum(before + 1, last), DType::I64), inside - before,
          expand(exists, position.shape()), logical_and(ge(position, -1.0), le(position, last + 1))};
}

}  // namespace

Value roi_align_largest(const Value& x, const Value& boxes, const RoiAlignOptions& options) {
  constexpr std::string_view name = "roi_align_largest";
  const CalledAs named("roi_align_largest");
  require_regions(name, x, boxes, options.size, options.spatial_scale);
  require<ArgumentError>(options.sampling_ratio >= 0, name, ": the sampling ratio ", options.sampling_ratio,
                         " is negative");
  const std::int64_t count = boxes.dim(0), channels = x.dim(1), width = x.dim(3);
  const std::int64_t rows = options.size[0], columns = options.size[1];
  if (count == 0 || channels == 0) return zeros({count, channels, rows, columns}, x.device(), x.dtype());
  const Value numbers = cast(boxes.detach(), x.dtype() == DType::F64 ? DType::F64 : DType::F32);
  const auto corner = [&](int column) {
    const Value scaled = at(numbers, 1, column) * options.spatial_scale;
    return options.aligned ? scaled - 0.5 : scaled;
  };
  const auto along = [&](int first, std::int64_t parts, std::int64_t size) {
    const Value begin = corner(first), extent = corner(first + 2) - begin;
    return samples_of(begin, options.aligned ? extent : maximum(extent, 1.0), parts, options.sampling_ratio, size);
  };
  const PartSamples all_down = along(2, rows, x.dim(2)), all_across = along(1, columns, width);
  const Value first = first_elements(x, boxes), elements = cast(flatten(permute(x, {1, 0, 2, 3}), 1), DType::F64);
  const std::int64_t tall = all_down.before.dim(2), wide = all_across.before.dim(2);
  // A block has as many boxes as have samples of some megabytes.
  constexpr std::int64_t kAtOnce = 1 << 20;
  const std::int64_t block = std::clamp<std::int64_t>(kAtOnce / (channels * rows * columns) / (tall * wide), 1, count);
  Values parts;
  for (std::int64_t start = 0; start < count; start += block) {
    const std::int64_t some = std::min(block, count - start);
    const PartSamples down = all_down.of(start, some), across = all_across.of(start, some);
    // [boxes, rows, tall, columns, wide]
    const auto of_rows = [&](const Value& v) { return reshape(v, {some, rows, tall, 1, 1}); };
    const auto of_columns = [&](const Value& v) { return reshape(v, {some, 1, 1, columns, wide}); };
    const Value offset = reshape(narrow(first, 0, start, some), {some, 1, 1, 1, 1});
    const auto weighted = [&](const Value& row, const Value& column, const Value& weight) {
      return select(elements, 1, offset + of_rows(row) * width + of_columns(column)) * weight;
    };
    const Value v = of_rows(down.fraction), u = of_columns(across.fraction);
    const Value sample =
        maximum(maximum(weighted(down.before, across.before, (1 - v) * (1 - u)),
                        weighted(down.before, across.after, (1 - v) * u)),
                maximum(weighted(down.after, across.before, v * (1 - u)), weighted(down.after, across.after, v * u)));
    const Value exists = logical_and(of_rows(down.exists), of_columns(across.exists));
    const Value inside = logical_and(of_rows(down.is_inside), of_columns(across.is_inside));
    const Value largest =
        max(where(exists, where(inside, sample, 0.0), -std::numeric_limits<double>::infinity()), {3, 5});
    parts.push_back(permute(where(any(exists, {2, 4}), largest, 0.0), {1, 0, 2, 3}));
  }
  return cast(parts.size() == 1 ? parts[0] : cat(parts, 0), x.dtype());
}

}  // namespace kiln::vision
