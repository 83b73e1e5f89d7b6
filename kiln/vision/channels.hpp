// The three channels of a picture as separate values, for conversions of colours.
#pragma once
#include <array>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

struct Three {
  Value a, b, c;  // [batch, 1, height, width] each

  explicit Three(const Value& x) : a(narrow(x, 1, 0, 1)), b(narrow(x, 1, 1, 1)), c(narrow(x, 1, 2, 1)) {}
  Three(Value a, Value b, Value c) : a(std::move(a)), b(std::move(b)), c(std::move(c)) {}
  Value joined() const { return cat(Values{a, b, c}, 1); }
  /// Returns each channel times a number.
  Three scaled(const std::array<double, 3>& factors) const { return {a * factors[0], b * factors[1], c * factors[2]}; }
};

/// Throws unless x is [batch, 3, height, width] of floats or bytes.
inline void require_colours(std::string_view name, const Value& x) {
  require_channels(name, x, 3);
  require<DTypeError>(is_float(x.dtype()) || x.dtype() == DType::U8, name, ": colours are floats or uint8, got ",
                      x.dtype());
}

/// Returns convert(channels). Floats are passed as they are. Bytes are passed as float32 times `before`; the result is
/// multiplied by `after` and becomes bytes again.
template <class F>
Value converted(const Value& x, F convert, const std::array<double, 3>& before, const std::array<double, 3>& after) {
  const bool bytes = x.dtype() == DType::U8;
  Three channels(cast(x, working_type(x.dtype())));
  if (bytes) channels = channels.scaled(before);
  Three result = convert(channels);
  if (bytes) result = result.scaled(after);
  return rounded_to(result.joined(), x.dtype());
}

inline constexpr std::array<double, 3> kFromBytes = {1.0 / 255, 1.0 / 255, 1.0 / 255}, kToBytes = {255, 255, 255};

}  // namespace kiln::vision
