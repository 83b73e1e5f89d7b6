// Offsets of the elements of strided arrays, as kernels compute them.
#pragma once
#include <span>

#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// Threads per block, unless a kernel needs another number.
inline constexpr int kThreads = 256;

/// The dimensions of a loop over elements, merged where all arrays allow it: dimensions that are contiguous in each are
/// one.
struct Loop {
  Shape sizes;                // none of size 1
  std::vector<Dims> strides;  // those of each array
};
/// Merges the dimensions of arrays that are broadcast to one shape (stride 0 where they are repeated).
Loop merged(const Shape& shape, std::span<const Dims> strides);
/// Merges only the dimensions in `order`, outermost first.
Loop merged(const Shape& shape, std::span<const Dims> strides, const Dims& order);

/// Parameters of a kernel that give the offsets of such a loop's elements: `rank` sizes, and as many strides for each
/// array. All indices are int32, or int64 where that is too small.
class Offsets {
 public:
  Offsets(Builder& k, DType index, int rank, int arrays);
  /// The offset of element i, counted in row-major order, in each array.
  std::vector<Expr> of(const Expr& i) const;
  static void append(std::vector<Argument>& arguments, const Loop& loop);

 private:
  Builder* builder_;
  std::vector<Expr> sizes_;
  std::vector<std::vector<Expr>> strides_;
};

/// int32 if it can count the elements and hold every offset in the arrays, else int64.
DType index_type(const Loop& loop);
/// int32 if it can hold these numbers, else int64.
DType index_type(std::initializer_list<std::int64_t> most);
DType index_type(std::int64_t count);

/// Dimensions by descending stride; dimensions of equal stride keep their order.
Dims order_of(const Shape& shape, const Dims& strides);
/// Strides that cover `shape` without gaps, with its dimensions in that order.
Dims dense_strides(const Shape& shape, const Dims& order);
/// The index in each dimension of element i of all `sizes`, counted with the last of `order` running fastest.
std::vector<Expr> unravel(const Expr& i, std::span<const Expr> sizes, const Dims& order);

/// How a kernel finds the neighbours of an element in an operand: a number, contiguous, one element repeated, or
/// strided.
enum class Layout : std::uint8_t { Number, InLine, Repeated, Apart };
/// How many neighbours along the last dimension a thread can take: they are contiguous, or one repeated element, in
/// every array, and no item crosses a line.
int width_of(const Loop& loop, std::span<const Array> arrays);
/// load_line() loads `width` neighbours from element `at` on; store_line() stores neighbours.
std::vector<Expr> load_line(const Buffer& from, const Expr& at, int width);
void store_line(const Buffer& to, const Expr& at, std::span<const Expr> values);

/// The unsigned integer type of `bytes` bytes, for copying elements whose values do not matter.
DType word_of(std::size_t bytes);
/// How many bytes of an item, 16 at most, can be moved at once: in every array in `moved` (its address; null for an
/// array that is not moved and does not change along a line) they are contiguous and aligned, and no item crosses a
/// line. Afterwards the loop counts items, and offsets are in items of the moved arrays.
std::size_t widen(Loop& loop, std::size_t element, std::span<const std::byte* const> moved);

/// Stores neighbours from `first` on, but only those before `count`: at once if all are. There are as many as 16 bytes
/// hold, or a multiple; `first` is a multiple of that too.
void store_before(Builder& k, const Buffer& to, const Expr& first, const Expr& count, std::span<const Expr> values);

}  // namespace kiln::gpu::family
