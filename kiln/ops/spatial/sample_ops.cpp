#include "kiln/ops/spatial/sample_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/spatial/blend_ops.hpp"
#include "kiln/ops/spatial/taps.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

/// Positions along an axis, and their derivative by the coordinates, where that is needed.
struct Positions {
  Value at, slope;

  /// Moves the positions to `to`, where `factor` is the derivative of the move.
  Positions moved(const Value& to, const Value& factor) const { return {to, slope ? slope * factor : slope}; }
};

/// Clamps positions to `low` and `high`; at an end the derivative is one half, as in clamp().
Positions clamped(const Positions& p, double low, double high) {
  const auto share = [&](const Value& above, const Value& not_below) {
    return (cast(above, p.at.dtype()) + cast(not_below, p.at.dtype())) * 0.5;
  };
  const Value raised = maximum(p.at, low), kept = minimum(raised, high);
  if (!p.slope) return {kept, {}};
  return p.moved(kept, share(gt(p.at, low), ge(p.at, low)) * share(lt(raised, high), le(raised, high)));
}

/// Mirrors positions at the centres of the outer elements of an axis, or at their edges, until they are inside.
Positions mirrored(const Positions& p, std::int64_t size, const GridSampleOptions& options) {
  const double low = options.align_corners ? 0.0 : -0.5, span = static_cast<double>(size - 1) - 2 * low;
  if (span <= 0) return p.moved(p.at * 0.0, 0.0);
  const Value distance = p.at - low, past = remainder(abs(distance), 2 * span) - span;
  const Value at = (span - abs(past)) + low;
  return p.slope ? p.moved(at, neg(sign(distance) * sign(past))) : Positions{at, {}};
}

/// Replaces positions along an axis, or indices of elements, by those that the padding shows there.
Positions padded(const Positions& p, std::int64_t size, const GridSampleOptions& options) {
  const auto last = static_cast<double>(size - 1);
  switch (options.padding) {
    case SamplePadding::Zeros: return clamped(p, -2, last + 2);  // neither of the two surrounding elements is inside
    case SamplePadding::Border: return clamped(p, 0, last);
    case SamplePadding::Reflection: return clamped(mirrored(p, size, options), 0, last);
  }
  __builtin_unreachable();
}

/// The elements that coordinates from -1 to 1 read along an axis whose elements are `stride` apart.
struct GridTaps {
  AxisTaps taps;
  Value slope;  // the derivative of the weights, where it is needed
};

GridTaps grid_taps(const Value& coordinates, std::int64_t size, std::int64_t stride, const GridSampleOptions& options,
                   bool with_slope) {
  const auto extent = static_cast<double>(size);
  // Maps [-1, 1] to elements: -1 is the centre of the first one, or its outer edge.
  const double step = options.align_corners ? (extent - 1) / 2 : extent / 2;
  Positions p;
  p.at = options.align_corners ? (coordinates + 1.0) * step : coordinates * step + (extent - 1) / 2;
  if (with_slope) p.slope = ones_like(coordinates) * step;
  const bool cubic = options.mode == Interpolation::Cubic;
  // A cubic kernel at an inner position extends over the edge: there the padding applies to the elements, not to the
  // position.
  if (!cubic) p = padded(p, size, options);
  else p = options.padding == SamplePadding::Reflection ? mirrored(p, size, options) : clamped(p, -3, extent + 2);
  GridTaps found{taps_around(p.at, options.mode), {}};
  if (with_slope) found.slope = weight_slopes(p.at, options.mode) * unsqueeze(p.slope, 0);
  if (cubic && options.padding != SamplePadding::Zeros)
    found.taps.index = padded({found.taps.index, {}}, size, options).at;
  found.taps.index = axis_index(found.taps.index, size, stride);
  return found;
}

