// Ordering on the host. What comes out is a gather of the operand, so that
// gradients are those of gather.
#include "kiln/ops/functions/order.hpp"

#include <algorithm>
#include <numeric>

namespace kiln {
namespace {

// NaN is larger than any number, so that ordering is total.
template <class T>
bool before(T a, T b) {
  return a < b || (b != b && a == a);
}

/// [outer, count, inner]: for each line of x along `dim` the positions of the `count` elements that come first.
template <class T>
std::vector<std::int64_t> ordered_positions(std::span<const T> x, std::int64_t outer, std::int64_t size,
                                            std::int64_t inner, std::int64_t count, bool descending) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(outer * count * inner));
  std::vector<std::int64_t> line(static_cast<std::size_t>(size));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const auto value = [&](std::int64_t at) { return x[static_cast<std::size_t>((o * size + at) * inner + i)]; };
      // The earlier of equal elements comes first, whichever the direction.
      const auto first = [&](std::int64_t a, std::int64_t b) {
        const bool less = before(value(a), value(b)), greater = before(value(b), value(a));
        return less != greater ? less != descending : a < b;
      };
      std::iota(line.begin(), line.end(), std::int64_t{0});
      std::partial_sort(line.begin(), line.begin() + count, line.end(), first);
      for (std::int64_t k = 0; k < count; ++k)
        result[static_cast<std::size_t>((o * count + k) * inner + i)] = line[static_cast<std::size_t>(k)];
    }
  }
  return result;
}

ValueWithIndices ordered(const Value& x, std::int64_t count, int dim, bool descending) {
  Shape shape = x.shape();
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < dim; ++i) outer *= shape[i];
  for (int i = dim + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t size = shape[dim];
  shape[dim] = count;

  const TensorData data = x.data();
  const std::vector<std::int64_t> positions = visit_dtype(data.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return ordered_positions<T>(data.as<T>(), outer, size, inner, count, descending);
  });
  const Value indices = from_data(TensorData::of<std::int64_t>(shape, positions), x.device());
  return {gather(x, dim, indices), indices};
}

ValueWithIndices extreme_with_index(const Value& x, int dim, const Value& kept_indices) {
  return {squeeze(gather(x, dim, kept_indices), dim), squeeze(kept_indices, dim)};
}

}  // namespace

ValueWithIndices max_with_index(const Value& x, int dim) { return extreme_with_index(x, dim, argmax(x, dim, true)); }
ValueWithIndices min_with_index(const Value& x, int dim) { return extreme_with_index(x, dim, argmin(x, dim, true)); }

ValueWithIndices topk(const Value& x, std::int64_t k, int dim, bool largest) {
  dim = wrap_dim("topk", dim, x.rank());
  require<ArgumentError>(0 <= k && k <= x.dim(dim), "topk: k is ", k, " but dimension ", dim, " has ", x.dim(dim),
                         " elements");
  return ordered(x, k, dim, largest);
}

ValueWithIndices sort(const Value& x, int dim, bool descending) {
  dim = wrap_dim("sort", dim, x.rank());
  return ordered(x, x.dim(dim), dim, descending);
}

}  // namespace kiln
