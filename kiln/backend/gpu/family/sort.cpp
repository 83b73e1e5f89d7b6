// Lines that fit into shared memory are sorted there, by one block each. For longer lines blocks sort tiles; if only
// the first few elements are wanted, the first few of each tile are sorted again, otherwise lines are sorted by digits.
#include "kiln/backend/gpu/family/sort.hpp"

#include <algorithm>
#include <bit>

#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

constexpr std::int32_t kNoPlace = 0x7fffffff;  // the place of padding in a tile, after all others

bool is_wide(DType key) { return key == DType::U64; }

/// Keys with places in shared memory: in one word, or in two if keys have 64 bits.
class Tile {
 public:
  Tile(Builder& k, DType key, int size) : k_(k), wide_(is_wide(key)), words_(k.shared(DType::U64, size)) {
    if (wide_) places_ = k.shared(DType::I32, size);
  }
  struct Pair {
    Expr word, place;  // the place is part of a narrow key's word
  };
  Pair pair(const Expr& key, const Expr& place) const {
    if (wide_) return {key, place};
    return {key.as(DType::U64) << 32 | place.as(DType::U64), {}};
  }
  Expr key(const Pair& pair) const { return wide_ ? pair.word : (pair.word >> 32).as(DType::U32); }
  Expr place(const Pair& pair) const { return wide_ ? pair.place : pair.word.as(DType::I32); }
  Pair at(const Expr& i) const { return {words_[i], wide_ ? (*places_)[i] : Expr()}; }
  void set(const Expr& i, const Pair& pair) const {
    words_.store(i, pair.word);
    if (wide_) places_->store(i, pair.place);
  }
  Expr less(const Pair& a, const Pair& b) const {
    if (!wide_) return a.word < b.word;
    return (a.word < b.word) | ((a.word == b.word) & (a.place < b.place));
  }

  /// Batcher's bitonic sort ("Sorting networks and their applications", 1968). It must be called between barriers.
  void sort(int size) const {
    const int pairs = size / 2;
    const Local run = k_.variable(k_.literal(DType::I32, 2));
    k_.loop_while([&] { return run <= size; },
                  [&] {
                    const Local apart = k_.variable(run / 2);
                    k_.loop_while([&] { return apart > 0; },
                                  [&] {
                                    const Expr step = apart, length = run;
                                    k_.loop(k_.thread(), k_.literal(DType::I32, pairs),
                                            k_.literal(DType::I32, k_.threads()), [&](const Expr& p) {
                                              const Expr i = p * 2 - (p & (step - 1)), j = i + step;
                                              const Pair a = at(i), b = at(j);
                                              k_.when(less(b, a) == ((i & length) == 0), [&] {
                                                set(i, b);
                                                set(j, a);
                                              });
                                            });
                                    k_.barrier();
                                    apart.set(apart / 2);
                                  });
                    run.set(run * 2);
                  });
  }

 private:
  Builder& k_;
  bool wide_;
  Shared words_;
  std::optional<Shared> places_;
};

/// A block sorts a tile of a line and keeps its first few elements.
struct TileSortKernel {
  DType dtype, key;  // types of elements and of their sort keys
  bool descending;
  bool from_pairs, to_pairs;  // keys and places, or elements
  bool with_places;           // pairs come with places; otherwise a pair's place is where it is
  int size;                   // number of elements of a tile: a power of two
  int most_threads;

  int threads() const { return std::clamp(size / 2, kLanes, most_threads); }

