// What attention has seen before, in memory that is there from the start: appending writes the new elements alone.
//
// An append costs as much as what is appended, whatever the cache holds, as long as nobody else has the memory: the device
// knows that (Fusion does), and writes in place. A copy of a cache shares the memory until one of the two is appended to.
//
// One moment after the other is the same program, in which a tensor says where the moment stands: what was planned for one
// serves the next ones.
#pragma once
#include <algorithm>
#include <vector>

#include "kiln/tensor/tensor.hpp"

namespace kiln::nn {

/// Where a moment stands, as an index [1].
Value index_of(std::int64_t moment, const Device& device);
/// memory with x written to places [length, ...) of `dim`. Throws ShapeError where x does not fit.
Value append_to(const Value& memory, int dim, std::int64_t length, const Value& x);

/// Tensors joined along one dimension as they come.
template <int D>
struct TensorCache {
  Tensor<D> memory;         // of the full capacity; what lies beyond `length` means nothing
  int dim = 0;              // the one that grows
  std::int64_t length = 0;  // of it, so far

  /// `shape` has the capacity as the size of `dim`.
  static TensorCache with_capacity(const Shape& shape, Dim dim, const Device& device, DType dtype = DType::F32) {
    return {Tensor<D>::zeros(shape, device, dtype), wrap_dim("TensorCache", dim, D), 0};
  }
  std::int64_t capacity() const { return memory.dim(dim); }
  /// Adds x, and returns all there is. x becomes the cache's element type. Throws ShapeError where x has another shape
  /// beside `dim`, or there is no room left for it.
  Tensor<D> append(const Tensor<D>& x) {
    add(x);
    return all();
  }
  /// The same, and returns nothing.
  void add(const Tensor<D>& x) {
    memory = Tensor<D>(append_to(memory.value(), dim, length, x.value()));
    length += x.dim(dim);
  }
  /// What was appended, a view.
  Tensor<D> all() const { return memory.narrow(dim, 0, length); }
  /// The same and what lies behind it, up to a multiple of kStride or the capacity: a shape that seldom changes.
  Tensor<D> all_and_more() const {
    return memory.narrow(dim, 0, std::min(capacity(), (length + kStride - 1) / kStride * kStride));
  }
  static constexpr std::int64_t kStride = 64;
};

/// Keys and values of one attention layer.
struct KvCache {
  TensorCache<4> keys, values;  // [batch, kv_heads, time, width]

  std::int64_t length() const { return keys.length; }
  std::int64_t capacity() const { return keys.capacity(); }
  /// Row i of the batch becomes what row beams[i] was, as beam search asks for; beams may be more or fewer than the rows.
  /// Throws IndexError.
  void reorder(const Tensor<1, Int>& beams);
  /// Forgets what came after the first `length` moments: a draft that was not accepted. Throws ArgumentError where there
  /// are not as many.
  void truncate(std::int64_t length);
};

/// The caches of a transformer's layers.
struct TransformerCache {
  std::vector<KvCache> attention;  // of each layer's own sequence
  std::vector<KvCache> context;    // of a decoder's layers: what the encoder made, which does not grow

  /// How many moments have been seen.
  std::int64_t length() const { return attention.empty() ? 0 : attention.front().length(); }
  /// As KvCache's.
  void reorder(const Tensor<1, Int>& beams);
  void truncate(std::int64_t length);
};

}  // namespace kiln::nn
