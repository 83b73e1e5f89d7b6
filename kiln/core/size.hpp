// Sums and products of sizes that users and files give: an overflow of 63 bits is an error, never a wrong size.
#pragma once
#include <cstdint>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// a + b. Throws ShapeError: "cat: 4611686018427387904 + 4611686018427387904 elements are more than 2^63 - 1".
inline std::int64_t add_sizes(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    fail<ShapeError>(op, ": ", a, " + ", b, " elements are more than 2^63 - 1");
  return sum;
}

/// a * b. Throws ShapeError as add_sizes does.
inline std::int64_t multiply_sizes(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    fail<ShapeError>(op, ": ", a, " * ", b, " elements are more than 2^63 - 1");
  return product;
}

}  // namespace kiln
