#include "kiln/core/shape.hpp"

#include <algorithm>

namespace kiln {

std::int64_t numel(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (const auto size : shape) {
    require<ShapeError>(size >= 0, "shape ", shape, " has a negative size");
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  // A size of zero makes the tensor empty, even where the other sizes overflow.
  if (overflow) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    fail<ShapeError>("shape ", shape, " has more than 2^63 - 1 elements");
  }
  return count;
}

Dims contiguous_strides(const Shape& shape) {
  Dims strides = shape;
  // Unsigned, because the sizes of an empty tensor may multiply to more elements than any tensor has.
  std::uint64_t stride = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

int wrap_dim(std::string_view op, std::int64_t dim, int rank) {
  const std::int64_t wrapped = dim < 0 ? dim + rank : dim;
  require<IndexError>(wrapped >= 0 && wrapped < rank, op, ": dimension ", dim, " is out of range for rank ", rank);
  return static_cast<int>(wrapped);
}

Shape broadcast(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.size(), b.size());
  Shape result = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail<ShapeError>(op, ": ", a, " and ", b, " do not broadcast: ", x, " and ", y, " differ in dimension ", -i);
    result[rank - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace kiln
