#include "kiln/vision/filter.hpp"

#include <cmath>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/vision/lines/stencil.hpp"
#include "kiln/vision/lines/stencil_rows.hpp"

namespace kiln::vision {
namespace {

constexpr std::int64_t kMostTaps = std::int64_t{1} << 20;

void require_size(std::string_view name, std::int64_t rows, std::int64_t columns) {
  require<ArgumentError>(rows >= 1 && columns >= 1 && rows < kMostTaps && columns < kMostTaps, name, ": a kernel of ",
                         rows, " x ", columns, " elements; sizes are 1 to ", kMostTaps - 1);
}

void require_numbers(std::string_view name, std::span<const double> weights) {
  for (const double weight : weights)
    require<ArgumentError>(std::isfinite(weight), name, ": the weight ", weight, " is not finite");
}

/// Returns x in the element type of the computation, padded by as many pixels as a kernel of rows x columns reads.
Value prepared(const Value& x, std::int64_t rows, std::int64_t columns, Border border, double value) {
  const Margins around{rows / 2, (rows - 1) / 2, columns / 2, (columns - 1) / 2};
  return make_border(cast(x, working_type(x.dtype())), around, border, value);
}

/// x in the type that it is computed in.
Value widened(const Value& x) { return cast(x, working_type(x.dtype())); }

/// The window of a kernel of rows x columns weights around a pixel.
Window window_of(std::int64_t rows, std::int64_t columns, std::vector<double> weights = {}) {
  return {
      .row = -(rows / 2), .column = -(columns / 2), .rows = rows, .columns = columns, .weights = std::move(weights)};
}

/// Steps of a kernel `down` times `across`.
Stencil separable(std::span<const double> down, std::span<const double> across, Border border) {
  Window columns = window_of(std::ssize(down), 1, {down.begin(), down.end()});
  columns.step = 0;
  return {.steps = {{.windows = {window_of(1, std::ssize(across), {across.begin(), across.end()})}},
                    {.windows = {columns}}},
          .border = border};
}

/// x [planes, 1, height, width] float32, kernel [rows, columns] -> the shape of x. The kernel is known when it runs.
struct Correlate {
  Border border;
  double value;

