// What attention has seen before, in memory that is there from the start: appending writes the new elements alone.
//
// An append costs as much as what is appended, whatever the cache holds, as long as nobody else has the memory: the device
// knows that (Fusion does), and writes in place. A copy of a cache shares the memory until one of the two is appended to.
//
// One moment after the other is the same program, in which a tensor says where the moment stands: what was planned for one
// serves the next ones.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "kiln/tensor/tensor.hpp"

namespace kiln::nn {

/// Where a moment stands, as an index [1].
Value index_of(std::int64_t moment, const Device& device);
/// memory with x written to places [length, ...) of `dim`. Throws ShapeError where x does not fit.
Value append_to(const Value& memory, int dim, std::int64_t length, const Value& x);

/// The same in a ring, moment m at place m modulo the places that there are. Throws ShapeError where x does not fit beside
/// `dim`, or `most` are passed.
Value append_to_ring(const Value& memory, int dim, std::int64_t length, std::int64_t most, const Value& x);
/// The `count` moments before `length`, in their order, of memory that may be a ring.
Value last_of(const Value& memory, int dim, std::int64_t length, std::int64_t count);

/// Tensors joined along one dimension as they come.
template <int D>
struct TensorCache {
  Tensor<D> memory;         // of the full capacity; what lies beyond `length` means nothing
  int dim = 0;              // the one that grows
  std::int64_t length = 0;  // of it, so far
  std::int64_t most = 0;    // how long it may become, where memory is a ring that has places for the last moments alone
  std::int64_t first = 0;   // the earliest moment that is there; those before it were written over

  /// `shape` has the capacity as the size of `dim`.
  static TensorCache with_capacity(const Shape& shape, Dim dim, const Device& device, DType dtype = DType::F32) {
    return {Tensor<D>::zeros(shape, device, dtype), wrap_dim("TensorCache", dim, D), 0};
  }
  /// The same of the last `places` moments of `most`.
  static TensorCache ring(Shape shape, Dim dim, std::int64_t places, const Device& device, DType dtype = DType::F32) {
    const int at = wrap_dim("TensorCache", dim, D);
    const std::int64_t most = shape[at];
    shape[at] = places;
    return {Tensor<D>::zeros(shape, device, dtype), at, 0, most};
  }
  bool is_ring() const { return most > 0; }
  std::int64_t places() const { return memory.dim(dim); }
  std::int64_t capacity() const { return is_ring() ? most : places(); }
  /// Adds x, and returns all there is. x becomes the cache's element type. Throws ShapeError where x has another shape
  /// beside `dim`, or there is no room left for it.
  Tensor<D> append(const Tensor<D>& x) {
    add(x);
    return all();
  }
  /// The same, and returns nothing.
  void add(const Tensor<D>& x) {
    memory = Tensor<D>(is_ring() ? append_to_ring(memory.value(), dim, length, most, x.value())
                                 : append_to(memory.value(), dim, length, x.value()));
    length += x.dim(dim);
    first = std::max(first, length - places());
  }
  /// What was appended and is still there: a view, unless a ring has come round.
  Tensor<D> all() const { return last(length - first); }
  /// The last of it. Throws ArgumentError where there are not as many.
  Tensor<D> last(std::int64_t count) const {
    require<ArgumentError>(count >= 0 && count <= length - first, "last: ", count, " of ", length - first, " moments");
    return Tensor<D>(last_of(memory.value(), dim, length, count));
  }
  /// Without a ring: the same and what lies behind it, up to a multiple of kStride or the capacity: a shape that seldom
  /// changes.
  Tensor<D> all_and_more() const {
    return memory.narrow(dim, 0, std::min(capacity(), (length + kStride - 1) / kStride * kStride));
  }
  static constexpr std::int64_t kStride = 64;
};

/// Keys and values of one attention layer. A layer that looks back on a window alone has rings, which take the same memory
/// however long the sequence becomes.
struct KvCache {
  TensorCache<4> keys, values;             // [batch, kv_heads, time, width]
  std::optional<std::int64_t> reach = {};  // how many moments the next one looks back on; none: on all

  std::int64_t length() const { return keys.length; }
  std::int64_t capacity() const { return keys.capacity(); }
  /// Row i of the batch becomes what row beams[i] was, as beam search asks for; beams may be more or fewer than the rows.
  /// Throws IndexError.
  void reorder(const Tensor<1, Int>& beams);
  /// Forgets what came after the first `length` moments: a draft that was not accepted. Throws ArgumentError where there
  /// are not as many, or where a ring no longer has what the next moment looks back on: it has TensorCache::kStride
  /// moments to spare.
  void truncate(std::int64_t length);
};

/// The caches of a transformer's layers.
struct TransformerCache {
  std::vector<KvCache> attention;  // of each layer's own sequence
  std::vector<KvCache> context;    // of a decoder's layers: what the encoder made, which does not grow

  /// How many moments have been seen.
  std::int64_t length() const { return attention.empty() ? 0 : attention.front().length(); }
  /// As KvCache's; what throws changes nothing.
  void reorder(const Tensor<1, Int>& beams);
  void truncate(std::int64_t length);
};

}  // namespace kiln::nn
