#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/select.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

template <class T>
Run<T> as(const Tile& tile) {
  return {static_cast<const T*>(tile.data), tile.step};
}

template <class Word>
void repeat_word(void* elements, std::int64_t n) {
  auto* const words = static_cast<Word*>(elements);
  std::fill_n(words, n, *words);
}
/// Writes n elements of `size` bytes that are all like the first.
void repeat_first(void* elements, std::size_t size, std::int64_t n) {
  switch (size) {
    case 1: return repeat_word<std::uint8_t>(elements, n);
    case 2: return repeat_word<std::uint16_t>(elements, n);
    case 4: return repeat_word<std::uint32_t>(elements, n);
    default: return repeat_word<std::uint64_t>(elements, n);
  }
}

/// Calls f with the type that elements of `dtype` are computed in, and its name; gives a step that cannot run where
/// there is none.
template <class F>
TileStep visit_computed(DType dtype, bool in_halves, F&& f) {
  switch (dtype) {
    case DType::F64: return f(TypeTag<double>{}, dtype);
    case DType::F32: return f(TypeTag<float>{}, dtype);
    case DType::F16:
      if (in_halves) return f(TypeTag<F16>{}, dtype);
      return f(TypeTag<float>{}, DType::F32);
    case DType::BF16:
      if (in_halves) return f(TypeTag<BF16>{}, dtype);
      return f(TypeTag<float>{}, DType::F32);
    case DType::I64: return f(TypeTag<std::int64_t>{}, dtype);
    case DType::I32: return f(TypeTag<std::int32_t>{}, dtype);
    case DType::I16: return f(TypeTag<std::int16_t>{}, dtype);
    case DType::U16: return f(TypeTag<std::uint16_t>{}, dtype);
    // Their wrapped results are the low bits of the wider result.
    case DType::U32: return f(TypeTag<std::int64_t>{}, DType::I64);
    case DType::I8: return f(TypeTag<std::int8_t>{}, dtype);
    case DType::U8:
    case DType::Bool: return f(TypeTag<std::uint8_t>{}, dtype);
    default: return {};
  }
}

template <class Block>
TileStep step_of(Block function, TileStep::Call call, std::uint8_t arity, DType computed, DType out) {
  TileStep step;
  if (!function) return step;
  step.call = call;
  step.function = reinterpret_cast<void (*)()>(function);
  step.reads = {computed, computed, computed};
  step.makes = out == DType::Bool ? out : computed;
  step.stored = out;
  step.arity = arity;
  return step;
}

template <class T>
void call_unary(const TileStep& step, const Tile* const* operands, void* out, std::int64_t n) {
  const Run<T> x = as<T>(*operands[0]);
  reinterpret_cast<UnaryBlock<T>>(step.function)(x.data, x.step, out, static_cast<std::size_t>(n));
}
template <class T>
void call_binary(const TileStep& step, const Tile* const* operands, void* out, std::int64_t n) {
  const Run<T> x = as<T>(*operands[0]), y = as<T>(*operands[1]);
  const auto function = reinterpret_cast<BinaryBlock<T>>(operands[1]->inverted ? step.multiply : step.function);
  function(x.data, x.step, y.data, y.step, out, static_cast<std::size_t>(n));
}
template <class Word>
void call_where(const TileStep&, const Tile* const* operands, void* out, std::int64_t n) {
  select_block(as<std::uint8_t>(*operands[op::Where::condition]), as<Word>(*operands[op::Where::x]),
               as<Word>(*operands[op::Where::y]), static_cast<Word*>(out), n);
}
void call_cast(const TileStep& step, const Tile* const* operands, void* out, std::int64_t n) {
  convert(step.reads[0], operands[0]->data, step.stored, out, operands[0]->step ? n : 1);
  if (!operands[0]->step) repeat_first(out, size_of(step.stored), n);
}

}  // namespace

TileStep tile_step(const op::Unary& op, std::span<const DType> in, DType out, bool in_halves) {
  return visit_computed(in[0], in_halves, [&]<class T>(TypeTag<T>, DType computed) {
    return step_of(unary_block<T>(op.fn), call_unary<T>, 1, computed, out);
  });
}

