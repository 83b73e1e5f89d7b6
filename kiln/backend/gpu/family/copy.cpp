// Copies between memory orders: 16 bytes at a time where lines of both arrays allow it, through shared memory where a
// line of one is a column of the other.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

/// Copies items between any strides: `width` words, or one word that is repeated `width` times.
struct CopyKernel {
  DType word, index;
  int rank, width;
  bool repeated;

  Kernel kernel() const {
    Builder k("copy", kThreads);
    const Buffer from = k.input(word), to = k.output(word);
    const Expr count = k.number(index);
    const Offsets places(k, index, rank, 2);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = places.of(i);
      if (repeated) to.store(at[1] * width, std::vector<Expr>(static_cast<std::size_t>(width), from[at[0]]));
      else to.store(at[1] * width, from.load(at[0] * width, width));
    });
    return k.finish();
  }
};

/// Transposes matrices, whose lines in `from` are columns in `to`, by tiles: read along the lines of `from` and written
/// along those of `to`, several adjacent elements at a time.
struct TransposeKernel {
  DType word, index;
  int others;  // further dimensions
  int read_width, write_width;
  int side;  // lines and columns of a tile

  /// Padding, so that lines of the tile begin in different banks of shared memory.
  static int pitch_of(int side, std::size_t element) { return side + std::max(1, 4 / static_cast<int>(element)); }
  static int side_of(const Gpu& gpu, std::size_t element) {
    const Capabilities& has = gpu.driver().capabilities();
    // Short elements that shared memory does not hold have words of their own there.
    const std::size_t bytes = has.shares.has(word_of(element)) ? element : std::max<std::size_t>(element, 4);
    return element == 8 || 64 * pitch_of(64, element) * static_cast<std::int64_t>(bytes) > has.shared_memory ? 32 : 64;
  }

  Kernel kernel() const {
    const int pitch = pitch_of(side, size_of(word));
    Builder k("transpose", kThreads);
    const Buffer from = k.input(word), to = k.output(word);
    const Expr lines = k.number(index), columns = k.number(index);  // lines and columns of `from`
    // Strides of its lines, and of its columns in `to`.
    const Expr from_stride = k.number(index), to_stride = k.number(index);
    const Expr tiles_down = k.number(index), tiles_across = k.number(index);
    const Offsets places(k, index, others, 2);
    const Shared shared = k.shared(word, side * pitch);

    const Expr block = k.block().as(index), above = block / tiles_across;
    const Expr column = block % tiles_across * side, line = above % tiles_down * side;
    const std::vector<Expr> start = places.of(above / tiles_down);
    // Calls f(round, i, j) for the places (i, j) of the tile, with j a multiple of width
    const auto each = [&](int width, auto&& f) {
      const int across = side / width, rounds = std::max(1, side * across / kThreads);
      for (int round = 0; round < rounds; ++round) {
        const Expr at = k.thread() + round * kThreads;
        const auto go = [&] { f(round, at / across, at % across * width); };
        if (side * across < kThreads) k.when(at < side * across, go);
        else go();
      }
    };
    const Local held = k.local(word, std::max(1, side * side / read_width / kThreads) * read_width);
    const auto inside = [&](const Expr& i, const Expr& j) {
      return (line + i.as(index) < lines) & (column + j.as(index) < columns);
    };
    // A thread issues all its loads before it waits for any of them.
    each(read_width, [&](int round, const Expr& i, const Expr& j) {
      k.when(inside(i, j), [&] {
        const Expr at = start[0] + (line + i.as(index)) * from_stride + column + j.as(index);
        const std::vector<Expr> loaded = from.load(at, read_width);
        for (int e = 0; e < read_width; ++e) held.set(round * read_width + e, loaded[static_cast<std::size_t>(e)]);
      });
    });
    each(read_width, [&](int round, const Expr& i, const Expr& j) {
      k.when(inside(i, j), [&] {
        for (int e = 0; e < read_width; ++e) shared.store(i * pitch + j + e, held[round * read_width + e]);
      });
    });
    k.barrier();
    each(write_width, [&](int, const Expr& j, const Expr& i) {
      k.when(inside(i, j), [&] {
        std::vector<Expr> values;
        for (int e = 0; e < write_width; ++e) values.push_back(shared[(i + e) * pitch + j]);
        to.store(start[1] + (column + j.as(index)) * to_stride + line + i.as(index), values);
      });
    });
    return k.finish();
  }
};

