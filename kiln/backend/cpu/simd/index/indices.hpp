// What the kernels that read and write by index share.
#pragma once
#include <string_view>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/wrapping.hpp"

namespace kiln::cpu::simd {

/// Negative where the index is not in [0, size): the sign of either number tells, without branches and comparisons.
inline std::int64_t outside_of(std::int64_t index, std::int64_t size) {
  return index | wrapping_add(size - 1, wrapping_negate(index));
}

/// An index operand as int64 in row-major order, in place if that is how it lies.
class Indices {
 public:
  explicit Indices(const Value& index) : Indices(index, index.shape()) {}
  /// Broadcast to `shape`.
  Indices(const Value& index, const Shape& shape);
  const std::int64_t* data() const { return data_; }
  std::int64_t count() const { return count_; }

  /// Throws IndexError for the first of [begin, end) that is not in [0, size).
  void check(std::string_view op, int dim, std::int64_t size, std::int64_t begin, std::int64_t end) const;
  /// The same for all of them, from several threads.
  void check(std::string_view op, int dim, std::int64_t size) const;

 private:
  Value held_;
  const std::int64_t* data_ = nullptr;
  std::int64_t count_;
};

/// A tensor cut around a dimension: [outer, size, inner].
struct Slices {
  std::int64_t outer = 1, size, inner = 1;
  Slices(const Shape& x, int dim) : size(x[dim]) {
    for (int i = 0; i < dim; ++i) outer *= x[i];
    for (int i = dim + 1; i < x.size(); ++i) inner *= x[i];
  }
};

}  // namespace kiln::cpu::simd
