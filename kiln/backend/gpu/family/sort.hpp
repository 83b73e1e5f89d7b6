// Sorts lines, for all ops that need an order: stable, by keys that are unsigned integers, each with the element's
// place in its line.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// The sort key of elements of a type: an unsigned integer, uint32 or uint64, of `bits` bits. NaN is the largest
/// number, and -0 equals 0.
struct KeyType {
  DType dtype;
  int bits;
};
KeyType key_type(DType dtype);
/// The key of a loaded element; its complement for a descending order.
Expr key_of(Builder& k, const Expr& element, DType dtype, bool descending);

/// The longest line that one block sorts in its shared memory.
std::int64_t longest_tile(const Gpu& gpu, DType key);
/// The most elements of a line.
inline constexpr std::int64_t kLongestLine = (std::int64_t{1} << 31) - 1;

struct Sorted {
  Value keys;    // [lines, length]
  Value places;  // [lines, length], int32
};
/// Sorts keys [lines, length], uint32 or uint64, by their lowest `bits` bits; the others are 0.
Sorted sort_keys(Gpu& gpu, const Value& keys, int bits);

/// The first `count` of each sorted line of x [lines, length], row-major, in `values` and `indices`: [lines, count].
void sort_lines(Gpu& gpu, const Array& x, bool descending, std::int64_t count, const Array& values,
                const Array& indices);

/// Sorts by digits, from the last to the first (radix.cpp); lines may have any length.
Sorted radix_sort(Gpu& gpu, const Value& keys, int bits);

}  // namespace kiln::gpu::family
