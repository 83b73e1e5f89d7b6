#include "kiln/vision/warp.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/vision/lines/warp_lines.hpp"

namespace kiln::vision {
namespace {

constexpr std::int64_t kLongest = 1 << 24;

void require_readable(std::string_view name, const Value& x, std::int64_t height, std::int64_t width) {
  require_pictures(name, x);
  require<ArgumentError>(height >= 1 && width >= 1 && height <= kLongest && width <= kLongest, name, ": a picture of ",
                         height, " x ", width, " pixels; sides are 1 to ", kLongest);
  require<ShapeError>(x.dim(2) > 0 && x.dim(3) > 0, name, ": pictures ", x.shape(), " have no pixels to read");
}

/// Converts positions along a line of x to grid_sample's units, -1 to 1, in a line that has `margin` more pixels on
/// each side.
Value sampled_at(const Value& position, std::int64_t size, std::int64_t margin, Border border) {
  const bool is_near = border == Border::Constant || border == Border::Replicate;
  const auto wide = static_cast<double>(size + 2 * margin);
  const Value inside = is_near ? clamp(position, static_cast<double>(-margin), static_cast<double>(size + margin))
                               : folded(position, size, border);
  return (inside + static_cast<double>(margin)) * (2 / wide) - 1;
}

/// x in the type that it is computed in, theta float64 [batch or 1, 3, 3] -> [batch, channels, height, width].
Value warped_by_ops(const Value& x, const Value& theta, const Warp& options) {
  const std::int64_t height = options.height, width = options.width;
  const Device device = x.device();
  const auto entry = [&](int row, int column) { return reshape(at(at(theta, 1, row), 1, column), {-1, 1, 1}); };
  const Value across = reshape(arange(0, width, 1, device, DType::F64) + 0.5, {1, 1, width});
  const Value down = reshape(arange(0, height, 1, device, DType::F64) + 0.5, {1, height, 1});
  const auto row = [&](int i) { return entry(i, 0) * across + entry(i, 1) * down + entry(i, 2); };
  const Value w = row(2), depth = where(eq(w, 0.0), 1e-300, w);
  // A cubic reads at most two pixels of a constant border on each side.
  constexpr std::int64_t kMargin = 2;
  const Value grid = stack(Values{sampled_at(row(0) / depth, x.dim(3), kMargin, options.border),
                                  sampled_at(row(1) / depth, x.dim(2), kMargin, options.border)},
                           -1);
  const Value wide = make_border(x, {kMargin, kMargin, kMargin, kMargin}, options.border, options.value);
  const Shape shape{x.dim(0), height, width, 2};
  return grid_sample(wide, cast(expand(grid, shape), x.dtype()),
                     {.mode = options.mode, .padding = SamplePadding::Border});
}

/// float32 pictures, read at positions that a processor computes line by line.
struct RunWarp {
  Warp options;

  std::string name() const { return "warp"; }
  Desc infer(Inputs in) const { return {{in[0].dim(0), in[0].dim(1), options.height, options.width}, DType::F32}; }
  Value expand(Inputs in) const { return warped_by_ops(in[0], in[1], options); }
  bool run(std::string_view backend, Call call) const {
    if (backend != "cpu") return false;
    Value held, held_matrices;
    const Shape &from = call.in[0].shape(), &to = call.out[0].shape();
    const float* x = cpu::read_contiguous(call.in[0], held).as<const float>();
    const double* matrices = cpu::read_contiguous(call.in[1], held_matrices).as<const double>();
    const WarpSource source{.channels = from[1],
                            .rows = from[2],
                            .columns = from[3],
                            .is_cubic = options.mode == Interpolation::Cubic,
                            .border = options.border,
                            .outside = static_cast<float>(options.value)};
    const bool one_matrix = call.in[1].dim(0) == 1;
    float* y = cpu::allocate(call.out[0]).as<float>();
    constexpr std::int64_t kGrain = 8;  // rows
    parallel_for(to[0] * to[2], kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t image = i / to[2], row = i % to[2];
        const double* matrix = matrices + (one_matrix ? 0 : 9 * image);
        warp_line(source, x + image * from[1] * from[2] * from[3], {matrix, row, to[3], to[2] * to[3]},
                  y + image * to[1] * to[2] * to[3] + row * to[3]);
      }
    });
    return true;
  }
};

}  // namespace

