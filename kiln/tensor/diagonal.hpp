// Matrices by their diagonal, and masks of triangles. Diagonal `offset` begins that many columns to the right of the
// main diagonal, to the left where it is negative.
#pragma once
#include "kiln/tensor/create.hpp"

namespace kiln {

/// The matrix with the diagonal x, and zeros elsewhere.
template <class K>
Tensor<2, K> diag(const Tensor<1, K>& x, std::int64_t offset = 0) {
  return Typed{diag(x.value(), offset)};
}
/// The diagonal of x.
template <class K>
Tensor<1, K> diag(const Tensor<2, K>& x, std::int64_t offset = 0) {
  return Typed{diag(x.value(), offset)};
}

/// triu_mask({rows, columns}, device): true on a diagonal and above it (triu), on and below it (tril), or only on it
/// (diag).
inline Tensor<2, Bool> triu_mask(Sizes<2> shape, const Device& device, std::int64_t offset = 0) {
  return Typed{triu_mask(Shape(shape, shape + 2), device, offset)};
}
inline Tensor<2, Bool> tril_mask(Sizes<2> shape, const Device& device, std::int64_t offset = 0) {
  return Typed{tril_mask(Shape(shape, shape + 2), device, offset)};
}
inline Tensor<2, Bool> diag_mask(Sizes<2> shape, const Device& device, std::int64_t offset = 0) {
  return Typed{diag_mask(Shape(shape, shape + 2), device, offset)};
}

}  // namespace kiln
