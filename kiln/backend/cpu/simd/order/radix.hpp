// Sorting keys that carry the places they came from. No two items are equal, so there is one sorted order, whatever the
// algorithm and the number of threads.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/simd/order/keys.hpp"
#include "kiln/core/grain.hpp"

namespace kiln::cpu::simd {

/// A key of at most 32 bits and a place below 2^32 in one word: the order of words is that of keys, then of places.
struct Packed {
  std::uint64_t word;
  static Packed of(std::uint64_t key, std::int64_t place) { return {key << 32 | static_cast<std::uint64_t>(place)}; }
  std::uint64_t key() const { return word >> 32; }
  std::int64_t place() const { return static_cast<std::int64_t>(word & 0xffffffffu); }
  friend bool operator<(Packed a, Packed b) { return a.word < b.word; }
};
struct Wide {
  std::uint64_t bits;
  std::int64_t at;
  static Wide of(std::uint64_t key, std::int64_t place) { return {key, place}; }
  std::uint64_t key() const { return bits; }
  std::int64_t place() const { return at; }
  friend bool operator<(Wide a, Wide b) { return a.bits < b.bits || (a.bits == b.bits && a.at < b.at); }
};

inline constexpr std::int64_t kFewItems = 128;      // are sorted faster by comparing
inline constexpr std::int64_t kRadixPiece = 65536;  // items that one thread moves at a time

/// Sorts items whose places ascend by their keys of `bytes` bytes: least significant byte first, each pass keeping the
/// order of the one before. Answers which of the two buffers has the result.
template <class Item>
Item* radix_sort(Item* items, Item* scratch, std::int64_t count, int bytes) {
  if (count <= limited_grain(kFewItems)) {
    std::sort(items, items + count);
    return items;
  }
  using Counts = std::array<std::int64_t, 256>;
  const std::int64_t piece = limited_grain(kRadixPiece), pieces = (count + piece - 1) / piece;
  std::vector<Counts> counts(static_cast<std::size_t>(pieces));
  for (int byte = 0; byte < bytes; ++byte) {
    const auto digit = [shift = 8 * byte](const Item& item) {
      return static_cast<std::size_t>(item.key() >> shift & 255);
    };
    parallel_pieces(count, piece, [&](std::int64_t begin, std::int64_t end) {
      Counts& own = counts[static_cast<std::size_t>(begin / piece)];
      own.fill(0);
      for (std::int64_t i = begin; i < end; ++i) ++own[digit(items[i])];
    });
    // Where each piece puts its first item with each digit.
    std::int64_t next = 0, most = 0;
    for (std::size_t d = 0; d < 256; ++d) {
      const std::int64_t first = next;
      for (Counts& own : counts) next += std::exchange(own[d], next);
      most = std::max(most, next - first);
    }
    if (most == count) continue;
    parallel_pieces(count, piece, [&](std::int64_t begin, std::int64_t end) {
      Counts& own = counts[static_cast<std::size_t>(begin / piece)];
      for (std::int64_t i = begin; i < end; ++i) scratch[own[digit(items[i])]++] = items[i];
    });
    std::swap(items, scratch);
  }
  return items;
}

/// The items of a line, in its order.
template <class Item, class T>
void make_items(const T* x, std::int64_t count, bool descending, Item* items) {
  constexpr std::int64_t kBlock = 1024;
  parallel_for(count, kRadixPiece, [&](std::int64_t begin, std::int64_t end) {
    Key<T> keys[kBlock];
    for (; begin < end; begin += kBlock) {
      const std::int64_t size = std::min(end - begin, kBlock);
      order_keys<T>(x + begin, size, descending, keys);
      for (std::int64_t i = 0; i < size; ++i) items[begin + i] = Item::of(keys[i], begin + i);
    }
  });
}

/// Calls f of an item type that holds the keys of T and the places of a line this long.
template <class T, class F>
void visit_item(std::int64_t length, F&& f) {
  if constexpr (sizeof(T) <= 4)
    if (length <= std::int64_t{1} << 32) return f.template operator()<Packed>();
  f.template operator()<Wide>();
}

/// What sorted items say: the elements and where they stood.
template <class T, class Item>
void write_items(const T* x, const Item* items, std::int64_t count, T* values, std::int64_t* indices) {
  parallel_for(count, kRadixPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      values[i] = x[items[i].place()];
      indices[i] = items[i].place();
    }
  });
}

/// Calls line(i) for each of `lines`: several at a time, or one after the other if they are few and long, so that
/// their own loops are split over the threads.
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

}  // namespace kiln::cpu::simd
