#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"

#include <algorithm>

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/select.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

using Operand_ = op::Program::Operand;
using Instruction = TileProgram::Instruction;

/// The element type that values of `dtype` have within a tile; Bool and U8 are both bytes.
DType tile_type(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype; }

template <class T>
Run<T> as(const Tile& tile) {
  return {static_cast<const T*>(tile.data), tile.step};
}

template <class T>
Instruction unary_instruction(op::UnaryFn fn) {
  const UnaryBlock<T> function = unary_block<T>(fn);
  if (!function) return {};
  return {.call =
              [](const Instruction& self, const Tile* in, void* out, std::int64_t n) {
                const Run<T> x = as<T>(in[self.in[0]]);
                reinterpret_cast<UnaryBlock<T>>(self.function)(x.data, x.step, out, static_cast<std::size_t>(n));
              },
          .function = reinterpret_cast<void (*)()>(function)};
}

template <class T>
Instruction binary_instruction(op::BinaryFn fn) {
  const BinaryBlock<T> function = binary_block<T>(fn);
  if (!function) return {};
  Instruction result{.call =
                         [](const Instruction& self, const Tile* in, void* out, std::int64_t n) {
                           const Run<T> x = as<T>(in[self.in[0]]), y = as<T>(in[self.in[1]]);
                           reinterpret_cast<BinaryBlock<T>>(self.function)(x.data, x.step, y.data, y.step, out,
                                                                           static_cast<std::size_t>(n));
                         },
                     .function = reinterpret_cast<void (*)()>(function)};
  if (fn == op::BinaryFn::Div) result.multiply = reinterpret_cast<void (*)()>(binary_block<T>(op::BinaryFn::Mul));
  return result;
}

template <class Word>
Instruction where_instruction() {
  return {.call = [](const Instruction& self, const Tile* in, void* out, std::int64_t n) {
    select_block(as<std::uint8_t>(in[self.in[0]]), as<Word>(in[self.in[1]]), as<Word>(in[self.in[2]]),
                 static_cast<Word*>(out), n);
  }};
}

/// What a type that is not computed in keeps of a tile. `target` is where it is stored besides, or null.
void round_tile(DType dtype, void* tile, std::byte* target, std::int64_t n) {
  std::uint16_t halves[kBlock];
  void* const stored = target ? static_cast<void*>(target) : halves;
  convert(tile_type(dtype), tile, dtype, stored, n);
  convert(dtype, stored, tile_type(dtype), tile, n);
}

// A constant's run holds one vector; what it becomes is written out for the whole tile.
void convert_tile(const Instruction& self, const Tile* in, void* out, std::int64_t n) {
  const Tile& x = in[self.in[0]];
  std::uint16_t halves[kBlock];
  const bool rounds = tile_type(self.to) != self.to;  // at once: by way of float32, float64 would be rounded twice
  auto* const to = rounds ? reinterpret_cast<std::byte*>(halves) : static_cast<std::byte*>(out);
  const auto step = static_cast<std::int64_t>(size_of(self.to));
  if (x.step == 0)
    for (std::int64_t i = 0; i < n; ++i) convert(self.from, x.data, self.to, to + i * step, 1);
  else convert(self.from, x.data, self.to, to, n);
  if (rounds) convert(self.to, to, tile_type(self.to), out, n);
}

/// Calls f with the type that elements of `dtype` are computed in; gives an Instruction that cannot run for the others.
template <class F>
Instruction visit_tile_type(DType dtype, F&& f) {
  switch (tile_type(dtype)) {
    case DType::F64: return f(TypeTag<double>{});
    case DType::F32: return f(TypeTag<float>{});
    case DType::I64: return f(TypeTag<std::int64_t>{});
    case DType::I32: return f(TypeTag<std::int32_t>{});
    case DType::I8: return f(TypeTag<std::int8_t>{});
    case DType::U8:
    case DType::Bool: return f(TypeTag<std::uint8_t>{});
    default: return {};
  }
}

struct Compiler {
  const op::Program& program;

  DType type_of(Operand_ operand) const {
    return operand.from == Operand_::Input ? program.inputs[operand.index] : program.steps[operand.index].dtype;
  }
  Instruction operator()(const op::Program::Step& step, const op::Unary& op) const {
    return visit_tile_type(type_of(step.in[0]), [&]<class T>(TypeTag<T>) { return unary_instruction<T>(op.fn); });
  }
  Instruction operator()(const op::Program::Step& step, const op::Binary& op) const {
    return visit_tile_type(type_of(step.in[0]), [&]<class T>(TypeTag<T>) { return binary_instruction<T>(op.fn); });
  }
  Instruction operator()(const op::Program::Step& step, const op::Where&) const {
    switch (size_of(tile_type(step.dtype))) {
      case 1: return where_instruction<std::uint8_t>();
      case 2: return where_instruction<std::uint16_t>();
      case 4: return where_instruction<std::uint32_t>();
      case 8: return where_instruction<std::uint64_t>();
    }
    return {};
  }
  Instruction operator()(const op::Program::Step& step, const op::Cast& op) const {
    Instruction cast{.call = convert_tile};
    cast.from = tile_type(type_of(step.in[0]));
    cast.to = op.to;
    return cast;
  }
};

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
  Tile read(std::int64_t at, std::int64_t count) {
    Tile tile{};
    visit([&](auto* feed) {
      const auto run = feed->read(at, count);
      tile = {run.data, run.step};
    });
    return tile;
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

/// A vector of one number.
struct alignas(kVectorBytes) Constant {
  std::byte bytes[kVectorBytes];
  Constant(const Scalar& number, DType dtype) {
    const std::size_t size = size_of(dtype);
    for (std::size_t at = 0; at < sizeof(bytes); at += size) store(number, dtype, bytes + at);
  }
};

}  // namespace

