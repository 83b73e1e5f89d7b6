// Finds the first k elements of a line in order without sorting all of it. One pass collects the elements that come
// before the k-th one so far; whenever enough are collected, a better k-th one is selected from them.
#include <algorithm>

#include "kiln/backend/cpu/simd/order/radix.hpp"
#include "kiln/ops/reduce/order_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kBlock = 256;  // elements whose keys are computed and compared together

constexpr std::int64_t kVeryFew = 16;  // up to so many are kept sorted during the pass

/// collect() for k of at most kVeryFew.
template <class Item, class T>
std::int64_t collect_few(const T* x, std::int64_t begin, std::int64_t end, std::int64_t k, bool largest,
                         std::vector<Item>& found) {
  constexpr std::int64_t kSome = 64;  // a small block is more often skipped as a whole
  Item first[kVeryFew + 1];
  std::int64_t count = 0;
  Key<T> keys[kSome];
  const auto& kernels = order_kernels<T>();
  for (; begin < end; begin += kSome) {
    const std::int64_t size = std::min(end - begin, kSome);
    kernels.keys(x + begin, size, largest, keys);
    if (count == k && !kernels.any_below(keys, size, static_cast<Key<T>>(first[k - 1].key()))) continue;
    for (std::int64_t i = 0; i < size; ++i) {
      if (count == k && keys[i] >= first[k - 1].key()) continue;
      const Item item = Item::of(keys[i], begin + i);
      std::int64_t at = count;
      for (; at > 0 && item < first[at - 1]; --at) first[at] = first[at - 1];
      first[at] = item;
      count = std::min(count + 1, k);
    }
  }
  found.assign(first, first + count);
  return count;
}

/// Puts the first k of the elements [begin, end) of a line to the front of `found`, in any order. Returns how many
/// these are.
template <class Item, class T>
std::int64_t collect(const T* x, std::int64_t begin, std::int64_t end, std::int64_t k, bool largest,
                     std::vector<Item>& found) {
  if (k <= kVeryFew) return collect_few(x, begin, end, k, largest, found);
  const auto capacity = static_cast<std::size_t>(std::max(2 * k, k + kBlock));
  const auto front = static_cast<std::ptrdiff_t>(k);
  found.clear();
  found.reserve(capacity + kBlock);
  std::uint64_t limit = 0;
  bool limited = false;
  Key<T> keys[kBlock];
  const auto& kernels = order_kernels<T>();
  for (; begin < end; begin += kBlock) {
    const std::int64_t size = std::min(end - begin, kBlock);
    kernels.keys(x + begin, size, largest, keys);
    // Among equal keys earlier elements come first, so a key that equals the limit comes too late.
    if (limited && !kernels.any_below(keys, size, static_cast<Key<T>>(limit))) continue;
    for (std::int64_t i = 0; i < size; ++i)
      if (!limited || keys[i] < limit) found.push_back(Item::of(keys[i], begin + i));
    if (found.size() < capacity) continue;
    std::nth_element(found.begin(), found.begin() + front - 1, found.end());
    found.resize(static_cast<std::size_t>(k));
    limit = found.back().key();
    limited = true;
  }
  const auto count = static_cast<std::int64_t>(found.size());
  if (count <= k) return count;
  std::nth_element(found.begin(), found.begin() + front - 1, found.end());
  return k;
}

template <class Item, class T>
void first_of_line(const T* x, std::int64_t length, std::int64_t k, bool largest, T* values, std::int64_t* indices) {
  std::vector<Item> found;
  if (4 * k > length) {
    found.resize(static_cast<std::size_t>(2 * length));
    make_items(x, length, largest, found.data());
    write_items(x, radix_sort<sizeof(T)>(found.data(), found.data() + length, length), k, largest, values, indices);
    return;
  }
  if (length > 2 * limited_grain(kRadixPiece) && 16 * k < kRadixPiece) {
    const std::int64_t piece = limited_grain(kRadixPiece), pieces = (length + piece - 1) / piece;
    std::vector<std::vector<Item>> parts(static_cast<std::size_t>(pieces));
    parallel_chunks(length, piece, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Item>& part = parts[static_cast<std::size_t>(begin / piece)];
      part.resize(static_cast<std::size_t>(collect(x, begin, end, k, largest, part)));
    });
    for (const std::vector<Item>& part : parts) found.insert(found.end(), part.begin(), part.end());
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k - 1), found.end());
  } else {
    collect(x, 0, length, k, largest, found);
  }
  std::sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k));
  write_items(x, found.data(), k, largest, values, indices);
}

}  // namespace

bool run(const op::TopK& op, Call call) {
  order_lines(call, op.dim,
              [&]<class Item, class T>(const T* x, std::int64_t length, T* values, std::int64_t* indices) {
                first_of_line<Item>(x, length, op.k, op.largest, values, indices);
              });
  return true;
}

}  // namespace kiln::cpu::simd
