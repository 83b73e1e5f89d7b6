// Radix sort, from the last digit to the first; each pass is stable. A pass counts the digits of each tile, computes
// where those of each tile begin, and moves keys there through shared memory, from which they are written in runs.
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/prefix.hpp"
#include "kiln/backend/gpu/family/sort.hpp"

namespace kiln::gpu::family {
namespace {

constexpr int kDigits = 256, kDigitBits = 8;
static_assert(kThreads == kDigits, "each has a digit");
constexpr int kWarps = kThreads / kLanes;

/// Keys per thread: as many as leave room for the counts in shared memory.
int rounds_of(const Gpu& gpu, DType key) {
  const std::int64_t counts = (kWarps + 2) * kDigits * std::int64_t{4},
                     room = gpu.driver().capabilities().shared_memory;
  const auto each = static_cast<std::int64_t>(size_of(key) + sizeof(std::int32_t));
  int rounds = key == DType::U64 ? 8 : 16;
  while (rounds > 1 && kThreads * rounds * each + counts > room) rounds /= 2;
  return rounds;
}

Expr digit_of(const Expr& key, const Expr& shift) { return (key >> shift).as(DType::I32) & (kDigits - 1); }

/// Counts in order [line, digit, tile].
struct CountDigitsKernel {
  DType key;
  int rounds;

  Kernel kernel() const {
    Builder k("count_digits", kThreads);
    const Buffer keys = k.input(key), counts = k.output(DType::I32);
    const Expr length = k.number(DType::I64), tiles = k.number(DType::I64), shift = k.number(key);
    const Shared found = k.shared(DType::I32, kDigits);
    const Expr block = k.block().as(DType::I64), line = block / tiles, tile = block % tiles;
    found.store(k.thread(), k.literal(DType::I32, 0));
    k.barrier();
    for (int round = 0; round < rounds; ++round) {
      const Expr place = tile * (kThreads * rounds) + (k.thread() + round * kThreads).as(DType::I64);
      k.when(place < length, [&] {
        found.update(Update::Add, digit_of(keys[line * length + place], shift), k.literal(DType::I32, 1));
      });
    }
    k.barrier();
    counts.store((line * kDigits + k.thread().as(DType::I64)) * tiles + tile, found[k.thread()]);
    return k.finish();
  }
};

struct MoveByDigitKernel {
  DType key;
  int rounds;
  bool with_places;  // otherwise a key's place is where it is

