#include "kiln/tensor/composed.hpp"

#include <algorithm>
#include <array>

namespace kiln {
namespace {

constexpr std::array<std::string_view, 3> kKindNames = {"floats", "integers", "booleans"};

ValueWithIndices extreme_with_index(const Value& x, int dim, const Value& kept_indices) {
  return {squeeze(gather(x, dim, kept_indices), dim), squeeze(kept_indices, dim)};
}

}  // namespace

void require_tensor(const Value& x, int rank, Kind kind) {
  if (x.empty() || x.is_scalar()) fail<ShapeError>("expected a tensor of rank ", rank, ", got ", x);
  if (x.rank() != rank) fail<ShapeError>("expected a tensor of rank ", rank, ", got ", x);
  if (kind_of(x.dtype()) != kind)
    fail<DTypeError>("expected a tensor of ", kKindNames[static_cast<std::size_t>(kind)], ", got ", x);
}

Dims dims_or_all(Dims dims, int rank) {
  if (dims.empty())
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  return dims;
}

ValueWithIndices max_with_index(const Value& x, int dim) { return extreme_with_index(x, dim, argmax(x, dim, true)); }
ValueWithIndices min_with_index(const Value& x, int dim) { return extreme_with_index(x, dim, argmin(x, dim, true)); }

Value deviation(const Value& x, const Dims& dims, int correction, bool keep) {
  return sqrt(variance(x, dims, correction, keep));
}

Value roll(const Value& x, std::int64_t shift, int dim) {
  dim = wrap_dim("roll", dim, x.rank());
  const std::int64_t size = x.dim(dim);
  if (size == 0) return x;
  const std::int64_t first = ((-shift % size) + size) % size;
  if (first == 0) return x;
  return cat(Values{narrow(x, dim, first, size - first), narrow(x, dim, 0, first)}, dim);
}

Value repeat(const Value& x, const Dims& times) {
  require<ShapeError>(times.size() == x.rank(), "repeat: ", times, " has ", times.size(), " entries for ", x);
  for (const auto count : times) require<ArgumentError>(count >= 0, "repeat: ", times, " has a negative count");
  // Every repetition is a broadcast of a new dimension, one at a time so as not to run out of dimensions.
  Value result = x;
  for (int i = 0; i < times.size(); ++i) {
    if (times[i] == 1) continue;
    Shape tiled = result.shape(), merged = result.shape();
    tiled.insert(i, times[i]);
    merged[i] *= times[i];
    result = reshape(expand(unsqueeze(result, i), tiled), merged);
  }
  return result;
}

Values chunk(const Value& x, std::int64_t parts, int dim) {
  require<ArgumentError>(parts >= 1, "chunk: the number of parts must be positive, got ", parts);
  const std::int64_t size = x.dim(wrap_dim("chunk", dim, x.rank()));
  return split(x, std::max<std::int64_t>(1, (size + parts - 1) / parts), dim);
}

}  // namespace kiln
