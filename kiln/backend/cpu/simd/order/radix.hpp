// Sorts keys together with their indices. No two items are equal, so the sorted order does not depend on the algorithm
// or the number of threads.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/simd/order/keys.hpp"
#include "kiln/core/grain.hpp"

namespace kiln::cpu::simd {

/// A key of at most 32 bits and an index below 2^32 in one word. Words are ordered by key, then by index.
struct Packed {
  std::uint64_t word;
  static Packed of(std::uint64_t key, std::int64_t index) { return {key << 32 | static_cast<std::uint64_t>(index)}; }
  std::uint64_t key() const { return word >> 32; }
  std::int64_t index() const { return static_cast<std::int64_t>(word & 0xffffffffu); }
  friend bool operator<(Packed a, Packed b) { return a.word < b.word; }
};
struct Wide {
  std::uint64_t bits;
  std::int64_t at;
  static Wide of(std::uint64_t key, std::int64_t index) { return {key, index}; }
  std::uint64_t key() const { return bits; }
  std::int64_t index() const { return at; }
  friend bool operator<(Wide a, Wide b) { return a.bits < b.bits || (a.bits == b.bits && a.at < b.at); }
};

inline constexpr std::int64_t kFewItems = 128;      // up to so many are sorted faster by comparisons
inline constexpr std::int64_t kManyItems = 16384;   // more do not stay in the first-level cache
inline constexpr std::int64_t kRadixPiece = 65536;  // the items that one thread moves at a time

/// How many items have each value of one digit of their keys. A digit is a byte.
using DigitCounts = std::array<std::int64_t, 256>;
template <class Item>
std::size_t digit_of(const Item& item, int byte) {
  return static_cast<std::size_t>(item.key() >> 8 * byte & 255);
}

/// radix_sort() on one thread, which counts all digits in one pass.
template <int kBytes, class Item>
Item* radix_sort_alone(Item* items, Item* scratch, std::int64_t count) {
  std::array<DigitCounts, kBytes> counts{};
  for (std::int64_t i = 0; i < count; ++i)
    for (int byte = 0; byte < kBytes; ++byte) ++counts[static_cast<std::size_t>(byte)][digit_of(items[i], byte)];
  for (int byte = 0; byte < kBytes; ++byte) {
    DigitCounts& places = counts[static_cast<std::size_t>(byte)];
    if (places[digit_of(items[0], byte)] == count) continue;
    std::int64_t next = 0;
    for (std::int64_t& place : places) next += std::exchange(place, next);
    for (std::int64_t i = 0; i < count; ++i) scratch[places[digit_of(items[i], byte)]++] = items[i];
    std::swap(items, scratch);
  }
  return items;
}

/// Sorts items by their keys of kBytes bytes. The items must come in ascending order of their indices. Each pass is a
/// stable sort by one byte, the least significant byte first. Returns the buffer, of `items` and `scratch`, that has
/// the result.
template <int kBytes, class Item>
Item* radix_sort(Item* items, Item* scratch, std::int64_t count) {
  if (count <= limited_grain(kFewItems)) {
    std::sort(items, items + count);
    return items;
  }
  if (num_threads() == 1 && count > limited_grain(kManyItems)) return radix_sort_alone<kBytes>(items, scratch, count);
  const std::int64_t piece = limited_grain(kRadixPiece), pieces = (count + piece - 1) / piece;
  std::vector<DigitCounts> counts(static_cast<std::size_t>(pieces));
  for (int byte = 0; byte < kBytes; ++byte) {
    parallel_chunks(count, piece, [&](std::int64_t begin, std::int64_t end) {
      DigitCounts& own = counts[static_cast<std::size_t>(begin / piece)];
      own.fill(0);
      for (std::int64_t i = begin; i < end; ++i) ++own[digit_of(items[i], byte)];
    });
    // Turn counts into the position at which each piece puts its first item of each digit.
    std::int64_t next = 0, most = 0;
    for (std::size_t d = 0; d < 256; ++d) {
      const std::int64_t first = next;
      for (DigitCounts& own : counts) next += std::exchange(own[d], next);
      most = std::max(most, next - first);
    }
    if (most == count) continue;
    parallel_chunks(count, piece, [&](std::int64_t begin, std::int64_t end) {
      DigitCounts& own = counts[static_cast<std::size_t>(begin / piece)];
      for (std::int64_t i = begin; i < end; ++i) scratch[own[digit_of(items[i], byte)]++] = items[i];
    });
    std::swap(items, scratch);
  }
  return items;
}

/// Makes the items of a line, in the order of the line.
template <class Item, class T>
void make_items(const T* x, std::int64_t count, bool descending, Item* items) {
  constexpr std::int64_t kBlock = 1024;
  parallel_for(count, kRadixPiece, [&](std::int64_t begin, std::int64_t end) {
    Key<T> keys[kBlock];
    const auto& kernels = order_kernels<T>();
    for (; begin < end; begin += kBlock) {
      const std::int64_t size = std::min(end - begin, kBlock);
      kernels.keys(x + begin, size, descending, keys);
      for (std::int64_t i = 0; i < size; ++i) items[begin + i] = Item::of(keys[i], begin + i);
    }
  });
}

/// Calls f with the item type that can hold the keys of T and the indices of a line of this length.
template <class T, class F>
void visit_item(std::int64_t length, F&& f) {
  if constexpr (sizeof(T) <= 4)
    if (length <= std::int64_t{1} << 32) return f.template operator()<Packed>();
  f.template operator()<Wide>();
}

/// Writes the elements and indices of sorted items. If there are many, an element is computed from its key where that
/// is possible, which saves a random access to x.
template <class T, class Item>
void write_items(const T* x, const Item* items, std::int64_t count, bool descending, T* values, std::int64_t* indices) {
  const auto write = [&](auto&& element) {
    parallel_for(count, kRadixPiece, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        values[i] = element(items[i]);
        indices[i] = items[i].index();
      }
    });
  };
  if (count <= limited_grain(kManyItems)) return write([x](Item item) { return x[item.index()]; });
  const auto flipped = static_cast<Key<T>>(descending ? ~Key<T>{0} : Key<T>{0});
  write([=](Item item) {
    const auto key = static_cast<Key<T>>(static_cast<Key<T>>(item.key()) ^ flipped);
    return is_unique_key<T>(key) ? element_of<T>(key) : x[item.index()];
  });
}