  Kernel kernel() const {
    const int size = kThreads * rounds;
    Builder k("move_by_digit", kThreads);
    const Buffer keys = k.input(key), places = with_places ? k.input(DType::I32) : Buffer();
    const Buffer counts = k.input(DType::I32), totals = k.input(DType::I32);
    const Buffer to = k.output(key), to_places = k.output(DType::I32);
    const Expr length = k.number(DType::I64), tiles = k.number(DType::I64), shift = k.number(key);
    const Shared tile_keys = k.shared(key, size), tile_places = k.shared(DType::I32, size);
    // Per warp: the counts so far, then those of the warps before.
    const Shared found = k.shared(DType::I32, kWarps * kDigits);
    const Shared starts = k.shared(DType::I32, kDigits), moves = k.shared(DType::I32, kDigits);

    const Expr block = k.block().as(DType::I64), line = block / tiles, tile = block % tiles,
               zero = k.literal(DType::I32, 0);
    const Expr first = tile * size, begin = line * length;
    const Expr here = min(length - first, k.literal(DType::I64, size)).as(DType::I32);
    for (int w = 0; w < kWarps; ++w) found.store(k.thread() + w * kDigits, zero);
    k.barrier();

    // A warp takes its part of the tile in rounds; each lane counts the lanes before it with the same digit.
    const Local held = k.local(key, rounds), rank = k.local(DType::I32, rounds);
    const auto in_tile = [&](int round) { return k.warp() * (rounds * kLanes) + round * kLanes + k.lane(); };
    for (int round = 0; round < rounds; ++round) {
      held.set(round, k.literal(key, 0));
      k.when(in_tile(round) < here, [&] { held.set(round, keys[begin + first + in_tile(round).as(DType::I64)]); });
    }
    for (int round = 0; round < rounds; ++round) {
      const Expr there = in_tile(round) < here, digit = digit_of(held[round], shift);
      const Expr mine = select(there, digit, k.literal(DType::I32, kDigits));
      const Local before = k.variable(zero), after = k.variable(zero);
      k.loop(zero, k.literal(DType::I32, kLanes), k.literal(DType::I32, 1), [&](const Expr& lane) {
        const Expr same = (k.shuffle(mine, lane) == mine).as(DType::I32);
        before.set(before + select(lane < k.lane(), same, zero));
        after.set(after + select(lane > k.lane(), same, zero));
      });
      const Expr place = k.warp() * kDigits + digit, count = found[place] + before;
      rank.set(round, count);
      k.barrier();
      k.when(there & (after == 0), [&] { found.store(place, count + 1); });
      k.barrier();
    }

    // Each thread handles one digit: where those of each warp begin, and how far all of them move.
    const Local sum = k.variable(zero);
    for (int w = 0; w < kWarps; ++w) {
      const Expr count = found[k.thread() + w * kDigits];
      found.store(k.thread() + w * kDigits, sum);
      sum.set(sum + count);
    }
    const Expr start = prefix_sum(k, sum).before;
    const Expr slot = line * kDigits + k.thread().as(DType::I64);
    const Expr begins = prefix_sum(k, totals[slot]).before + counts[slot * tiles + tile];
    starts.store(k.thread(), start);
    moves.store(k.thread(), begins - start);
    k.barrier();
    for (int round = 0; round < rounds; ++round)
      k.when(in_tile(round) < here, [&] {
        const Expr digit = digit_of(held[round], shift);
        const Expr at = starts[digit] + found[k.warp() * kDigits + digit] + rank[round];
        const Expr place = first + in_tile(round).as(DType::I64);
        tile_keys.store(at, held[round]);
        tile_places.store(at, with_places ? places[begin + place] : place.as(DType::I32));
      });
    k.barrier();
    for (int round = 0; round < rounds; ++round) {
      const Expr at = k.thread() + round * kThreads;
      k.when(at < here, [&] {
        const Expr moved = tile_keys[at], place = begin + (at + moves[digit_of(moved, shift)]).as(DType::I64);
        to.store(place, moved);
        to_places.store(place, tile_places[at]);
      });
    }
    return k.finish();
  }
};

}  // namespace

Sorted radix_sort(Gpu& gpu, const Value& keys, int bits) {
  const Array shown = read(keys);
  const std::int64_t lines = shown.shape[0], length = shown.shape[1];
  const int rounds = rounds_of(gpu, shown.dtype);
  const std::int64_t tiles = blocks_for(length, kThreads * rounds);
  const Value counts = gpu.scratch({{lines * kDigits, tiles}, DType::I32}),
              totals = gpu.scratch({{lines * kDigits}, DType::I32});
  Sorted from{keys, {}}, spare{};
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    if (!spare.keys) spare.keys = gpu.scratch(keys.node()->desc);
    if (!spare.places) spare.places = gpu.scratch({shown.shape, DType::I32});
    gpu.launch(CountDigitsKernel{shown.dtype, rounds}, lines * tiles,
               {read(from.keys), read(counts), length, tiles, shift});
    exclusive_sums(gpu, read(counts), read(totals));
    std::vector<Argument> arguments{read(from.keys)};
    if (from.places) arguments.emplace_back(read(from.places));
    arguments.insert(arguments.end(),
                     {read(counts), read(totals), read(spare.keys), read(spare.places), length, tiles, shift});
    gpu.launch(MoveByDigitKernel{shown.dtype, rounds, static_cast<bool>(from.places)}, lines * tiles, arguments);
    // The caller's keys are not overwritten.
    const Sorted next = spare;
    spare = shift == 0 ? Sorted{} : from;
    from = next;
  }
  return from;
}

}  // namespace kiln::gpu::family
