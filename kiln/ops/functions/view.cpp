#include "kiln/ops/functions/view.hpp"

#include <algorithm>

namespace kiln {

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
