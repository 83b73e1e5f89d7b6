#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/backend/cpu/simd/elementwise/tile_source.hpp"

namespace kiln::cpu::simd {
namespace {

using From = op::ProgramOperand;

constexpr std::size_t kSlotBytes = kBlock * 8;

/// The tiles and buffers with which one thread runs the steps.
class TileWorker {
 public:
  TileWorker(std::span<const TileStep> steps, int slots, const FusedCall& call, std::span<const Operand> tensors)
      : steps_(steps), call_(call) {
    static thread_local Scratch scratch;
    const std::size_t inputs = call.in.size(), values = inputs + steps.size();
    const std::size_t blocks = static_cast<std::size_t>(slots) + kOwnBlocks;
    std::byte* memory = scratch.of(tensors.size() * (kFeedBytes + sizeof(TileSource)) + blocks * kSlotBytes +
                                   inputs * kVectorBytes + values * (sizeof(Tile) + sizeof(DType)));
    const auto take = [&](std::size_t bytes) { return std::exchange(memory, memory + bytes); };
    std::byte* const feeds = take(tensors.size() * kFeedBytes);
    own_ = take(blocks * kSlotBytes);
    slots_ = own_ + kOwnBlocks * kSlotBytes;
    std::byte* const numbers = take(inputs * kVectorBytes);
    tiles_ = reinterpret_cast<Tile*>(take(values * sizeof(Tile)));
    sources_ = {reinterpret_cast<TileSource*>(take(tensors.size() * sizeof(TileSource))), tensors.size()};
    types_ = reinterpret_cast<DType*>(take(values * sizeof(DType)));

    std::copy(call.inputs.begin(), call.inputs.end(), types_);
    for (std::size_t i = 0; i < steps.size(); ++i) types_[inputs + i] = steps[i].stored;
    for (std::size_t i = 0; i < values; ++i) new (&tiles_[i]) Tile;
    for (std::size_t i = 0, tensor = 0; i < inputs; ++i) {
      if (call.in[i].is_scalar()) continue;
      new (&sources_[tensor]) TileSource(tensors[tensor], i, size_of(types_[i]), feeds + tensor * kFeedBytes);
      ++tensor;
    }
    for (const TileStep& step : steps)
      for (std::size_t k = 0; k < step.arity; ++k)
        if (const std::size_t i = step.in[k]; i < inputs && call.in[i].is_scalar())
          types_[i] = set_number(step, k, call.in[i].scalar(), types_[i], numbers + i * kVectorBytes, tiles_[i]);
  }

  /// Elements [begin, end), of which each fold gets what it folds into lanes of its own, and an output without memory
  /// goes to `made`.
  void operator()(std::int64_t begin, std::int64_t end, FoldLanes* lanes, std::byte* made) {
    for (std::int64_t at = begin; at < end;) {
      std::int64_t count = std::min(end - at, kBlock);
      for (TileSource& source : sources_) count = source.limit(at, count);
      for (TileSource& source : sources_) source.read(at, count, tiles_[source.input]);
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        const TileStep& step = steps_[i];
        const FusedResult* const result =
            step.output < 0 ? nullptr : &call_.results[static_cast<std::size_t>(step.output)];
        void* const out = run(step, result, at, at - begin, count, made);
        tiles_[call_.in.size() + i].data = out;
        for (std::size_t fold = 0; fold < call_.folds.size(); ++fold)
          if (call_.folds[fold].step == i) lanes[fold].take(out, count);
      }
      at += count;
    }
    if (call_.streams) finish_streaming();
  }

 private:
  static constexpr std::size_t kOwnBlocks = 5;  // three operands, what a step makes, and that in the type of its result

  std::byte* own(std::size_t block) const { return own_ + block * kSlotBytes; }

  /// Operand k in the type that the step reads; `converted` has it where another type lies in the tile.
  const Tile* operand(const TileStep& step, std::size_t k, std::int64_t count, Tile& converted) const {
    const Tile& tile = tiles_[step.in[k]];
    const DType from = types_[step.in[k]], to = step.reads[k];
    if (from == to) return &tile;
    convert(from, tile.data, to, own(k), tile.step ? count : 1);
    if (!tile.step) repeat_first(own(k), size_of(to), kVectorBytes / static_cast<std::int64_t>(size_of(to)));
    converted.data = own(k);
    converted.step = tile.step;
    return &converted;
  }