TileStep tile_step(const op::Binary& op, std::span<const DType> in, DType out, bool in_halves) {
  return visit_computed(in[0], in_halves, [&]<class T>(TypeTag<T>, DType computed) {
    TileStep step = step_of(binary_block<T>(op.fn), call_binary<T>, 2, computed, out);
    if (op.fn == op::BinaryFn::Div) step.multiply = reinterpret_cast<void (*)()>(binary_block<T>(op::BinaryFn::Mul));
    return step;
  });
}

TileStep tile_step(const op::Where&, std::span<const DType>, DType out) {
  TileStep step;
  switch (size_of(out)) {
    case 1: step.call = call_where<std::uint8_t>; break;
    case 2: step.call = call_where<std::uint16_t>; break;
    case 4: step.call = call_where<std::uint32_t>; break;
    case 8: step.call = call_where<std::uint64_t>; break;
  }
  step.reads = {DType::Bool, out, out};
  step.makes = step.stored = out;
  step.arity = 3;
  return step;
}

TileStep tile_step(const op::Cast&, std::span<const DType> in, DType out) {
  TileStep step;
  step.call = call_cast;
  step.reads = {in[0], in[0], in[0]};
  step.makes = step.stored = out;
  return step;
}

namespace {

using From = op::ProgramOperand;

constexpr std::size_t kSlotBytes = kBlock * 8;
constexpr std::size_t kFeedBytes = (sizeof(Feed<std::uint64_t>) + kVectorBytes - 1) / kVectorBytes * kVectorBytes;

/// A tensor among the inputs, whatever the size of its elements.
class Source {
 public:
  Source(const Operand& operand, std::size_t input, std::size_t size, std::byte* place) : input(input), size_(size) {
    visit([&]<class T>(Feed<T>*& feed) { feed = new (place) Feed<T>(operand); });
  }
  std::int64_t limit(std::int64_t at, std::int64_t count) {
    visit([&](const auto* feed) { count = feed->limit(at, count); });
    return count;
  }
  void read(std::int64_t at, std::int64_t count, Tile& tile) {
    visit([&](auto* feed) {
      const auto run = feed->read(at, count);
      tile.data = run.data;
      tile.step = run.step;
    });
  }

  const std::size_t input;

 private:
  template <class F>
  void visit(F&& f) {
    switch (size_) {
      case 1: return f(bytes_);
      case 2: return f(halves_);
      case 4: return f(words_);
      default: return f(longs_);
    }
  }

