#include "kiln/ops/spatial/sample.hpp"

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/spatial/sample_ops.hpp"
#include "kiln/ops/spatial/taps.hpp"

namespace kiln {
namespace {

/// Positions are computed in float32 or float64.
DType wide(DType dtype) { return size_of(dtype) == 2 ? DType::F32 : dtype; }

}  // namespace

Value affine_grid(const Value& theta, const Spatial& sizes, bool align_corners) {
  op::require_float("affine_grid", theta);
  const int axes = sizes.size();
  require<ShapeError>((axes == 2 || axes == 3) && theta.rank() == 3 && theta.dim(1) == axes && theta.dim(2) == axes + 1,
                      "affine_grid: theta ", theta.shape(), " and sizes ", sizes,
                      " must be [batch, 2, 3] with two sizes or [batch, 3, 4] with three");
  Shape lattice(sizes.begin(), sizes.end());
  const Device device = theta.device();
  const DType dtype = wide(theta.dtype());
  Values coordinates;  // width first
  for (int axis = axes - 1; axis >= 0; --axis) {
    const auto size = static_cast<double>(sizes[axis]);
    const double step = align_corners ? (size > 1 ? 2 / (size - 1) : 0) : 2 / size;
    const double first = align_corners ? (size > 1 ? -1 : 0) : 1 / size - 1;
    Shape shape = Shape::filled(axes, 1);
    shape[axis] = sizes[axis];
    coordinates.push_back(expand(reshape(arange(0, sizes[axis], 1, device, dtype) * step + first, shape), lattice));
  }
  coordinates.push_back(ones(lattice, device, dtype));
  const Value base = reshape(stack(coordinates, -1), {numel(lattice), axes + 1});
  lattice.insert(0, theta.dim(0));
  lattice.push_back(axes);
  return cast(reshape(matmul(base, transpose(cast(theta, dtype))), lattice), theta.dtype());
}

namespace {

/// The parts of boxes along one axis.
struct BoxAxis {
  Value begin, extent;  // [count]
  std::int64_t parts;   // of the result
  std::int64_t size;    // of the image
};

/// [taps, count, parts]: the taps of all samples of each part, with the weights of their mean.
AxisTaps box_taps(const BoxAxis& axis, std::int64_t ratio, std::int64_t stride) {
  const Value part = axis.extent / static_cast<double>(axis.parts);  // the extent of each part
  const Device device = part.device();
  const DType dtype = part.dtype();
  Value samples;  // the number of samples in each part
  if (ratio > 0) {
    samples = full(part.shape(), ratio, device, dtype);
  } else {
    samples = maximum(ceil(part), 1.0).detach();
    const double most = part.numel() ? max(samples).item() : 1;
    require<ArgumentError>(most <= 0x1p20, "roi_align: a box needs ", most, " samples along an axis");
    ratio = static_cast<std::int64_t>(most);
  }
  const auto along = [](const Value& v) { return unsqueeze(unsqueeze(v, -1), -1); };
  const Value number = arange(0, ratio, 1, device, dtype), places = arange(0, axis.parts, 1, device, dtype);
  const Value offset = (number + 0.5) / along(samples);  // [count, 1, ratio], in parts
  const Value position = along(axis.begin) + (unsqueeze(places, -1) + offset) * along(part);
  const auto last = static_cast<double>(axis.size - 1);
  const Value counts = bitwise_and(bitwise_and(ge(position, -1.0), le(position, last + 1)), lt(number, along(samples)));
  AxisTaps taps = taps_around(clamp(position, 0.0, last), Interpolation::Linear);
  const Value share = where(counts, 1.0 / along(samples), 0.0);  // [count, parts, ratio]
  // [2, count, parts, ratio] -> [2 * ratio, count, parts]
  const auto joined = [](const Value& v) { return flatten(permute(v, {0, 3, 1, 2}), 0, 1); };
  return {joined(axis_index(taps.index, axis.size, stride)), joined(taps.weight * share)};
}

}  // namespace

Value roi_align(const Value& x, const Value& boxes, const RoiAlignOptions& options) {
  const CalledAs named("roi_align");
  constexpr std::string_view name = "roi_align";
  op::require_image(name, x, 4);
  op::require_float(name, boxes);
  require<ShapeError>(boxes.rank() == 2 && boxes.dim(1) == 5, name, ": boxes ", boxes.shape(),
                      " must be [count, 5] of (image, x1, y1, x2, y2)");
  require<ArgumentError>(options.size.size() == 2 && options.size[0] > 0 && options.size[1] > 0, name, ": the size ",
                         options.size, " must have two positive entries");
  require<ArgumentError>(options.sampling_ratio >= 0, name, ": the sampling ratio ", options.sampling_ratio,
                         " is negative");
  const DType dtype = wide(promote(x.dtype(), boxes.dtype()));
  const std::int64_t count = boxes.dim(0), channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const Value wide_boxes = cast(boxes, dtype);
  const auto corner = [&](int column) {
    const Value scaled = at(wide_boxes, 1, column) * options.spatial_scale;
    return options.aligned ? scaled - 0.5 : scaled;
  };
  const auto along = [&](int first, std::int64_t parts, std::int64_t size) {
    const Value begin = corner(first), extent = corner(first + 2) - begin;
    return BoxAxis{begin, options.aligned ? extent : maximum(extent, 1.0), parts, size};
  };
  const AxisTaps rows = box_taps(along(2, options.size[0], height), options.sampling_ratio, width);
  const AxisTaps columns = box_taps(along(1, options.size[1], width), options.sampling_ratio, 1);
  // All images are treated as one, in which each box starts at its own image.
  const Value first =
      select(arange(0, x.dim(0), 1, x.device()) * (height * width), 0, cast(at(boxes, 1, 0).detach(), DType::I64));
  // [taps down, taps across, count, rows, columns]
  const auto down = [](const Value& v) { return unsqueeze(unsqueeze(v, 1), -1); };
  const auto across = [](const Value& v) { return unsqueeze(unsqueeze(v, 0), -2); };
  const auto product = [&](std::int64_t a, std::int64_t b) { return multiply_sizes(name, a, b); };
  const Shape points{product(rows.index.dim(0), columns.index.dim(0)), 1,
                     product(count, product(options.size[0], options.size[1]))};
  const Value index = down(rows.index) + across(columns.index) + reshape(first, {count, 1, 1});
  const AxisTaps taps{reshape(index, points), reshape(down(rows.weight) * across(columns.weight), points)};
  const Value images = unsqueeze(flatten(permute(cast(x, dtype), {1, 0, 2, 3}), 1), 0);
  const Value read = blend(images, {&taps, 1});  // [1, channels, points]
  const Value result = reshape(transpose(squeeze(read, 0)), {count, options.size[0], options.size[1], channels});
  return cast(permute(result, {0, 3, 1, 2}), promote(x.dtype(), boxes.dtype()));
}

}  // namespace kiln
