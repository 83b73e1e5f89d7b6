#include "kiln/core/limits.hpp"

#include <cmath>
#include <limits>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

/// The limits of an IEEE 754 binary format with `digits` digits, the leading one included, and exponents up to `most`.
FloatLimits binary(int bits, int digits, int most) {
  const double epsilon = std::ldexp(1, 1 - digits), max = std::ldexp(2 - epsilon, most);
  return {bits, -max, max, std::ldexp(1, 1 - most), epsilon};
}

template <class T>
IntLimits limits_of() {
  using Limits = std::numeric_limits<T>;
  return {8 * static_cast<int>(sizeof(T)), static_cast<std::int64_t>(Limits::min()),
          static_cast<std::uint64_t>(Limits::max())};
}

}  // namespace

FloatLimits finfo(DType dtype) {
  switch (dtype) {
    case DType::F64: return binary(64, 53, 1023);
    case DType::F32: return binary(32, 24, 127);
    case DType::F16: return binary(16, 11, 15);
    case DType::BF16: return binary(16, 8, 127);
    default: fail<DTypeError>("finfo: ", dtype, " is not a float type");
  }
}

IntLimits iinfo(DType dtype) {
  switch (dtype) {
    case DType::I64: return limits_of<std::int64_t>();
    case DType::I32: return limits_of<std::int32_t>();
    case DType::I16: return limits_of<std::int16_t>();
    case DType::I8: return limits_of<std::int8_t>();
    case DType::U64: return {64, 0, std::numeric_limits<std::uint64_t>::max()};
    case DType::U32: return limits_of<std::uint32_t>();
    case DType::U16: return limits_of<std::uint16_t>();
    case DType::U8: return limits_of<std::uint8_t>();
    default: fail<DTypeError>("iinfo: ", dtype, " is not an integer type");
  }
}

}  // namespace kiln
