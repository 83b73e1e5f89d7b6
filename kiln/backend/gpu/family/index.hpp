// Where the elements of strided arrays lie, as kernels compute it.
#pragma once
#include <span>

#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// Of a block, where a kernel needs no other number.
inline constexpr int kThreads = 256;

/// Dimensions of a loop over elements, merged where all arrays allow it: what lies in one line in each is one dimension.
struct Loop {
  Shape sizes;                // none of size 1
  std::vector<Dims> strides;  // of each array
};
/// Of arrays that are seen with one shape (0 along what is repeated).
Loop merged(const Shape& shape, std::span<const Dims> strides);
/// The same of the dimensions in `order`, one inside the other.
Loop merged(const Shape& shape, std::span<const Dims> strides, const Dims& order);

/// A kernel's parameters that say where elements of such a loop lie: `rank` sizes, and as many strides for each array.
/// Indices of all are int32, or int64 where that does not suffice.
class Places {
 public:
  Places(Builder& k, DType index, int rank, int arrays);
  /// Where element i, counted in row-major order, of each array is.
  std::vector<Expr> of(const Expr& i) const;
  static void append(std::vector<Argument>& arguments, const Loop& loop);

 private:
  Builder* builder_;
  std::vector<Expr> sizes_;
  std::vector<std::vector<Expr>> strides_;
};

/// Do 32 bits suffice to count the elements, and for every place in the arrays?
DType index_type(const Loop& loop);
/// For numbers up to these?
DType index_type(std::initializer_list<std::int64_t> most);
DType index_type(std::int64_t count);

/// Dimensions from the one whose neighbours lie farthest apart to the nearest; as they come where that is the same.
Dims order_of(const Shape& shape, const Dims& strides);
/// Strides that cover `shape` without gaps, its dimensions in such an order.
Dims dense_strides(const Shape& shape, const Dims& order);
/// The indices, by dimension, of element i of all `sizes`, counted with the last of `order` running fastest.
std::vector<Expr> unravel(const Expr& i, std::span<const Expr> sizes, const Dims& order);

/// How a kernel finds the neighbours of an element in an operand.
enum class Lies : std::uint8_t { Number, InLine, Repeated, Apart };
/// How many neighbours along the last dimension a thread can take: they lie in line, or are one, in every array, and no
/// item crosses a line.
int width_of(const Loop& loop, std::span<const Array> arrays);
/// `width` neighbours from element `at` on, and the same to store.
std::vector<Expr> load_line(const Buffer& from, const Expr& at, int width);
void store_line(const Buffer& to, const Expr& at, std::span<const Expr> values);

/// The unsigned integer of so many bytes, as which elements travel whose numbers nobody asks for.
DType word_of(std::size_t bytes);
/// How many bytes of an item, 16 at most, can travel at once: in every array that is `moved` (its address; null: what is
/// not, and does not change along a line) they lie in line, aligned, and no item crosses a line. The loop counts items
/// from then on, and places are in items of the arrays that are moved.
std::size_t widen(Loop& loop, std::size_t element, std::span<const std::byte* const> moved);

/// Stores neighbours from `first` on, those that lie before `count`: at once if all do. As many as 16 bytes hold, or a
/// multiple; `first` is a multiple of that too.
void store_before(Builder& k, const Buffer& to, const Expr& first, const Expr& count, std::span<const Expr> values);

}  // namespace kiln::gpu::family
