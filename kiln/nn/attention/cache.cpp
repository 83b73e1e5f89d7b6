#include "kiln/nn/attention/cache.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kiln/ops/index/index.hpp"

namespace kiln::nn {

Value index_of(std::int64_t moment, const Device& device) {
  return from_data(TensorData::of<std::int64_t>({1}, {&moment, 1}), device.inner());
}

namespace {

void require_room(const Value& memory, int dim, std::int64_t length, std::int64_t capacity, const Value& x) {
  const std::int64_t count = x.dim(dim);
  Shape expected = memory.shape();
  expected[dim] = count;
  require<ShapeError>(x.shape() == expected, "append: ", x.shape(), " does not fit a cache of ", memory.shape(),
                      " that grows along dimension ", dim);
  require<ShapeError>(count <= capacity - length, "append: ", count, " more do not fit: ", length, " of ", capacity,
                      " are used");
}

/// The places of time steps in a ring: [count]
Value places_of(std::int64_t first, std::int64_t count, std::int64_t places, const Device& device) {
  TensorData data({count}, DType::I64);
  for (std::int64_t& place : data.as<std::int64_t>()) place = first++ % places;
  return from_data(std::move(data), device.inner());
}

}  // namespace

Value append_to(const Value& memory, int dim, std::int64_t length, const Value& x) {
  const std::int64_t count = x.dim(dim);
  require_room(memory, dim, length, memory.dim(dim), x);
  if (count == 1) return select_assign(memory, dim, index_of(length, memory.device()), cast(x, memory.dtype()));
  std::array<Range, kMaxRank> ranges;
  ranges[static_cast<std::size_t>(dim)] = {length, length + count};
  return slice_assign(memory, {ranges.data(), static_cast<std::size_t>(dim) + 1}, cast(x, memory.dtype()));
}

Value append_to_ring(const Value& memory, int dim, std::int64_t length, std::int64_t most, const Value& x) {
  require_room(memory, dim, length, most, x);
  const std::int64_t places = memory.dim(dim), count = x.dim(dim), kept = std::min(count, places);
  if (kept == 0) return memory;
  return select_assign(memory, dim, places_of(length + count - kept, kept, places, memory.device()),
                       cast(narrow(x, dim, count - kept, kept), memory.dtype()));
}

Value last_of(const Value& memory, int dim, std::int64_t length, std::int64_t count) {
  const std::int64_t places = memory.dim(dim);
  return length <= places ? narrow(memory, dim, length - count, count)
                          : select(memory, dim, places_of(length - count, count, places, memory.device()));
}

void KvCache::reorder(const Tensor<1, Int>& beams) {
  keys.memory = keys.memory.select(0, beams);
  values.memory = values.memory.select(0, beams);
}

void KvCache::truncate(std::int64_t length) {
  require<ArgumentError>(length >= 0 && length <= keys.length, "truncate: ", length, " of ", keys.length,
                         " time steps");
  const std::int64_t from = reach ? std::max<std::int64_t>(length - *reach, 0) : 0;
  require<ArgumentError>(from >= keys.first, "truncate: to ", length, " of ", keys.length,
                         " time steps: the next looks back on those from ", from, " on, and those before ", keys.first,
                         " were written over");
  keys.length = values.length = length;
}

void TransformerCache::reorder(const Tensor<1, Int>& beams) {
  for (KvCache& cache : attention) cache.reorder(beams);
  for (KvCache& cache : context) cache.reorder(beams);
}

void TransformerCache::truncate(std::int64_t length) {
  std::vector<KvCache> shorter = attention;
  for (KvCache& cache : shorter) cache.truncate(length);
  attention = std::move(shorter);
}

}  // namespace kiln::nn