/// The taps of all axes of an image, the outer axis first.
std::vector<GridTaps> all_taps(const Value& grid, const Spatial& sizes, const GridSampleOptions& options,
                               bool with_slopes = false) {
  const Value coordinates = flatten(grid, 1, -2);
  std::vector<GridTaps> all;
  std::int64_t stride = 1;
  for (const std::int64_t size : sizes) stride *= size;
  for (int axis = 0; axis < sizes.size(); ++axis) {
    stride /= sizes[axis];
    all.push_back(grid_taps(at(coordinates, -1, sizes.size() - 1 - axis), sizes[axis], stride, options, with_slopes));
  }
  return all;
}

std::vector<AxisTaps> axis_taps(const std::vector<GridTaps>& all) {
  std::vector<AxisTaps> taps;
  for (const GridTaps& axis : all) taps.push_back(axis.taps);
  return taps;
}

Spatial sizes_of(const Value& x) { return {x.shape().begin() + 2, x.shape().end()}; }

/// [batch, channels, ...]
Shape image_shape(const Value& like, const Spatial& sizes) {
  Shape shape{like.dim(0), like.dim(1)};
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

/// The sizes of a grid's positions.
Spatial places_of(const Value& grid) { return {grid.shape().begin() + 1, grid.shape().end() - 1}; }

/// Checks that the grid fits an image of `sizes` with the batch, channels and type of `image`.
void require_grid(std::string_view name, const Value& image, const Spatial& sizes, const Value& grid,
                  const GridSampleOptions& options) {
  const int axes = sizes.size();
  require_tensor(name, grid);
  require_same_dtype(name, image, grid);
  require<ShapeError>(grid.rank() == axes + 2 && grid.dim(0) == image.dim(0) && grid.dim(-1) == axes, name, ": grid ",
                      grid.shape(), " must be [", image.dim(0), ", ", axes == 2 ? "rows, columns, 2" : "sizes..., 3",
                      "] for x ", image_shape(image, sizes));
  require<ArgumentError>(options.mode == Interpolation::Nearest || options.mode == Interpolation::Linear ||
                             (options.mode == Interpolation::Cubic && axes == 2),
                         name, ": takes Nearest, Linear, and in two dimensions Cubic");
}

/// Checks that y, sampled values or their gradient, fits the grid.
void require_read(std::string_view name, const Value& y, const Value& grid) {
  require_tensor(name, y);
  require<ShapeError>(y.rank() == grid.rank() && y.dim(0) == grid.dim(0) && sizes_of(y) == places_of(grid), name, ": ",
                      y, " does not have the points of grid ", grid.shape());
}

}  // namespace

void require_image(std::string_view name, const Value& x, int most) {
  require_float(name, x);
  require<ShapeError>(x.rank() >= 4 && x.rank() <= most, name, ": needs [batch, channels, sizes...] of rank 4",
                      most == 4 ? "" : " to 5", ", got ", x);
  for (const std::int64_t size : sizes_of(x)) require<ShapeError>(size > 0, name, ": ", x, " has no elements to read");
}

Descs GridSample::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_image(kName, in[x], 5);
  require_grid(kName, in[x], sizes_of(in[x]), in[grid], options);
  return one(image_shape(in[x], places_of(in[grid])), in[x].dtype());
}
Values GridSample::expand(Inputs in) const {
  const Value read = blend(flatten(in[x], 2), axis_taps(all_taps(in[grid], sizes_of(in[x]), options)));
  return {reshape(read, image_shape(in[x], places_of(in[grid])))};
}
Saves GridSample::saves(std::uint32_t tracked) const { return {.in = 1u << grid | (tracked >> grid & 1u) << x}; }
void GridSample::vjp(Backward& backward) const {
  const Value g = backward.grad();
  const Shape& image = backward.in_desc(x).shape;
  backward.to(
      x, [&] { return emit(GridSampleTranspose{options, {image.begin() + 2, image.end()}}, {g, backward.in(grid)}); });
  backward.to(grid, [&] {
    return emit_differentiable(GridSampleGridGrad{options}, {backward.in(x), backward.in(grid), g})[0];
  });
}