TileProgram::TileProgram(const op::Program& program) {
  const std::size_t inputs = program.inputs.size();
  std::vector<int> last_use(program.steps.size(), -1);
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    for (int k = 0; k < op::arity(program.steps[i].op); ++k)
      if (const Operand_ from = program.steps[i].in[static_cast<std::size_t>(k)]; from.from == Operand_::Result)
        last_use[from.index] = static_cast<int>(i);

  std::vector<int> free_slots;
  std::vector<bool> released(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const op::Program::Step& step = program.steps[i];
    Instruction instruction = std::visit([&](const auto& op) { return Compiler{program}(step, op); }, step.op);
    if (!instruction.call) return;
    for (std::size_t k = 0; k < static_cast<std::size_t>(op::arity(step.op)); ++k)
      instruction.in[k] =
          static_cast<std::uint16_t>(step.in[k].index + (step.in[k].from == Operand_::Input ? 0 : inputs));
    instruction.stored = step.dtype;
    const auto output = std::find(program.outputs.begin(), program.outputs.end(), i);
    if (output != program.outputs.end()) instruction.output = static_cast<int>(output - program.outputs.begin());
    if (instruction.output < 0 || tile_type(step.dtype) != step.dtype) {
      if (free_slots.empty()) free_slots.push_back(slots_++);
      instruction.slot = free_slots.back();
      free_slots.pop_back();
    }
    instructions_.push_back(instruction);
    // Only now: a step's result must not take the place of its own operands.
    const auto release = [&](std::size_t earlier) {
      if (last_use[earlier] <= static_cast<int>(i) && instructions_[earlier].slot >= 0 && !released[earlier]) {
        free_slots.push_back(instructions_[earlier].slot);
        released[earlier] = true;
      }
    };
    release(i);
    for (int k = 0; k < op::arity(step.op); ++k)
      if (const Operand_ from = step.in[static_cast<std::size_t>(k)]; from.from == Operand_::Result)
        release(from.index);
  }
  runs_ = true;
}

// The planner gives every use of a number an input of its own, so that a divisor can be inverted in its place.
std::vector<TileProgram::Instruction> TileProgram::without_divisions(
    const FusedCall& call, std::vector<std::optional<double>>& inverses) const {
  std::vector<Instruction> changed;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    const std::size_t divisor = instruction.in[1];
    if (!instruction.multiply || divisor >= call.in.size() || !call.in[divisor].is_scalar()) continue;
    inverses[divisor] = exact_inverse(call.in[divisor].scalar());
    if (!inverses[divisor]) continue;
    if (changed.empty()) changed = instructions_;
    changed[i].function = instruction.multiply;
  }
  return changed;
}

void TileProgram::run(const FusedCall& call, std::int64_t grain) const {
  const op::Program& program = call.program;
  std::vector<std::optional<double>> inverses(call.in.size());
  const std::vector<Instruction> changed = without_divisions(call, inverses);
  const std::vector<Instruction>* const instructions = changed.empty() ? &instructions_ : &changed;

  // The tiles of all inputs and steps; those of numbers stay as they are.
  std::vector<Tile> first_tiles(call.in.size() + program.steps.size());
  std::vector<Constant> numbers;
  std::vector<Operand> tensors;
  std::vector<std::size_t> inputs;  // which input each tensor is
  numbers.reserve(call.in.size());
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const DType dtype = tile_type(program.inputs[i]);
    if (call.in[i].is_scalar()) {
      first_tiles[i] = {numbers.emplace_back(inverses[i] ? Scalar(*inverses[i]) : call.in[i].scalar(), dtype).bytes, 0};
    } else {
      tensors.emplace_back(call.in[i], call.whole, dtype);
      inputs.push_back(i);
    }
  }

  call.each_piece(grain, [&] {
    static thread_local Scratch scratch;
    std::byte* place = scratch.of(tensors.size() * kFeedBytes + static_cast<std::size_t>(slots_) * kSlotBytes);
    std::vector<Source> sources;
    sources.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i, place += kFeedBytes)
      sources.emplace_back(tensors[i], inputs[i], size_of(tile_type(program.inputs[inputs[i]])), place);
    return [&, place, sources = std::move(sources), tiles = first_tiles](std::int64_t begin, std::int64_t end,
                                                                         FoldLanes* lanes, std::byte* results) mutable {
      for (std::int64_t at = begin; at < end;) {
        std::int64_t count = std::min(end - at, kBlock);
        for (Source& source : sources) count = source.limit(at, count);
        for (Source& source : sources) tiles[source.input] = source.read(at, count);
        Tile* made = tiles.data() + call.in.size();
        for (std::size_t i = 0; i < instructions->size(); ++i) {
          const Instruction& instruction = (*instructions)[i];
          const Array* result =
              instruction.output < 0 ? nullptr : &call.results[static_cast<std::size_t>(instruction.output)].array;
          std::byte* const first = !result ? nullptr : result->data ? result->data : results;
          std::byte* const target =
              first ? first + (result->data ? at : at - begin) * static_cast<std::int64_t>(size_of(result->dtype))
                    : nullptr;
          void* out = instruction.slot < 0 ? target : place + static_cast<std::size_t>(instruction.slot) * kSlotBytes;
          instruction.call(instruction, tiles.data(), out, count);
          *made++ = {out, 1};
          if (tile_type(instruction.stored) != instruction.stored) round_tile(instruction.stored, out, target, count);
          for (std::size_t fold = 0; fold < program.folds.size(); ++fold)
            if (program.folds[fold].step == i) lanes[fold].take(out, count);
        }
        at += count;
      }
    };
  });
}

}  // namespace kiln::cpu::simd
