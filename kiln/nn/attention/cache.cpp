#include "kiln/nn/attention/cache.hpp"

#include <array>

#include "kiln/ops/index/index.hpp"

namespace kiln::nn {

Value index_of(std::int64_t moment, const Device& device) {
  return from_data(TensorData::of<std::int64_t>({1}, {&moment, 1}), device.inner());
}

Value append_to(const Value& memory, int dim, std::int64_t length, const Value& x) {
  const std::int64_t count = x.dim(dim), capacity = memory.dim(dim);
  Shape expected = memory.shape();
  expected[dim] = count;
  require<ShapeError>(x.shape() == expected, "append: ", x.shape(), " does not fit a cache of ", memory.shape(),
                      " that grows along dimension ", dim);
  require<ShapeError>(count <= capacity - length, "append: ", count, " more do not fit: ", length, " of ", capacity,
                      " are taken");
  if (count == 1) return select_assign(memory, dim, index_of(length, memory.device()), cast(x, memory.dtype()));
  std::array<Range, kMaxRank> ranges;
  ranges[static_cast<std::size_t>(dim)] = {length, length + count};
  return slice_assign(memory, {ranges.data(), static_cast<std::size_t>(dim) + 1}, cast(x, memory.dtype()));
}

void KvCache::reorder(const Tensor<1, Int>& beams) {
  keys.memory = keys.memory.select(0, beams);
  values.memory = values.memory.select(0, beams);
}

void KvCache::truncate(std::int64_t length) {
  require<ArgumentError>(length >= 0 && length <= keys.length, "truncate: ", length, " of ", keys.length, " moments");
  keys.length = values.length = length;
}

void TransformerCache::reorder(const Tensor<1, Int>& beams) {
  for (KvCache& cache : attention) cache.reorder(beams);
  for (KvCache& cache : context) cache.reorder(beams);
}

void TransformerCache::truncate(std::int64_t length) {
  for (KvCache& cache : attention) cache.truncate(length);
}

}  // namespace kiln::nn