  /// Runs a step on elements [at, at + count), `done` after those that `made` begins with; gives where its result lies.
  void* run(const TileStep& step, const FusedResult* result, std::int64_t at, std::int64_t done, std::int64_t count,
            std::byte* made) const {
    const auto size = static_cast<std::int64_t>(size_of(step.stored));
    std::byte* const first = !result ? nullptr : result->array.data ? result->array.data + at * size : made;
    std::byte* const target = !first || result->array.data ? first : first + done * size;
    const bool streams = target && call_.streams && result->array.data && !result->in_place;
    void* const kept = target && !streams ? target : step.slot < 0 ? own(4) : slots_ + step.slot * kSlotBytes;
    void* const out = step.makes == step.stored ? kept : own(3);
    Tile converted[3];
    const Tile* operands[3];
    for (std::size_t k = 0; k < step.arity; ++k) operands[k] = operand(step, k, count, converted[k]);
    step.call(step, operands, out, count);
    if (out != kept) convert(step.makes, out, step.stored, kept, count);
    if (streams) stream(kept, target, count * size);
    return kept;
  }

  const std::span<const TileStep> steps_;
  const FusedCall& call_;
  std::byte *own_, *slots_;
  Tile* tiles_;
  std::span<TileSource> sources_;
  DType* types_;  // of the tiles
};

}  // namespace

void run_tiles(std::span<const TileStep> steps, int slots, const FusedCall& call, std::int64_t grain) {
  if (steps.size() == 1 && run_single_step(steps[0], call, grain)) return;
  const SpareVector<Operand> tensors = tensors_of(call);
  call.each_piece(grain, [&] { return TileWorker(steps, slots, call, tensors); });
}

TileProgram::TileProgram(const op::Program& program) {
  const auto type_of = [&](From operand) {
    return operand.from == From::Input ? program.inputs[operand.index] : program.steps[operand.index].dtype;
  };
  std::vector<int> last_use(program.steps.size(), -1);
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    for (int k = 0; k < op::arity(program.steps[i].op); ++k)
      if (const From from = program.steps[i].in[static_cast<std::size_t>(k)]; from.from == From::Result)
        last_use[from.index] = static_cast<int>(i);

  std::vector<int> free_slots;
  std::vector<bool> released(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const op::ProgramStep& from = program.steps[i];
    const auto arity = static_cast<std::size_t>(op::arity(from.op));
    std::array<DType, 3> types{};
    for (std::size_t k = 0; k < arity; ++k) types[k] = type_of(from.in[k]);
    TileStep step = std::visit([&](const auto& op) { return tile_step(op, types, from.dtype); }, from.op);
    if (!step.call) return;
    for (std::size_t k = 0; k < arity; ++k)
      step.in[k] = static_cast<std::uint16_t>(
          from.in[k].index + (from.in[k].from == From::Input ? std::size_t{0} : program.inputs.size()));
    const auto output = std::find(program.outputs.begin(), program.outputs.end(), i);
    step.output = output == program.outputs.end() ? -1 : static_cast<int>(output - program.outputs.begin());
    if (step.output < 0 || last_use[i] >= 0) {
      if (free_slots.empty()) free_slots.push_back(slots_++);
      step.slot = free_slots.back();
      free_slots.pop_back();
    }
    steps_.push_back(step);
    // Only now: a step's result must not take the place of its own operands.
    const auto release = [&](std::size_t earlier) {
      if (last_use[earlier] <= static_cast<int>(i) && steps_[earlier].slot >= 0 && !released[earlier]) {
        free_slots.push_back(steps_[earlier].slot);
        released[earlier] = true;
      }
    };
    release(i);
    for (std::size_t k = 0; k < arity; ++k)
      if (from.in[k].from == From::Result) release(from.in[k].index);
  }
  runs_ = true;
}

}  // namespace kiln::cpu::simd