  std::string name() const { return "filter2d"; }
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const {
    const std::int64_t rows = in[1].dim(0), columns = in[1].dim(1);
    const Value wide = make_border(in[0], {rows / 2, (rows - 1) / 2, columns / 2, (columns - 1) / 2}, border, value);
    return conv(wide, reshape(cast(in[1], wide.dtype()), {1, 1, rows, columns}), {});
  }
  bool run(std::string_view backend, Call call) const {
    constexpr std::int64_t kMostDirect = 128;  // weights, above which a convolution's algorithms are faster
    const Shape &shape = call.out[0].shape(), &kernel = call.in[1].shape();
    if (backend != "cpu" || shape.empty() || call.out[0].dtype() != DType::F32 || numel(kernel) > kMostDirect)
      return false;
    Value held, held_kernel;
    const float* x = cpu::read_contiguous(call.in[0], held).as<const float>();
    const float* weights = cpu::read_contiguous(call.in[1], held_kernel).as<const float>();
    const Stencil stencil{.steps = {{.windows = {window_of(kernel[0], kernel[1], {weights, weights + numel(kernel)})}}},
                          .border = border};
    run_stencil_rows(stencil, static_cast<float>(value), x, {shape[0], shape[2], shape[3]},
                     cpu::allocate(call.out[0]).as<float>());
    return true;
  }
};

}  // namespace

Value filter2d(const Value& x, const Value& kernel, const Filter& options) {
  constexpr std::string_view name = "filter2d";
  const CalledAs named("filter2d");
  require_pictures(name, x);
  op::require_float(name, kernel);
  require<ShapeError>(kernel.rank() == 2, name, ": the kernel is [rows, columns], got ", kernel.shape());
  const std::int64_t rows = kernel.dim(0), columns = kernel.dim(1);
  require_size(name, rows, columns);
  if (x.numel() == 0) return x;
  require_enumerator(name, "border", static_cast<int>(options.border), static_cast<int>(Border::Wrap));
  const Value alone = reshape(widened(x), {x.dim(0) * x.dim(1), 1, x.dim(2), x.dim(3)});
  const Value y = custom_all(Correlate{options.border, options.value}, alone, cast(kernel, alone.dtype()))[0];
  const Value shaped = reshape(y, x.shape());
  return rounded_to(options.delta == 0 ? shaped : shaped + options.delta, x.dtype());
}

Value separable_filter(const Value& x, std::span<const double> down, std::span<const double> across,
                       const Filter& options) {
  constexpr std::string_view name = "separable_filter";
  const CalledAs named("separable_filter");
  require_pictures(name, x);
  const std::int64_t rows = std::ssize(down), columns = std::ssize(across);
  require_size(name, rows, columns);
  require_numbers(name, down);
  require_numbers(name, across);
  if (x.numel() == 0) return x;
  Stencil stencil = separable(down, across, options.border);
  stencil.steps.back().delta = options.delta;
  return rounded_to(run_stencil(widened(x), stencil, options.value), x.dtype());
}

Value box_blur(const Value& x, std::int64_t rows, std::int64_t columns, const Filter& options) {
  constexpr std::string_view name = "box_blur";
  const CalledAs named("box_blur");
  require_pictures(name, x);
  require_size(name, rows, columns);
  if (x.numel() == 0) return x;
  Stencil stencil{.border = options.border};
  const std::int64_t lines = add_line_fold(stencil, -1, Fold::Sum, {columns, -(columns / 2), false});
  add_line_fold(stencil, lines, Fold::Sum, {rows, -(rows / 2), true});
  stencil.steps.back().scale = 1 / (static_cast<double>(rows) * static_cast<double>(columns));
  stencil.steps.back().delta = options.delta;
  return rounded_to(run_stencil(widened(x), stencil, options.value), x.dtype());
}

// ---- Gaussian ------------------------------------------------------------------------------------------------------

std::vector<double> gaussian_kernel(std::int64_t size, double sigma) {
  require<ArgumentError>(size >= 1 && size < kMostTaps && sigma > 0 && std::isfinite(sigma), "gaussian_kernel: size ",
                         size, " and sigma ", sigma, " must be positive, and the size below ", kMostTaps);
  std::vector<double> weights(static_cast<std::size_t>(size));
  double sum = 0, at = -static_cast<double>(size - 1) / 2;
  for (double& weight : weights) {
    weight = std::exp(-at * at / (2 * sigma * sigma));
    sum += weight;
    ++at;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

namespace {

/// Rounds the weights to multiples of 1 / 256 with a sum of 1: the rounding error of each weight is carried over to the
/// next one, from the ends to the middle.
std::vector<double> in_256ths(std::vector<double> weights) {
  const std::size_t middle = weights.size() / 2;
  double left_over = 0, sum = 0;
  for (std::size_t i = 0; i < middle; ++i) {
    const double wanted = weights[i] * 256 + left_over, whole = std::nearbyint(wanted);
    left_over = wanted - whole;
    sum += 2 * whole;
    weights[i] = weights[weights.size() - 1 - i] = whole / 256;
  }
  weights[middle] = (256 - sum) / 256;
  return weights;
}

/// Returns the kernel along one axis, by OpenCV's rules: the size covers three deviations to either side for bytes, and
/// four for other types; the deviation is 0.3 (size / 2 - 1) + 0.8.
std::vector<double> gaussian_along(std::int64_t size, double sigma, DType dtype) {
  constexpr std::string_view name = "gaussian_blur";
  require<ArgumentError>(sigma >= 0 && sigma <= 1e4, name, ": sigma ", sigma, " is not from 0 to 10,000");
  require<ArgumentError>(size > 0 || sigma > 0, name, ": a size or a sigma must be given, both along each axis");
  if (size == 0) size = static_cast<std::int64_t>(std::nearbyint(sigma * (dtype == DType::U8 ? 3 : 4) * 2 + 1)) | 1;
  require<ArgumentError>(size > 0 && size % 2 == 1 && size < kMostTaps, name, ": the size ", size,
                         " must be odd, positive and below ", kMostTaps);
  if (sigma == 0) sigma = 0.3 * (static_cast<double>(size - 1) * 0.5 - 1) + 0.8;
  std::vector<double> weights = gaussian_kernel(size, sigma);
  return dtype == DType::U8 ? in_256ths(std::move(weights)) : weights;
}

}  // namespace

Value gaussian_blur(const Value& x, const GaussianBlur& options) {
  const CalledAs named("gaussian_blur");
  require_pictures("gaussian_blur", x);
  const auto down = gaussian_along(options.rows, options.sigma_down, x.dtype());
  const auto across = gaussian_along(options.columns, options.sigma_across, x.dtype());
  if (x.numel() == 0) return x;
  const Value y = run_stencil(widened(x), separable(down, across, options.border), options.value);
  // Both passes are exact in float32 for bytes; OpenCV rounds halves up.
  return x.dtype() == DType::U8 ? cast(floor(y + 0.5), DType::U8) : rounded_to(y, x.dtype());
}

// ---- bilateral -----------------------------------------------------------------------------------------------------

Value bilateral_blur(const Value& x, const BilateralBlur& options) {
  constexpr std::string_view name = "bilateral_blur";
  const CalledAs named("bilateral_blur");
  require_pictures(name, x);
  require<ArgumentError>(options.radius >= 0 && options.radius <= 64, name, ": the radius ", options.radius,
                         " is not from 0 to 64");
  const auto is_deviation = [](double sigma) { return sigma > 0 && std::isfinite(sigma); };
  require<ArgumentError>(is_deviation(options.sigma_colour) && is_deviation(options.sigma_space), name,
                         ": sigma_colour = ", options.sigma_colour, " and sigma_space = ", options.sigma_space,
                         " must be positive");
  if (x.numel() == 0) return x;
  const std::int64_t radius = options.radius, side = 2 * radius + 1, height = x.dim(2), width = x.dim(3);
  const Value wide = prepared(x, side, side, options.border, options.value);
  const auto moved = [&](std::int64_t down, std::int64_t across) {
    return narrow(narrow(wide, 2, radius + down, height), 3, radius + across, width);
  };
  const double space = -0.5 / (options.sigma_space * options.sigma_space);
  const double colour = -0.5 / (options.sigma_colour * options.sigma_colour);
  const Value centre = moved(0, 0);
  Value weights = ones({x.dim(0), 1, height, width}, x.device(), wide.dtype()), total = centre;
  for (std::int64_t down = -radius; down <= radius; ++down)
    for (std::int64_t across = -radius; across <= radius; ++across) {
      const std::int64_t squared = down * down + across * across;
      if (squared == 0 || squared > radius * radius) continue;
      const Value there = moved(down, across);
      const Value difference = sum(abs(there - centre), {1}, true);
      const Value weight = exp(square(difference) * colour + static_cast<double>(squared) * space);
      weights = weights + weight;
      total = total + there * weight;
    }
  return rounded_to(total / weights, x.dtype());
}

}  // namespace kiln::vision
