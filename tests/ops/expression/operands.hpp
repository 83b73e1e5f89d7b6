// Numbers that functions go wrong at, and random ones; and what it means that two results are the same.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

inline constexpr DType kComputed[] = {DType::F64, DType::F32, DType::I64, DType::U64, DType::I32, DType::U32};
inline constexpr DType kElements[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64,
                                      DType::I32, DType::I16, DType::I8,  DType::U64,  DType::U32,
                                      DType::U16, DType::U8,  DType::Bool};

/// Calls f(TypeTag<T>{}) with what `dtype` is computed in.
template <class F>
void visit_computed(DType dtype, F&& f) {
  switch (computed_in(dtype)) {
    case DType::F64: return f(TypeTag<double>{});
    case DType::F32: return f(TypeTag<float>{});
    case DType::I64: return f(TypeTag<std::int64_t>{});
    case DType::U64: return f(TypeTag<std::uint64_t>{});
    case DType::U32: return f(TypeTag<std::uint32_t>{});
    default: return f(TypeTag<std::int32_t>{});
  }
}

template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    std::vector<T> values;
    for (const double size :
         {0.0,     1e-30,   1e-9,    0.1,    0.25,   0.3,    0.5,   0.75,  1.0,   1.4616321449683622,
          1.5,     2.0,     2.5,     3.0,    4.0,    5.5,    7.0,   10.0,  16.0,  20.5,
          33.0,    87.5,    120.0,   1e6,    3e9,    1e30,   127.5, 128.0, 255.0, 256.0,
          32768.0, 65520.0, 65536.0, 0x1p31, 0x1p32, 0x1p63, 0x1p64})
      for (const double sign : {1.0, -1.0}) values.push_back(static_cast<T>(sign * size));
    for (const T value : {Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), Limits::min(), Limits::max(),
                          1 + Limits::epsilon(), 1 - Limits::epsilon()}) {
      values.push_back(value);
      if (value == value) values.push_back(-value);
    }
    return values;
  } else {
    std::vector<T> values;
    for (const int small : {0, 1, 2, 3, 5, 7, 8, 15, 31, 32, 63, 64, 100})
      for (const int sign : {1, -1}) values.push_back(static_cast<T>(sign * small));
    for (const T value : {Limits::min(), Limits::max()})
      for (const int step : {-1, 0, 1}) values.push_back(static_cast<T>(static_cast<std::uint64_t>(value) + step));
    return values;
  }
}

/// The edges, then random numbers of all sizes.
template <class T>
std::vector<T> operands(int random, unsigned seed = 1) {
  std::vector<T> values = edges<T>();
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int i = 0; i < random; ++i) {
    const double size = std::exp2(exponent(engine)), sign = engine() & 1 ? 1 : -1;
    if constexpr (std::is_floating_point_v<T>) values.push_back(static_cast<T>(sign * size));
    else
      values.push_back(
          static_cast<T>(i % 2 ? engine() : static_cast<std::uint64_t>(static_cast<std::int64_t>(sign * size))));
  }
  return values;
}

/// The same bits, or two NaNs.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
  else return a == b;
}

/// How far a is from b, in relation to b, or to `scale` where that is larger; infinite where one is no number.
template <class T>
double distance(T a, T b, double scale = 0) {
  if (same(a, b) || a == b) return 0;
  const double off = std::abs(static_cast<double>(a) - static_cast<double>(b));
  const double size = std::max(std::abs(static_cast<double>(b)), scale);
  return off <= std::numeric_limits<double>::max() ? off / size : std::numeric_limits<double>::infinity();
}

/// With all digits.
template <class T>
std::string shown(T value) {
  char letters[40];
  if constexpr (std::is_floating_point_v<T>)
    std::snprintf(letters, sizeof letters, "%.17g", static_cast<double>(value));
  else return std::to_string(value);
  return letters;
}

}  // namespace kiln::expr
