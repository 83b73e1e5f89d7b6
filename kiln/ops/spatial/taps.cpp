#include "kiln/ops/spatial/taps.hpp"

#include "kiln/ops/emit.hpp"
#include "kiln/ops/spatial/blend_ops.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kFar = std::int64_t{-1} << 60;

/// [count, 1, ...]: numbers that broadcast with tensors like `like`.
Value constants(const std::vector<double>& numbers, const Value& like) {
  Shape shape = Shape::filled(like.rank() + 1, 1);
  shape[0] = static_cast<std::int64_t>(numbers.size());
  return from_data(TensorData::of<double>(shape, numbers).to(like.dtype()), like.device());
}

/// The weights of the taps as polynomials of the fraction: the coefficients of its powers, the highest first.
std::vector<std::vector<double>> polynomials(Interpolation mode) {
  constexpr double a = -0.75;  // Keys' convolution
  switch (mode) {
    case Interpolation::Linear: return {{-1, 1}, {1, 0}};
    case Interpolation::Cubic:
      return {{a, a + 2, -a - 2, -a}, {-2 * a, -a - 3, 2 * a + 3, a}, {a, 0, -a, 0}, {0, 1, 0, 0}};
    default: return {{1}};
  }
}

/// Evaluates polynomials of `fraction`: [taps, ...]; plain numbers if they are constant.
Value values(const std::vector<std::vector<double>>& polynomials, const Value& fraction, const Value& like) {
  Value value;
  for (const std::vector<double>& coefficients : polynomials)
    value = value ? value * fraction + constants(coefficients, like) : constants(coefficients, like);
  return value;
}

}  // namespace

Value near_axis(const Value& positions, std::int64_t size, int reach) {
  return clamp(positions, -1.0 - reach, static_cast<double>(size) + reach);
}

AxisTaps taps_around(const Value& positions, Interpolation mode) {
  if (mode == Interpolation::Nearest) {
    const Value places = unsqueeze(round(positions), 0);
    return {places.detach(), ones_like(places)};
  }
  const Value low = floor(positions).detach();
  const Value weight = values(polynomials(mode), unsqueeze(positions - low, 0), low);
  const std::vector<double> around =
      mode == Interpolation::Linear ? std::vector<double>{0, 1} : std::vector<double>{-1, 0, 1, 2};
  return {unsqueeze(low, 0) + constants(around, low), weight};
}

Value weight_slopes(const Value& positions, Interpolation mode) {
  std::vector<std::vector<double>> slopes = polynomials(mode);
  const std::size_t degree = slopes.size() - 1;
  if (degree == 0) return zeros_like(unsqueeze(positions, 0));
  slopes.pop_back();
  for (std::size_t i = 0; i < degree; ++i)
    for (double& coefficient : slopes[i]) coefficient *= static_cast<double>(degree - i);
  const Value low = floor(positions).detach(), fraction = unsqueeze(positions - low, 0);
  return values(slopes, fraction, low);
}

Value axis_index(const Value& places, std::int64_t size, std::int64_t stride) {
  const Value inside = bitwise_and(ge(places, 0), lt(places, static_cast<double>(size)));
  return where(inside, cast(places, DType::I64) * stride, kFar);
}

AxisTaps combined(std::span<const AxisTaps> axes, const Value& factor) {
  Value index, weight;
  for (const AxisTaps& axis : axes) {
    if (!index) {
      index = axis.index;
      weight = factor ? axis.weight * factor : axis.weight;
      continue;
    }
    index = flatten(unsqueeze(index, 1) + unsqueeze(axis.index, 0), 0, 1);
    weight = flatten(unsqueeze(weight, 1) * unsqueeze(axis.weight, 0), 0, 1);
  }
  return {permute(index, {1, 2, 0}), permute(weight, {1, 2, 0})};
}

Value blend(const Value& x, std::span<const AxisTaps> axes, const Value& factor) {
  const AxisTaps taps = combined(axes, factor);
  return emit(op::Blend{}, {x, taps.index, taps.weight});
}

}  // namespace kiln
