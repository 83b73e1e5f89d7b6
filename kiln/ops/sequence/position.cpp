#include "kiln/ops/sequence/position.hpp"

#include <cmath>

#include "kiln/ops/check.hpp"

namespace kiln {
namespace {

/// positions [time] -> [time, count]: position / base^(2 i / width). Powers are computed in double on the host.
Value angles(const Value& positions, std::int64_t count, std::int64_t width, double base) {
  TensorData speeds({1, count}, DType::F64);
  for (std::int64_t i = 0; i < count; ++i)
    speeds.as<double>()[static_cast<std::size_t>(i)] =
        std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(width));
  const Value row = from_data(speeds.to(DType::F32), positions.device());
  return unsqueeze(cast(positions, DType::F32), 1) * row;
}

}  // namespace

Value rotary(const Value& x, const Value& cosine, const Value& sine, RotaryPairs pairs) {
  op::require_float("rotary", x);
  op::require_tensor("rotary", cosine);
  op::require_tensor("rotary", sine);
  require<ShapeError>(x.rank() >= 2 && x.dim(-1) % 2 == 0,
                      "rotary: x must be [..., time, width] with an even width, got ", x.shape());
  Shape half = x.shape();
  half.back() /= 2;
  for (const Value& table : {cosine, sine})
    require<ShapeError>(broadcast("rotary", half, table.shape()) == half, "rotary: ", table.shape(),
                        " does not broadcast to ", half);
  const Value c = cast(cosine, x.dtype()), s = cast(sine, x.dtype());
  if (pairs == RotaryPairs::Halves) {
    const Value a = narrow(x, -1, 0, half.back()), b = narrow(x, -1, half.back(), half.back());
    return cat(Values{a * c - b * s, b * c + a * s}, -1);
  }
  Shape paired = half;
  paired.push_back(2);
  const Value both = reshape(x, paired), a = at(both, -1, 0), b = at(both, -1, 1);
  return reshape(stack(Values{a * c - b * s, b * c + a * s}, -1), x.shape());
}

RotaryTables rotary_tables(const Value& positions, std::int64_t width, double base) {
  op::require_tensor("rotary_tables", positions);
  require<ShapeError>(positions.rank() == 1, "rotary_tables: positions must be [time], got ", positions.shape());
  require<ArgumentError>(width > 0 && width % 2 == 0, "rotary_tables: the width must be positive and even, got ",
                         width);
  const Value turned = angles(positions, width / 2, width, base);
  return {cos(turned), sin(turned)};
}

Value alibi_bias(const Shape& shape, const Device& device) {
  require<ShapeError>(shape.size() == 3, "alibi_bias: needs [heads, queries, keys], got ", shape);
  const std::int64_t heads = shape[0], queries = shape[1], keys = shape[2];
  require<ArgumentError>(heads > 0 && queries >= 0 && keys >= 0, "alibi_bias: ", heads, " heads, ", queries,
                         " queries and ", keys, " keys");
  // Slopes fall geometrically to 2^-8. Where the number of heads is not a power of two, the heads beyond take every
  // second slope of a sequence for twice as many heads.
  std::int64_t power = 1;
  while (power <= heads / 2) power *= 2;
  TensorData slopes({heads, 1, 1}, DType::F64);
  double* next = slopes.as<double>().data();
  for (std::int64_t i = 1; i <= power; ++i)
    *next++ = std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(power));
  for (std::int64_t i = 1; i <= heads - power; ++i)
    *next++ = std::exp2(-4.0 * static_cast<double>(2 * i - 1) / static_cast<double>(power));
  const Value slope = from_data(slopes.to(DType::F32), device);
  const Value i = unsqueeze(arange(keys - queries, keys, 1, device), 1), j = arange(0, keys, 1, device);
  return neg(cast(abs(i - j), DType::F32)) * slope;
}

Value sinusoidal_positions(const Shape& shape, const Device& device, double base) {
  require<ShapeError>(shape.size() == 2, "sinusoidal_positions: needs [time, width], got ", shape);
  const std::int64_t time = shape[0], width = shape[1];
  require<ArgumentError>(time >= 0 && width >= 0, "sinusoidal_positions: ", time, " positions of width ", width);
  const std::int64_t pairs = width / 2 + width % 2;
  const Value turned = angles(arange(0, time, 1, device), pairs, width, base);
  const Value both = flatten(stack(Values{sin(turned), cos(turned)}, -1), 1);
  return narrow(both, 1, 0, width);
}

}  // namespace kiln
