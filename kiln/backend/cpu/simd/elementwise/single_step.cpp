// A single step, which needs no tiles: its function goes through all elements that a thread has at once.
#include <algorithm>
#include <optional>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/simd/elementwise/tile_source.hpp"

namespace kiln::cpu::simd {
namespace {

/// Does the only step take all elements as they lie, and give those of its result?
bool is_direct(const TileStep& step, const FusedCall& call) {
  if (call.folding || call.reduction || call.streams || step.makes != step.stored) return false;
  for (std::size_t k = 0; k < step.arity; ++k)
    if (step.in[k] != k || (!call.in[k].is_scalar() && call.inputs[k] != step.reads[k])) return false;
  return true;
}

/// Runs a step that is_direct() on tensors that lie as the result does, and numbers. False where one lies otherwise.
bool run_dense(const TileStep& step, const FusedCall& call, std::int64_t grain) {
  const Array& result = call.results[0].array;
  alignas(kVectorBytes) std::byte numbers[3][kVectorBytes];
  Tile whole[3];
  std::int64_t sizes[3] = {};
  for (std::size_t k = 0; k < step.arity; ++k) {
    if (call.in[k].is_scalar()) {
      set_number(step, k, call.in[k].scalar(), call.inputs[k], numbers[k], whole[k]);
      continue;
    }
    const Array x = read(call.in[k]);
    if (x.shape != result.shape || x.strides != result.strides) return false;
    whole[k].data = x.data;
    sizes[k] = static_cast<std::int64_t>(size_of(x.dtype));
  }
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  parallel_for(result.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    Tile tiles[3] = {whole[0], whole[1], whole[2]};
    for (std::size_t k = 0; k < step.arity; ++k)
      tiles[k].data = static_cast<const std::byte*>(tiles[k].data) + begin * sizes[k];
    const Tile* const operands[] = {tiles, tiles + 1, tiles + 2};
    step.call(step, operands, result.data + begin * size, end - begin);
  });
  return true;
}

/// Runs a step that is_direct(), on runs as long as all operands have them.
void run_in_runs(const TileStep& step, const FusedCall& call, std::span<const Operand> tensors, std::int64_t grain) {
  const Array& result = call.results[0].array;
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  parallel_for(result.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(kVectorBytes) std::byte memory[3 * kFeedBytes];
    std::optional<TileSource> sources[3];
    Tile tiles[3];
    const Tile* const operands[] = {tiles, tiles + 1, tiles + 2};
    for (std::size_t k = 0, tensor = 0; k < step.arity; ++k) {
      std::byte* const place = memory + k * kFeedBytes;
      if (call.in[k].is_scalar()) set_number(step, k, call.in[k].scalar(), call.inputs[k], place, tiles[k]);
      else sources[k].emplace(tensors[tensor++], k, size_of(step.reads[k]), place);
    }
    for (std::int64_t at = begin; at < end;) {
      std::int64_t count = end - at;
      for (std::optional<TileSource>& source : sources)
        if (source) count = source->limit(at, count);
      for (std::optional<TileSource>& source : sources)
        if (source) source->read(at, count, tiles[source->input]);
      step.call(step, operands, result.data + at * size, count);
      at += count;
    }
  });
}

/// Runs a step that is_direct() on short rows that the result and two operands have side by side, as those of a slice
/// are: a call for each takes less than bringing many of them together. False where they are not like that.
bool run_short_rows(const TileStep& step, const FusedCall& call, std::span<const Operand> tensors, std::int64_t grain) {
  constexpr std::int64_t kShortest = 12, kLongest = 256;
  const auto is_gathered = [](const Operand& operand) { return operand.access() == Operand::Access::Gathered; };
  if (tensors.size() != 2 || step.arity != 2 || std::ranges::none_of(tensors, is_gathered)) return false;
  if (is_disabled(Algorithm::ShortRows)) return false;
  const Array& result = call.results[0].array;
  const Array x = broadcast_to(read(call.in[0]), result.shape), y = broadcast_to(read(call.in[1]), result.shape);
  const Rows<3> rows(result.shape, {result.strides, x.strides, y.strides});
  const std::int64_t length = rows.length();
  if (rows.count() < 2 || length < kShortest || length >= kLongest) return false;
  if (rows.steps() != std::array<std::int64_t, 3>{1, 1, 1}) return false;
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  const auto read_size = static_cast<std::int64_t>(size_of(step.reads[0]));
  parallel_for(rows.count(), std::max<std::int64_t>(1, grain / length), [&](std::int64_t begin, std::int64_t end) {
    Tile tiles[2];
    const Tile* const operands[] = {tiles, tiles + 1};
    rows.each(begin, end, [&](const auto& offsets) {
      tiles[0].data = x.data + offsets[1] * read_size;
      tiles[1].data = y.data + offsets[2] * read_size;
      step.call(step, operands, result.data + offsets[0] * size, length);
    });
  });
  return true;
}

}  // namespace

bool run_single_step(const TileStep& step, const FusedCall& call, std::int64_t grain) {
  if (!is_direct(step, call)) return false;
  if (run_dense(step, call, grain)) return true;
  const SpareVector<Operand> tensors = tensors_of(call);
  if (!run_short_rows(step, call, tensors, grain)) run_in_runs(step, call, tensors, grain);
  return true;
}

}  // namespace kiln::cpu::simd
