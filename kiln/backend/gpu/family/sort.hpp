// Sorting of lines, shared by all that needs an order: stable, by keys that are unsigned integers, with the place in its
// line at which each element stood.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// What elements of a type are ordered by: an unsigned integer, uint32 or uint64, of `bits` bits. NaN is the largest
/// number, -0 equals 0.
struct KeyType {
  DType dtype;
  int bits;
};
KeyType key_type(DType dtype);
/// An element as it is loaded, as its key; for a descending order the complement of that.
Expr key_of(Builder& k, const Expr& element, DType dtype, bool descending);

/// The longest line that one block sorts in its shared memory.
std::int64_t longest_tile(DType key);
/// Lines are of at most so many elements.
inline constexpr std::int64_t kLongestLine = (std::int64_t{1} << 31) - 1;

struct Sorted {
  Value keys;    // [lines, length]
  Value places;  // likewise, int32
};
/// Of keys [lines, length], uint32 or uint64, of which the lowest `bits` bits say all.
Sorted sort_keys(Gpu& gpu, const Value& keys, int bits);

/// The first `count` of each line of x [lines, length], in row-major order, into `values` and `indices`: [lines, count].
void sort_lines(Gpu& gpu, const Array& x, bool descending, std::int64_t count, const Array& values,
                const Array& indices);

/// By digits, from the last to the first (radix.cpp): for lines of any length.
Sorted radix_sort(Gpu& gpu, const Value& keys, int bits);

}  // namespace kiln::gpu::family