Value warp(const Value& x, const Value& matrices, const Warp& options) {
  constexpr std::string_view name = "warp";
  const CalledAs named("warp");
  require_pictures(name, x);
  Warp sized = options;
  if (!sized.height) sized.height = x.dim(2);
  if (!sized.width) sized.width = x.dim(3);
  require_readable(name, x, sized.height, sized.width);
  require_enumerator(name, "border", static_cast<int>(options.border), static_cast<int>(Border::Wrap));
  require<ArgumentError>(options.mode == Interpolation::Nearest || options.mode == Interpolation::Linear ||
                             options.mode == Interpolation::Cubic,
                         name, ": pictures are warped by the modes Nearest, Linear and Cubic");
  op::require_float(name, matrices);
  require<ShapeError>(matrices.rank() == 3 && (matrices.dim(0) == x.dim(0) || matrices.dim(0) == 1) &&
                          matrices.dim(1) == 3 && matrices.dim(2) == 3,
                      name, ": matrices are [batch, 3, 3] or [1, 3, 3], got ", matrices.shape(), " for pictures ",
                      x.shape());
  // Positions are computed in float64, where the whole of a large picture is told apart.
  const Value wide = cast(x, working_type(x.dtype())), theta = cast(matrices, DType::F64);
  const bool by_lines = wide.dtype() == DType::F32 && options.mode != Interpolation::Nearest && x.numel() > 0;
  const Value read = by_lines ? custom_all(RunWarp{sized}, wide, theta)[0] : warped_by_ops(wide, theta, sized);
  return rounded_to(read, x.dtype());
}

Value warp(const Value& x, const Transform2D& transform, const Warp& options) {
  require_pictures("warp", x);
  const Transform2D::Matrix inverse = transform.inverse().matrix();
  const Value matrix = from_data(TensorData::of<double>({1, 3, 3}, std::span<const double>(inverse)), x.device());
  return warp(x, matrix, options);
}

Value resize(const Value& x, std::int64_t height, std::int64_t width, const Resize& options) {
  constexpr std::string_view name = "resize";
  const CalledAs named("resize");
  require_readable(name, x, height, width);
  if (height == x.dim(2) && width == x.dim(3)) return x;
  const bool chooses = options.mode == Interpolation::Nearest || options.mode == Interpolation::NearestExact;
  const Value wide = chooses ? x : cast(x, working_type(x.dtype()));
  return rounded_to(interpolate(wide, {.size = {height, width}, .mode = options.mode, .antialias = options.antialias}),
                    x.dtype());
}

Value crop(const Value& x, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  const CalledAs named("crop");
  require_pictures("crop", x);
  return narrow(narrow(x, 2, top, height), 3, left, width);
}

Value centre_crop(const Value& x, std::int64_t height, std::int64_t width) {
  require_pictures("centre_crop", x);
  require<ShapeError>(height >= 0 && width >= 0 && height <= x.dim(2) && width <= x.dim(3), "centre_crop: ", height,
                      " x ", width, " pixels do not lie in pictures ", x.shape());
  return crop(x, (x.dim(2) - height) / 2, (x.dim(3) - width) / 2, height, width);
}

Value flip_across(const Value& x) {
  require_pictures("flip_across", x);
  return flip(x, {3});
}
Value flip_down(const Value& x) {
  require_pictures("flip_down", x);
  return flip(x, {2});
}

}  // namespace kiln::vision
