// The memory of attention, allocated in advance: an append writes only the new elements.
//
// An append costs as much as the appended data, whatever the cache's length, as long as no other tensor shares the
// memory: the device knows that (Fusion does), and writes in place. A copy of a cache shares memory until one of the
// two is appended to.
//
// Each time step runs the same program, in which a tensor holds the position of the time step: a plan for one serves
// the next.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "kiln/tensor/tensor.hpp"

namespace kiln::nn {

/// The position of a time step, as an index [1].
Value index_of(std::int64_t moment, const Device& device);
/// memory with x written to places [length, ...) of `dim`. Throws ShapeError if x does not fit.
Value append_to(const Value& memory, int dim, std::int64_t length, const Value& x);

/// Appends to a ring, with time step m at place m modulo the number of places. Throws ShapeError if x's other
/// dimensions do not fit, or the length would exceed `most`.
Value append_to_ring(const Value& memory, int dim, std::int64_t length, std::int64_t most, const Value& x);
/// The `count` time steps before `length`, in order, from memory that may be a ring.
Value last_of(const Value& memory, int dim, std::int64_t length, std::int64_t count);

/// Tensors that are appended to one another along one dimension.
template <int D>
struct TensorCache {
  Tensor<D> memory;         // has the full capacity; contents beyond `length` are undefined
  int dim = 0;              // the one that grows
  std::int64_t length = 0;  // the current size of `dim`
  std::int64_t most = 0;    // for a ring, which only has places for the last time steps: the largest length
  std::int64_t first = 0;   // the earliest time step that is still stored

  /// `shape[dim]` is the capacity.
  static TensorCache with_capacity(const Shape& shape, Dim dim, const Device& device, DType dtype = DType::F32) {
    return {Tensor<D>::zeros(shape, device, dtype), wrap_dim("TensorCache", dim, D), 0};
  }
  /// A cache of the last `places` of at most shape[dim] time steps.
  static TensorCache ring(Shape shape, Dim dim, std::int64_t places, const Device& device, DType dtype = DType::F32) {
    const int at = wrap_dim("TensorCache", dim, D);
    const std::int64_t most = shape[at];
    shape[at] = places;
    return {Tensor<D>::zeros(shape, device, dtype), at, 0, most};
  }
  bool is_ring() const { return most > 0; }
  std::int64_t places() const { return memory.dim(dim); }
  std::int64_t capacity() const { return is_ring() ? most : places(); }
  /// Appends x, converted to the cache's element type, and returns all(). Throws ShapeError if x has another shape,
  /// except along `dim`, or exceeds the capacity.
  Tensor<D> append(const Tensor<D>& x) {
    add(x);
    return all();
  }
  /// Appends x like append(), and returns nothing.
  void add(const Tensor<D>& x) {
    memory = Tensor<D>(is_ring() ? append_to_ring(memory.value(), dim, length, most, x.value())
                                 : append_to(memory.value(), dim, length, x.value()));
    length += x.dim(dim);
    first = std::max(first, length - places());
  }
  /// The time steps that are stored: a view, unless a ring has wrapped around.
  Tensor<D> all() const { return last(length - first); }
  /// The last `count` time steps. Throws ArgumentError if there are not as many.
  Tensor<D> last(std::int64_t count) const {
    require<ArgumentError>(count >= 0 && count <= length - first, "last: ", count, " of ", length - first,
                           " time steps");
    return Tensor<D>(last_of(memory.value(), dim, length, count));
  }
  /// all(), and memory behind it up to a multiple of kStride or the capacity, so that the shape rarely changes.
  /// There must be no ring.
  Tensor<D> all_and_more() const {
    return memory.narrow(dim, 0, std::min(capacity(), (length + kStride - 1) / kStride * kStride));
  }
  static constexpr std::int64_t kStride = 64;
};

/// Keys and values of one attention layer. A layer with a window has rings, whose memory does not grow with the
/// sequence.
struct KvCache {
  TensorCache<4> keys, values;             // [batch, kv_heads, time, width]
  std::optional<std::int64_t> reach = {};  // how many earlier time steps the next one sees; none: all

  std::int64_t length() const { return keys.length; }
  std::int64_t capacity() const { return keys.capacity(); }
  /// Replaces row i of the batch by row beams[i], as beam search needs; there may be more or fewer beams than rows.
  /// Throws IndexError.
  void reorder(const Tensor<1, Int>& beams);
  /// Forgets all but the first `length` time steps, for a draft that was rejected. Throws ArgumentError if there are
  /// not as many, or if a ring no longer has what the next time step needs to see: it keeps TensorCache::kStride spare
  /// time steps.
  void truncate(std::int64_t length);
};

/// The caches of a transformer's layers.
struct TransformerCache {
  std::vector<KvCache> attention;  // each layer's self-attention
  // A decoder's cross-attention: keys and values of the encoder's output, which do not grow.
  std::vector<KvCache> context;

  /// How many time steps the caches hold.
  std::int64_t length() const { return attention.empty() ? 0 : attention.front().length(); }
  /// These do what KvCache's do; if they throw, nothing has changed.
  void reorder(const Tensor<1, Int>& beams);
  void truncate(std::int64_t length);
};

}  // namespace kiln::nn