/// How many elements can be moved at once along a contiguous dimension: sizes and other strides must be multiples of
/// it.
int width_along(int dim, const Loop& loop, const Dims& strides, const std::byte* address, std::size_t element) {
  for (std::size_t bytes = 16; bytes > element; bytes /= 2) {
    const auto count = static_cast<std::int64_t>(bytes / element);
    bool fits = loop.sizes[dim] % count == 0 && is_aligned(address, bytes);
    for (int other = 0; other < strides.size(); ++other) fits &= other == dim || strides[other] % count == 0;
    if (fits) return static_cast<int>(count);
  }
  return 1;
}

/// Returns false if the copy is not a transpose of two contiguous dimensions.
bool transpose(Gpu& gpu, const Loop& loop, const Array& from, const Array& to) {
  constexpr std::int64_t kLeast = 8;  // smaller sides are not worth a tile
  const int rank = loop.sizes.size(), down = rank - 1;
  int across = -1;
  for (int dim = 0; dim < down; ++dim)
    if (loop.strides[0][dim] == 1) across = dim;
  if (across < 0 || loop.strides[1][down] != 1) return false;
  if (loop.sizes[across] < kLeast || loop.sizes[down] < kLeast) return false;

  const std::size_t element = size_of(from.dtype);
  const int side = TransposeKernel::side_of(gpu, element);
  Loop others;
  others.strides.resize(2);
  for (int dim = 0; dim < down; ++dim) {
    if (dim == across) continue;
    others.sizes.push_back(loop.sizes[dim]);
    for (std::size_t a = 0; a < 2; ++a) others.strides[a].push_back(loop.strides[a][dim]);
  }
  const std::int64_t tiles_down = blocks_for(loop.sizes[down], side),
                     tiles_across = blocks_for(loop.sizes[across], side);
  const TransposeKernel kernel{word_of(element),
                               index_type(loop),
                               others.sizes.size(),
                               width_along(across, loop, loop.strides[0], from.data, element),
                               width_along(down, loop, loop.strides[1], to.data, element),
                               side};
  std::vector<Argument> arguments{
      from,       to,          loop.sizes[down], loop.sizes[across], loop.strides[0][down], loop.strides[1][across],
      tiles_down, tiles_across};
  Offsets::append(arguments, others);
  gpu.launch(kernel, numel(others.sizes) * tiles_down * tiles_across, arguments);
  return true;
}

/// Reorders the dimensions of both arrays to the memory order of `to`, so that writes are contiguous.
Loop in_order_of(const Array& to, const Array& from) {
  std::vector<int> order(static_cast<std::size_t>(to.shape.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return std::abs(to.strides[a]) > std::abs(to.strides[b]); });
  Shape shape;
  Dims strides[2];
  for (const int dim : order) {
    shape.push_back(to.shape[dim]);
    strides[0].push_back(from.strides[dim]);
    strides[1].push_back(to.strides[dim]);
  }
  return merged(shape, strides);
}

}  // namespace

void copy(Gpu& gpu, const Array& from, const Array& to) {
  const std::int64_t count = from.numel();
  if (count == 0) return;
  if (strided::same_order(from.shape, from.strides, to.strides) && strided::is_dense(from.shape, from.strides))
    return gpu.driver().copy(to.data, from.data, static_cast<std::size_t>(count) * size_of(from.dtype));
  Loop loop = in_order_of(to, from);
  if (transpose(gpu, loop, from, to)) return;
  const DType index = index_type(loop);  // counted in elements, since a repeated word is stored element by element
  const std::size_t element = size_of(from.dtype);
  const bool repeated = !loop.sizes.empty() && loop.strides[0].back() == 0;
  const std::byte* const moved[] = {repeated ? nullptr : from.data, to.data};
  const std::size_t bytes = widen(loop, element, moved);
  const std::size_t word = repeated ? element : std::min<std::size_t>(bytes, 8);
  const std::int64_t items = numel(loop.sizes);
  std::vector<Argument> arguments{from, to, items};
  Offsets::append(arguments, loop);
  gpu.launch(CopyKernel{word_of(word), index, loop.sizes.size(), static_cast<int>(bytes / word), repeated},
             blocks_for(items, kThreads), arguments);
}

}  // namespace kiln::gpu::family