  Kernel kernel() const {
    Builder k("sort", threads());
    const Buffer x = from_pairs ? Buffer() : k.input(dtype);
    const Buffer keys = from_pairs ? k.input(key) : Buffer();
    const Buffer places = from_pairs && with_places ? k.input(DType::I32) : Buffer();
    // Elements are copied unchanged, with all bits of a NaN.
    const DType word = word_of(size_of(dtype));
    const Buffer elements = to_pairs ? Buffer() : k.input(word);
    const Buffer out = k.output(to_pairs ? key : word), out_places = k.output(to_pairs ? DType::I32 : DType::I64);
    // The length of lines, the tiles of a line, how many elements of each are kept, and the length of x's lines.
    const Expr length = k.number(DType::I64), tiles = k.number(DType::I64), kept = k.number(DType::I64);
    const Expr x_length = k.number(DType::I64);
    const Tile tile(k, key, size);

    const Expr block = k.block().as(DType::I64), line = block / tiles, first = block % tiles * size;
    const Expr every = k.literal(DType::I32, threads());
    k.loop(k.thread(), k.literal(DType::I32, size), every, [&](const Expr& i) {
      const Expr place = first + i.as(DType::I64), at = line * length + place;
      k.when(
          place < length,
          [&] {
            const Expr number = places_of(places, at, place);
            tile.set(i, tile.pair(from_pairs ? keys[at] : key_of(k, x[at], dtype, descending), number));
          },
          [&] { tile.set(i, tile.pair(!k.literal(key, 0), k.literal(DType::I32, kNoPlace))); });
    });
    k.barrier();
    tile.sort(size);
    k.loop(k.thread(), min(kept, k.literal(DType::I64, size)).as(DType::I32), every, [&](const Expr& i) {
      const Tile::Pair pair = tile.at(i);
      const Expr at = block * kept + i.as(DType::I64), place = tile.place(pair);
      if (to_pairs) {
        out.store(at, tile.key(pair));
        out_places.store(at, place);
        return;
      }
      out.store(at, elements[line * x_length + place.as(DType::I64)]);
      out_places.store(at, place.as(DType::I64));
    });
    return k.finish();
  }

 private:
  Expr places_of(const Buffer& places, const Expr& at, const Expr& place) const {
    return from_pairs && with_places ? places[at] : place.as(DType::I32);
  }
};

/// Reads the elements of x at the sorted places.
struct PlacedKernel {
  DType word;

  Kernel kernel() const {
    Builder k("placed", 256);
    const Buffer x = k.input(word), places = k.input(DType::I32), values = k.output(word), z = k.output(DType::I64);
    const Expr count = k.number(DType::I64), length = k.number(DType::I64), kept = k.number(DType::I64);
    const Expr i = k.block().as(DType::I64) * 256 + k.thread().as(DType::I64);
    k.when(i < count, [&] {
      const Expr line = i / kept, place = places[line * length + i % kept].as(DType::I64);
      values.store(i, x[line * length + place]);
      z.store(i, place);
    });
    return k.finish();
  }
};

struct KeysKernel {
  DType dtype;
  bool descending;

  Kernel kernel() const {
    Builder k("keys", 256);
    const Buffer x = k.input(dtype), keys = k.output(key_type(dtype).dtype);
    const Expr count = k.number(DType::I64);
    const Expr i = k.block().as(DType::I64) * 256 + k.thread().as(DType::I64);
    k.when(i < count, [&] { keys.store(i, key_of(k, x[i], dtype, descending)); });
    return k.finish();
  }
};

/// The threads of a block that sorts a large tile.
int most_threads(const Gpu& gpu) { return std::min(512, gpu.driver().capabilities().most_threads); }

int tile_of(const Gpu& gpu, std::int64_t length, DType key) {
  const auto wanted = static_cast<std::uint64_t>(std::min(length, longest_tile(gpu, key)));
  return static_cast<int>(std::max<std::uint64_t>(std::bit_ceil(wanted), 2));
}

/// Keeps the first few of each tile, then the first few of those, until one tile has all that are left of a line.
void tournament(Gpu& gpu, const Array& x, DType key, bool descending, std::int64_t count, const Array& values,
                const Array& indices) {
  const std::int64_t lines = x.shape[0];
  std::int64_t length = x.shape[1];
  Value keys, places;
  for (bool first = true;; first = false) {
    const int size = tile_of(gpu, length, key);
    const std::int64_t tiles = blocks_for(length, size);
    const bool last = tiles == 1;
    std::vector<Argument> arguments;
    if (first) arguments.emplace_back(x);
    else arguments.insert(arguments.end(), {read(keys), read(places)});
    if (last) arguments.emplace_back(x);
    const Value next_keys = last ? Value() : gpu.scratch({{lines, tiles * count}, key}),
                next_places = last ? Value() : gpu.scratch({{lines, tiles * count}, DType::I32});
    arguments.insert(arguments.end(), {last ? values : read(next_keys), last ? indices : read(next_places), length,
                                       tiles, count, x.shape[1]});
    gpu.launch(TileSortKernel{x.dtype, key, descending, !first, !last, true, size, most_threads(gpu)}, lines * tiles,
               arguments);
    if (last) return;
    keys = next_keys;
    places = next_places;
    length = tiles * count;
  }
}

}  // namespace

