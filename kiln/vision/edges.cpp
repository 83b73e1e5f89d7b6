#include "kiln/vision/edges.hpp"

#include <cmath>
#include <vector>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/vision/components.hpp"
#include "kiln/vision/filter.hpp"
#include "kiln/vision/lines/stencil.hpp"

namespace kiln::vision {
namespace {

using Weights = std::vector<double>;

void require_derivative(std::string_view name, const Derivative& options) {
  require<ArgumentError>(options.size == 1 || options.size == 3 || options.size == 5 || options.size == 7, name,
                         ": the size ", options.size, " is none of 1, 3, 5 and 7");
  require<ArgumentError>(std::isfinite(options.scale), name, ": the scale ", options.scale, " is not finite");
}

/// Returns the `size` weights of a derivative of this order: binomial smoothing, and one difference of neighbours for
/// each order.
Weights sobel_weights(std::int64_t size, int order) {
  if (size == 1 && order > 0) size = 3;
  Weights weights = {1};
  for (std::int64_t i = 1; i < size; ++i) {
    const double before = i < size - order ? 1 : -1;  // [1, 1] smooths, [-1, 1] is a difference
    Weights next(weights.size() + 1);
    for (std::size_t j = 0; j < weights.size(); ++j) {
      next[j] += before * weights[j];
      next[j + 1] += weights[j];
    }
    weights = std::move(next);
  }
  return weights;
}

Value derivative(const Value& x, const Weights& down, Weights across, const Derivative& options) {
  for (double& weight : across) weight *= options.scale;
  return separable_filter(cast(x, working_type(x.dtype())), down, across,
                          {.border = options.border, .value = options.value});
}

/// Returns the element type of derivatives of pictures of `dtype`: floats keep theirs.
Value given_as(const Value& y, DType dtype) { return is_float(dtype) ? cast(y, dtype) : y; }

}  // namespace

Value sobel(const Value& x, const Derivative& options) {
  constexpr std::string_view name = "sobel";
  const CalledAs named("sobel");
  require_pictures(name, x);
  require_derivative(name, options);
  const auto [across, down] = std::pair(options.across, options.down);
  require<ArgumentError>(across >= 0 && down >= 0 && across + down >= 1 && across + down <= 2, name,
                         ": derivatives of order ", across, " across and ", down,
                         " down; together 1 or 2 are possible");
  return given_as(derivative(x, sobel_weights(options.size, down), sobel_weights(options.size, across), options),
                  x.dtype());
}

Value scharr(const Value& x, const Derivative& options) {
  constexpr std::string_view name = "scharr";
  const CalledAs named("scharr");
  require_pictures(name, x);
  require_derivative(name, options);
  const bool across = options.across == 1 && options.down == 0;
  require<ArgumentError>(across || (options.across == 0 && options.down == 1), name, ": derivatives of order ",
                         options.across, " across and ", options.down, " down; one of them is 1, the other 0");
  const Weights smooth = {3, 10, 3}, difference = {-1, 0, 1};
  return given_as(derivative(x, across ? smooth : difference, across ? difference : smooth, options), x.dtype());
}

Value laplacian(const Value& x, const Derivative& options) {
  constexpr std::string_view name = "laplacian";
  const CalledAs named("laplacian");
  require_pictures(name, x);
  require_derivative(name, options);
  // One window has both second derivatives.
  const Weights second = sobel_weights(options.size, 2), smooth = sobel_weights(options.size, 0);
  const std::int64_t size = std::ssize(second), before = (size - std::ssize(smooth)) / 2;
  Window window{.row = -(size / 2), .column = -(size / 2), .rows = size, .columns = size};
  const auto smoothed = [&](std::int64_t i) {
    const std::int64_t at = i - before;
    return at < 0 || at >= std::ssize(smooth) ? 0.0 : smooth[static_cast<std::size_t>(at)];
  };
  for (std::int64_t row = 0; row < size; ++row)
    for (std::int64_t column = 0; column < size; ++column)
      window.weights.push_back((smoothed(row) * second[static_cast<std::size_t>(column)] +
                                second[static_cast<std::size_t>(row)] * smoothed(column)) *
                               options.scale);
  return given_as(run_stencil(cast(x, working_type(x.dtype())),
                              {.steps = {{.windows = {window}}}, .border = options.border}, options.value),
                  x.dtype());
}

namespace {

/// Whether the gradient of each pixel is the longest across the edge. `length` is [batch, 1, height, width].
Value is_ridge(const Value& across, const Value& down, const Value& length) {
  const std::int64_t height = length.dim(2), width = length.dim(3);
  const Value wide = make_border(length, {1, 1, 1, 1}, Border::Constant, 0.0);
  const auto beside = [&](std::int64_t row, std::int64_t column) {
    return narrow(narrow(wide, 2, 1 + row, height), 3, 1 + column, width);
  };
  // This is tan(22.5 degrees) in steps of 2^-15; tan(67.5 degrees) is larger by 2.
  constexpr double kTangent = 13573.0 / 32768;
  const Value x = abs(across), y = abs(down);
  const Value flat = lt(y, x * kTangent), steep = gt(y, x * (kTangent + 2));
  const Value rising = lt(across * down, 0.0);
  const auto longer = [&](const Value& other) { return gt(length, other); };
  const Value along_row = logical_and(longer(beside(0, -1)), ge(length, beside(0, 1)));
  const Value along_column = logical_and(longer(beside(-1, 0)), ge(length, beside(1, 0)));
  const Value falling_diagonal = logical_and(longer(beside(-1, -1)), longer(beside(1, 1)));
  const Value rising_diagonal = logical_and(longer(beside(-1, 1)), longer(beside(1, -1)));
  return where(flat, along_row, where(steep, along_column, where(rising, rising_diagonal, falling_diagonal)));
}

}  // namespace

Value canny(const Value& x, const Canny& options) {
  constexpr std::string_view name = "canny";
  const CalledAs named("canny");
  require_channels(name, x, 1);
  require<ArgumentError>(options.size == 3 || options.size == 5, name, ": the size ", options.size,
                         " is neither 3 nor 5");
  require<ArgumentError>(options.low >= 0 && options.low <= options.high && std::isfinite(options.high), name,
                         ": low = ", options.low, " and high = ", options.high, " must be in order, from 0 on");
  if (x.numel() == 0) return cast(x, DType::Bool);
  // The numbers that are compared are whole numbers times 2^-15, which float32 holds for derivatives of bytes over 3 pixels.
  const bool is_small = x.dtype() == DType::U8 && options.size == 3;
  const Value exact = cast(x, is_integer(x.dtype()) && !is_small ? DType::F64 : working_type(x.dtype()));
  const Derivative slope{.size = options.size, .border = Border::Replicate};
  Derivative other = slope;
  std::swap(other.across, other.down);
  const Value across = sobel(exact, slope), down = sobel(exact, other);
  const Value length = options.squares ? square(across) + square(down) : abs(across) + abs(down);
  const auto limit = [&](double number) { return options.squares ? number * number : number; };
  const Value candidates = logical_and(gt(length, limit(options.low)), is_ridge(across, down, length));
  // An edge is kept where one of its pixels is above `high`.
  const Value strong = logical_and(candidates, gt(length, limit(options.high)));
  const Value labels = flatten(connected_components(candidates, Connectivity::Eight).labels, 1);
  const Value none = zeros({x.dim(0), labels.dim(1) / 2 + 2}, x.device(), DType::I32);
  const Value kept = scatter(none, 1, labels, cast(flatten(strong, 1), DType::I32), Update::Max);
  return logical_and(candidates, reshape(ne(gather(kept, 1, labels), 0), x.shape()));
}

}  // namespace kiln::vision