  std::size_t size_;
  union {
    Feed<std::uint8_t>* bytes_;
    Feed<std::uint16_t>* halves_;
    Feed<std::uint32_t>* words_;
    Feed<std::uint64_t>* longs_;
  };
};

/// Fills a vector with a number that is operand k of a step; gives its type. The planner gives every use of a number an
/// input of its own, so that a divisor can be inverted in its place, and a number beside halves that are computed in
/// float32 is none.
DType set_number(const TileStep& step, std::size_t k, const Scalar& number, DType dtype, std::byte* vector,
                 Tile& tile) {
  std::optional<double> inverse = step.multiply && k == 1 ? exact_inverse(number) : std::nullopt;
  if (is_half(dtype)) dtype = step.reads[k];
  constexpr double kMostF16 = 32768;  // the largest power of two
  if (inverse && dtype == DType::F16 && std::abs(*inverse) > kMostF16) inverse.reset();
  if (inverse) store(Scalar(*inverse), dtype, vector);
  else store(number, dtype, vector);
  repeat_first(vector, size_of(dtype), kVectorBytes / static_cast<std::int64_t>(size_of(dtype)));
  tile.data = vector;
  tile.step = 0;
  tile.inverted = inverse.has_value();
  return dtype;
}

/// Does the only step take all elements as they lie, and give those of its result?
bool is_direct(std::span<const TileStep> steps, const FusedCall& call) {
  const TileStep& step = steps[0];
  if (steps.size() > 1 || call.folding || call.reduction || call.streams || step.makes != step.stored) return false;
  for (std::size_t k = 0; k < step.arity; ++k)
    if (step.in[k] != k || (!call.in[k].is_scalar() && call.inputs[k] != step.reads[k])) return false;
  return true;
}

/// Runs a step that is_direct(), on runs as long as all operands have them.
void run_directly(const TileStep& step, const FusedCall& call, std::span<const Operand> tensors, std::int64_t grain) {
  const Array& result = call.results[0].array;
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  parallel_for(result.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(kVectorBytes) std::byte memory[3 * kFeedBytes];
    std::optional<Source> sources[3];
    Tile tiles[3];
    const Tile* const operands[] = {tiles, tiles + 1, tiles + 2};
    for (std::size_t k = 0, tensor = 0; k < step.arity; ++k) {
      std::byte* const place = memory + k * kFeedBytes;
      if (call.in[k].is_scalar()) set_number(step, k, call.in[k].scalar(), call.inputs[k], place, tiles[k]);
      else sources[k].emplace(tensors[tensor++], k, size_of(step.reads[k]), place);
    }
    for (std::int64_t at = begin; at < end;) {
      std::int64_t count = end - at;
      for (std::optional<Source>& source : sources)
        if (source) count = source->limit(at, count);
      for (std::optional<Source>& source : sources)
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

/// The tiles and buffers with which one thread runs the steps.
class TileWorker {
 public:
  TileWorker(std::span<const TileStep> steps, int slots, const FusedCall& call, std::span<const Operand> tensors)
      : steps_(steps), call_(call) {
    static thread_local Scratch scratch;
    const std::size_t inputs = call.in.size(), values = inputs + steps.size();
    const std::size_t blocks = static_cast<std::size_t>(slots) + kOwnBlocks;
    std::byte* memory = scratch.of(tensors.size() * (kFeedBytes + sizeof(Source)) + blocks * kSlotBytes +
                                   inputs * kVectorBytes + values * (sizeof(Tile) + sizeof(DType)));
    const auto take = [&](std::size_t bytes) { return std::exchange(memory, memory + bytes); };
    std::byte* const feeds = take(tensors.size() * kFeedBytes);
    own_ = take(blocks * kSlotBytes);
    slots_ = own_ + kOwnBlocks * kSlotBytes;
    std::byte* const numbers = take(inputs * kVectorBytes);
    tiles_ = reinterpret_cast<Tile*>(take(values * sizeof(Tile)));
    sources_ = {reinterpret_cast<Source*>(take(tensors.size() * sizeof(Source))), tensors.size()};
    types_ = reinterpret_cast<DType*>(take(values * sizeof(DType)));

    std::copy(call.inputs.begin(), call.inputs.end(), types_);
    for (std::size_t i = 0; i < steps.size(); ++i) types_[inputs + i] = steps[i].stored;
    for (std::size_t i = 0; i < values; ++i) new (&tiles_[i]) Tile;
    for (std::size_t i = 0, tensor = 0; i < inputs; ++i) {
      if (call.in[i].is_scalar()) continue;
      new (&sources_[tensor]) Source(tensors[tensor], i, size_of(types_[i]), feeds + tensor * kFeedBytes);
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
      for (Source& source : sources_) count = source.limit(at, count);
      for (Source& source : sources_) source.read(at, count, tiles_[source.input]);
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
  std::span<Source> sources_;
  DType* types_;  // of the tiles
};

}  // namespace

void run_tiles(std::span<const TileStep> steps, int slots, const FusedCall& call, std::int64_t grain) {
  SpareVector<Operand> tensors;
  tensors.reserve(call.in.size());
  for (const Value& value : call.in)
    if (!value.is_scalar()) tensors.emplace_back(value, call.whole, value.dtype());
  if (is_direct(steps, call)) {
    if (!run_short_rows(steps[0], call, tensors, grain)) run_directly(steps[0], call, tensors, grain);
    return;
  }
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