std::int64_t longest_tile(const Gpu& gpu, DType key) {
  const std::int64_t room = gpu.driver().capabilities().shared_memory, each = is_wide(key) ? 12 : 8;
  std::int64_t longest = is_wide(key) ? 2048 : 4096;
  while (longest * each > room) longest /= 2;
  return longest;
}

KeyType key_type(DType dtype) {
  switch (dtype) {
    case DType::F64:
    case DType::I64:
    case DType::U64: return {DType::U64, 64};
    case DType::BF16:
    case DType::I16:
    case DType::U16: return {DType::U32, 16};
    case DType::F16: return {DType::U32, 19};  // sorted as a float32 whose last 13 digits are 0
    case DType::I8:
    case DType::U8: return {DType::U32, 8};
    case DType::Bool: return {DType::U32, 1};
    default: return {DType::U32, 32};
  }
}

Expr key_of(Builder& k, const Expr& element, DType dtype, bool descending) {
  const auto [word, bits] = key_type(dtype);
  const int all = word == DType::U64 ? 64 : 32;
  const Expr top = k.literal(word, 1) << (all - 1);
  Expr key;
  if (is_float(dtype)) {
    const Expr raw = select(element == 0, k.literal(word, 0), element.bits_as(word));
    const Expr ordered = select((raw & top) != 0, !raw, raw | top);
    key = select(element != element, !k.literal(word, 0), ordered) >> (all - bits);
  } else if (is_integer(dtype) && (dtype == DType::I64 || size_of(dtype) < 8) && dtype != DType::U32) {
    // Signed numbers are shifted to begin at 0; short unsigned ones are nonnegative int32 already.
    const bool is_signed = dtype == DType::I64 || dtype == DType::I32 || dtype == DType::I16 || dtype == DType::I8;
    const Expr raw = element.bits_as(word);
    key = is_signed ? raw + (k.literal(word, 1) << (bits - 1)) : raw;
  } else {
    key = element.bits_as(word);
  }
  if (!descending) return key;
  return bits == all ? !key : key ^ k.literal(word, (std::int64_t{1} << bits) - 1);
}

Sorted sort_keys(Gpu& gpu, const Value& keys, int bits) {
  const Array from = read(keys);
  if (from.shape[1] > longest_tile(gpu, from.dtype)) return radix_sort(gpu, keys, bits);
  const Sorted sorted{gpu.scratch(keys.node()->desc), gpu.scratch({from.shape, DType::I32})};
  const int size = tile_of(gpu, from.shape[1], from.dtype);
  gpu.launch(TileSortKernel{from.dtype, from.dtype, false, true, true, false, size, most_threads(gpu)}, from.shape[0],
             {from, read(sorted.keys), read(sorted.places), from.shape[1], 1, from.shape[1], from.shape[1]});
  return sorted;
}

void sort_lines(Gpu& gpu, const Array& x, bool descending, std::int64_t count, const Array& values,
                const Array& indices) {
  const std::int64_t lines = x.shape[0], length = x.shape[1];
  const KeyType key = key_type(x.dtype);
  const std::int64_t tile = longest_tile(gpu, key.dtype);
  if (length <= tile || count <= tile / 4) return tournament(gpu, x, key.dtype, descending, count, values, indices);
  const Value keys = gpu.scratch({x.shape, key.dtype});
  gpu.launch(KeysKernel{x.dtype, descending}, blocks_for(x.numel(), 256), {x, read(keys), x.numel()});
  const Sorted sorted = radix_sort(gpu, keys, key.bits);
  gpu.launch(PlacedKernel{word_of(size_of(x.dtype))}, blocks_for(lines * count, 256),
             {x, read(sorted.places), values, indices, lines * count, length, count});
}

}  // namespace kiln::gpu::family
