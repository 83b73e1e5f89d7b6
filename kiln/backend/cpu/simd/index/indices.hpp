// Helpers of the kernels that read and write by index.
#pragma once
#include <string_view>

#include "kiln/backend/cpu/lines.hpp"
#include "kiln/core/wrapping.hpp"

namespace kiln::cpu::simd {

/// Returns a negative number if the index is not in [0, size). It takes no branch and no comparison.
inline std::int64_t range_sign(std::int64_t index, std::int64_t size) {
  return index | wrapping_add(size - 1, wrapping_negate(index));
}

/// An index operand as int64 in row-major order. It is read in place if it has that type and layout, and copied
/// otherwise.
class Indices {
 public:
  explicit Indices(const Value& index) : Indices(index, index.shape()) {}
  /// Broadcasts the index to `shape`.
  Indices(const Value& index, const Shape& shape);
  const std::int64_t* data() const { return data_; }
  std::int64_t count() const { return count_; }

  /// Throws IndexError for the first of the indices [begin, end) that is not in [0, size).
  void check(std::string_view op, int dim, std::int64_t size, std::int64_t begin, std::int64_t end) const;
  /// Checks all indices, on several threads.
  void check(std::string_view op, int dim, std::int64_t size) const;

 private:
  Value held_;
  const std::int64_t* data_ = nullptr;
  std::int64_t count_;
};

}  // namespace kiln::cpu::simd