Descs GridSampleTranspose::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_float(kName, in[y]);
  require<ShapeError>(in[y].rank() == 4 || in[y].rank() == 5, kName, ": ", in[y], " must be of rank 4 to 5");
  for (const std::int64_t size : sizes) require<ShapeError>(size > 0, kName, ": sizes ", sizes, " must be positive");
  require_grid(kName, in[y], sizes, in[grid], options);
  require_read(kName, in[y], in[grid]);
  return one(image_shape(in[y], sizes), in[y].dtype());
}
Values GridSampleTranspose::expand(Inputs in) const {
  std::int64_t size = 1;
  for (const std::int64_t extent : sizes) size *= extent;
  const AxisTaps taps = combined(axis_taps(all_taps(in[grid], sizes, options)));
  const Value x = emit(BlendTranspose{size}, {flatten(in[y], 2), taps.index, taps.weight});
  return {reshape(x, image_shape(in[y], sizes))};
}
Saves GridSampleTranspose::saves(std::uint32_t tracked) const {
  return {.in = 1u << grid | (tracked >> grid & 1u) << y};
}
void GridSampleTranspose::vjp(Backward& backward) const {
  const Value g = backward.grad();
  backward.to(y, [&] { return emit(GridSample{options}, {g, backward.in(grid)}); });
  backward.to(grid, [&] {
    return emit_differentiable(GridSampleGridGrad{options}, {g, backward.in(grid), backward.in(y)})[0];
  });
}

Descs GridSampleGridGrad::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_image(kName, in[x], 5);
  require_grid(kName, in[x], sizes_of(in[x]), in[grid], options);
  require_like(kName, in[grad], image_shape(in[x], places_of(in[grid])), in[x].dtype());
  return one(in[grid].shape(), in[x].dtype());
}
Values GridSampleGridGrad::expand(Inputs in) const {
  const std::vector<GridTaps> all = all_taps(in[grid], sizes_of(in[x]), options, true);
  const std::vector<AxisTaps> taps = axis_taps(all);
  const Value by_weight = emit(
      BlendWeightGrad{}, {flatten(in[x], 2), combined(taps).index, flatten(in[grad], 2)});  // [batch, points, taps]
  Values coordinates;
  for (std::size_t axis = all.size(); axis-- > 0;) {
    std::vector<AxisTaps> moved = taps;
    moved[axis].weight = all[axis].slope;
    coordinates.push_back(sum(by_weight * combined(moved).weight, {-1}));
  }
  return {reshape(stack(coordinates, -1), in[grid].shape())};
}
void GridSampleGridGrad::vjp(Backward&) const {
  fail<AutodiffError>("grid_sample_grid_grad: has no gradient; differentiate grid_sample with create_graph");
}

}  // namespace op

namespace {

/// Whether the CPU has a kernel for it. In other cases the expansion runs faster, as part of the program.
bool goes_in_one(const Value& x, const GridSampleOptions& options) {
  return x.rank() == 4 && x.dtype() == DType::F32 && options.mode == Interpolation::Linear &&
         options.padding != SamplePadding::Reflection;
}

}  // namespace

Value grid_sample(const Value& x, const Value& grid, const GridSampleOptions& options) {
  constexpr std::string_view name = "grid_sample";
  op::require_float(name, x);
  op::require_float(name, grid);
  const DType dtype = promote(x.dtype(), grid.dtype());
  // Positions are computed in float32 or float64.
  const Values in{cast(x, op::wide(dtype)), cast(grid, op::wide(dtype))};
  const op::GridSample op{options};
  if (goes_in_one(in[0], options)) return cast(emit(op, in), dtype);
  (void)op.infer(in);
  return cast(op.expand(in)[0], dtype);
}

}  // namespace kiln
