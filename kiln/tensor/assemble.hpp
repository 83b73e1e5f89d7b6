// Combines tensors: concatenation, stacking, grids.
#pragma once
#include <tuple>

#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// cat({a, b}, 0): concatenates along `dim`.
template <int D, class K>
Tensor<D, K> cat(std::initializer_list<Tensor<D, K>> parts, Dim dim = 0) {
  return Typed{cat(Values(parts.begin(), parts.end()), dim)};
}
template <int D, class K>
Tensor<D, K> cat(const std::vector<Tensor<D, K>>& parts, Dim dim = 0) {
  return Typed{cat(Values(parts.begin(), parts.end()), dim)};
}

/// stack({a, b}, 0): stacks along a new dimension.
template <int D, class K>
Tensor<D + 1, K> stack(std::initializer_list<Tensor<D, K>> parts, Dim dim = 0) {
  return Typed{stack(Values(parts.begin(), parts.end()), dim)};
}
template <int D, class K>
Tensor<D + 1, K> stack(const std::vector<Tensor<D, K>>& parts, Dim dim = 0) {
  return Typed{stack(Values(parts.begin(), parts.end()), dim)};
}

// hstack({a, b}) concatenates along dimension 1, or 0 for vectors; vstack vertically, where vectors are rows; dstack
// along dimension 2, where a matrix is [m, n, 1].
#define KILN_STACK(function, least_rank)                                                   \
  template <int D, class K>                                                                \
  Tensor<kLargest<D, least_rank>, K> function(std::initializer_list<Tensor<D, K>> parts) { \
    return Typed{function(Values(parts.begin(), parts.end()))};                            \
  }                                                                                        \
  template <int D, class K>                                                                \
  Tensor<kLargest<D, least_rank>, K> function(const std::vector<Tensor<D, K>>& parts) {    \
    return Typed{function(Values(parts.begin(), parts.end()))};                            \
  }
KILN_STACK(hstack, 1)
KILN_STACK(vstack, 2)
KILN_STACK(dstack, 3)
#undef KILN_STACK

/// block_diag(a, b): places matrices along the diagonal of a matrix that is zero elsewhere.
template <class K, std::same_as<Tensor<2, K>>... More>
Tensor<2, K> block_diag(const Tensor<2, K>& first, const More&... more) {
  return Typed{block_diag(Values{first.value(), more.value()...})};
}

/// auto [a, b] = broadcast_tensors(x, y): views with the shape that they broadcast to.
template <int... D, class... K>
std::tuple<Tensor<kLargest<D...>, K>...> broadcast_tensors(const Tensor<D, K>&... x) {
  Values values = broadcast_tensors(Values{x.value()...});
  std::size_t next = 0;
  return {Tensor<kLargest<D...>, K>(Typed{std::move(values[next++])})...};
}

// ---- grids -----------------------------------------------------------------------------------------------------------
/// auto [i, j] = meshgrid(x, y): tensors that vary along one dimension each; views. meshgrid<GridOrder::XY>(x, y): the
/// first varies along dimension 1, the second along 0.
template <GridOrder order = GridOrder::IJ, class K, std::same_as<Tensor<1, K>>... More>
std::array<Tensor<1 + sizeof...(More), K>, 1 + sizeof...(More)> meshgrid(const Tensor<1, K>& first,
                                                                         const More&... more) {
  const Values grids = meshgrid(Values{first.value(), more.value()...}, order);
  std::array<Tensor<1 + sizeof...(More), K>, 1 + sizeof...(More)> result;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = Typed{grids[i]};
  return result;
}
/// meshgrid() as one tensor [n, m, ..., vectors].
template <GridOrder order = GridOrder::IJ, class K, std::same_as<Tensor<1, K>>... More>
Tensor<2 + sizeof...(More), K> meshgrid_stack(const Tensor<1, K>& first, const More&... more) {
  return Typed{meshgrid_stack(Values{first.value(), more.value()...}, order)};
}
/// [sizes..., D]: the index of each element.
template <std::size_t D>
Tensor<D + 1, Int> cartesian_grid(const std::int64_t (&shape)[D], const Device& device) {
  return Typed{cartesian_grid(Shape(shape, shape + D), device)};
}
/// [n * m * ..., vectors]: all choices of one element from each vector; the last vector changes fastest.
template <class K, std::same_as<Tensor<1, K>>... More>
Tensor<2, K> cartesian_prod(const Tensor<1, K>& first, const More&... more) {
  return Typed{cartesian_prod(Values{first.value(), more.value()...})};
}
/// [choices, count]: all choices of `count` elements, in their order; if `again`, elements may repeat.
template <class K>
Tensor<2, K> combinations(const Tensor<1, K>& x, std::int64_t count = 2, bool again = false) {
  return Typed{combinations(x.value(), count, again)};
}

}  // namespace kiln