/// Calls line(i) for each of `lines`: several at a time on different threads, or one after the other if they are few
/// and long, so that the loops within a line are split over the threads.
template <class F>
void each_line(std::int64_t lines, std::int64_t length, F&& line) {
  if (lines < 8 && length > 2 * limited_grain(kRadixPiece)) {
    for (std::int64_t i = 0; i < lines; ++i) line(i);
    return;
  }
  parallel_for(lines, std::max<std::int64_t>(1, 8192 / length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) line(i);
  });
}

/// Calls line<Item>(x, length, values, indices) for each line of an operand along `dim`; the results of a line are as
/// long as those of the call. T is the element type, uint8 for booleans.
template <class F>
void order_lines(Call call, int dim, F&& line) {
  const Dims order = strides_along(call.out[0].shape(), dim);
  const Array values = allocate(call.out[0], order), indices = allocate(call.out[1], order);
  if (values.numel() == 0) return;
  Value held;
  const std::byte* x = read_along(call.in[0], dim, held);
  const std::int64_t length = call.in[0].dim(dim), count = values.shape[dim];
  visit_dtype(values.dtype, [&]<class E>(TypeTag<E>) {
    using T = std::conditional_t<std::is_same_v<E, bool>, std::uint8_t, E>;
    visit_item<T>(length, [&]<class Item>() {
      each_line(values.numel() / count, length, [&](std::int64_t i) {
        line.template operator()<Item>(reinterpret_cast<const T*>(x) + i * length, length, values.as<T>() + i * count,
                                       indices.as<std::int64_t>() + i * count);
      });
    });
  });
}

}  // namespace kiln::cpu::simd
