#include "kiln/backend/cpu/simd/elementwise/fused.hpp"

#include <algorithm>
#include <optional>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/clamp.hpp"
#include "kiln/backend/cpu/simd/elementwise/fused_chain.hpp"
#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"
#include "kiln/backend/cpu/simd/elementwise/mapped_sum.hpp"
#include "kiln/backend/cpu/simd/elementwise/simple_epilogue.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"

namespace kiln::cpu::simd {
namespace {

std::int64_t grain_of(const op::Program& program) {
  std::int64_t cost = 0;
  std::size_t widest = 1;
  for (const op::ProgramStep& step : program.steps)
    cost += std::visit([](const auto& op) { return cost_of(op); }, step.op);
  for (const DType input : program.inputs) widest = std::max(widest, size_of(input));
  return simd::grain_of(cost, widest);
}

/// The last step that reads each input.
std::vector<std::size_t> last_readers(const op::Program& program) {
  std::vector<std::size_t> readers(program.inputs.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    for (int k = 0; k < op::arity(program.steps[i].op); ++k)
      if (const op::ProgramOperand from = program.steps[i].in[static_cast<std::size_t>(k)];
          from.from == op::ProgramOperand::Input)
        readers[from.index] = i;
  return readers;
}

/// A program made ready, once.
struct Prepared {
  explicit Prepared(const op::Program& program)
      : clamp(program), chain(program), last_reader(last_readers(program)), grain(grain_of(program)) {
    if (!chain.runs()) tiles.emplace(program);
  }
  bool runs() const { return chain.runs() || tiles->runs(); }
  const Clamp clamp;
  const ChainProgram chain;
  std::optional<TileProgram> tiles;
  const std::vector<std::size_t> last_reader;
  const std::int64_t grain;
};

/// Gives result i of a chain the memory of an operand that no step reads once the first elements are stored, if there
/// is one.
bool take_operand(const Prepared& prepared, const op::Program& program, const Dims& strides, Call call, std::size_t i) {
  for (std::size_t k = 0; k < call.in.size(); ++k)
    if (prepared.last_reader[k] <= program.outputs[i] && reuse_memory(call.out[i], strides, call, k)) return true;
  return false;
}

/// Bytes that a program moves. A result may be part of a larger one that is made bit by bit.
std::int64_t moved_bytes(Inputs in, std::span<const Value> out, const Shape& shape) {
  const std::int64_t count = numel(shape);
  std::int64_t bytes = 0;
  for (const Value& value : in)
    if (value.node() && value.numel() == count) bytes += count * static_cast<std::int64_t>(size_of(value.dtype()));
  for (const Value& value : out)
    bytes += static_cast<std::int64_t>(static_cast<const Memory&>(*value.node()->storage).size());
  return bytes;
}
/// Are the first results gone from the caches when the last are made?
bool fills_caches(std::int64_t bytes) { return bytes >= kStreamedBytes; }
/// Do operands come from beyond the second-level cache?
bool is_far(std::int64_t bytes) { return bytes > 1 << 20; }

/// The order that the elements of a product's pieces are counted in.
Dims order_of(const op::Epilogue& op) {
  const Shape& shape = op.program->shape;
  const bool is_conv =
      std::holds_alternative<op::Conv>(op.product) || std::holds_alternative<op::ConvInteger>(op.product);
  return is_conv ? channels_last_strides(shape) : contiguous_strides(shape);
}

/// The steps of a program that folds, and which of their results each fold reads.
struct Unfolded {
  explicit Unfolded(const op::Program& program) {
    const auto steps = std::make_shared<op::Program>();
    steps->shape = program.shape;
    steps->inputs = program.inputs;
    steps->steps = program.steps;
    steps->outputs = program.outputs;
    for (const op::Program::Fold& fold : program.folds) {
      const auto found = std::ranges::find(steps->outputs, fold.step);
      folded.push_back(static_cast<std::size_t>(found - steps->outputs.begin()));
      if (found == steps->outputs.end()) steps->outputs.push_back(fold.step);
    }
    this->steps = steps;
  }
  std::shared_ptr<const op::Program> steps;
  std::vector<std::size_t> folded;
};

using Results = SpareVector<FusedResult>;

/// Gives the first results of a call, which are outputs of the program, their memory.
Results allocate_outputs(const Prepared& prepared, const op::Program& program, std::size_t count, const Dims& order,
                         Call call) {
  Results results;
  for (std::size_t i = 0; i < count; ++i) {
    const bool in_place = prepared.chain.runs() && take_operand(prepared, program, order, call, i);
    results.push_back({allocate(call.out[i], order), in_place});
  }
  return results;
}
void run_prepared(const Prepared& prepared, const FusedCall& fused) {
  if (prepared.chain.runs()) prepared.chain.run(fused, prepared.grain);
  else prepared.tiles->run(fused, prepared.grain);
}

/// A single reduction that is not Folding's: a part at a time.
bool fold_in_parts(const op::Fused& op, Call call) {
  const op::Program& program = *op.program;
  const auto& [steps, folded] = program.cached<Unfolded>();
  const std::size_t outputs = program.outputs.size();
  if (folded.size() != 1 || folded[0] < outputs) return false;
  // Lengths of doubles may be computed twice, from memory.
  if (program.folds[0].fn == op::ReduceFn::Length && steps->steps[program.folds[0].step].dtype == DType::F64)
    return false;
  const Prepared& prepared = steps->cached<Prepared>();
  const std::optional<Dims> order = strided::result_order(*steps, program.shape, call.in);
  if (!prepared.runs() || !order) return false;
  const Array whole{.data = nullptr, .shape = program.shape, .strides = *order};
  AllocateAllOrNone memory(call.out);
  Results results = allocate_outputs(prepared, *steps, outputs, *order, call);
  const op::Program::Fold& fold = program.folds[0];
  const FusedReduction reduction{{fold.fn, fold.dims}, steps->steps[fold.step].dtype, call.out[outputs]};
  results.push_back({{.data = nullptr, .dtype = reduction.dtype, .shape = program.shape, .strides = *order}});
  FusedCall fused{.in = call.in, .inputs = steps->inputs, .whole = whole, .results = results};
  fused.reduction = &reduction;
  const std::int64_t bytes = moved_bytes(call.in, call.out.first(outputs), program.shape);
  fused.streams = op.streams || fills_caches(bytes);
  fused.fetches = is_far(bytes);
  run_prepared(prepared, fused);
  memory.succeed();
  return true;
}

/// One after the other.
bool fold_afterwards(const op::Program& program, Call call) {
  const auto& [steps, folded] = program.cached<Unfolded>();
  SpareValues made;
  for (std::size_t i = 0; i < steps->outputs.size(); ++i)
    made.push_back(
        i < program.outputs.size()
            ? call.out[i]
            : Value(make_ref<Node>(Desc{program.shape, steps->steps[steps->outputs[i]].dtype}, call.out[0].device())));
  if (!run(op::Fused{steps}, Call{call.in, made})) return false;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    const op::Reduce reduce{program.folds[i].fn, program.folds[i].dims};
    if (!run(reduce, Call{{&made[folded[i]], 1}, call.out.subspan(program.outputs.size() + i, 1)})) return false;
  }
  return true;
}

class ChainEpilogue final : public Epilogue {
 public:
  ChainEpilogue(const op::Epilogue& op, Call call, const ChainProgram& chain)
      : chain_(chain),
        dtype_(op.result.dtype),
        in_(op.inputs(call.in, Value())),
        whole_{.data = nullptr, .shape = op.program->shape, .strides = order_of(op)},
        results_(allocated(call.out, whole_.strides)),
        call_{.in = in_, .inputs = op.program->inputs, .whole = whole_, .results = results_} {
    call_.streams = fills_caches(moved_bytes(in_, call.out, op.program->shape));
    operands_ = ChainProgram::operands_of(call_);
    if (dtype_ == DType::F32 && op.program->outputs.size() == 1 && !is_disabled(Algorithm::SimpleFinish))
      simple_ = simple_epilogue(op, in_, call_.results[0].array, call_.whole.strides);
  }
  void finish(const ProductTile& piece) const override { chain_.finish(call_, operands_, piece, dtype_); }
  const std::byte* target() const override {
    const Array& first = call_.results[0].array;
    return call_.streams || size_of(first.dtype) != size_of(dtype_) ? nullptr : first.data;
  }
  const SimpleEpilogue* simple() const override { return simple_ ? &*simple_ : nullptr; }

 private:
  static Results allocated(std::span<Value> out, const Dims& order) {
    Results results;
    for (Value& value : out) results.push_back({allocate(value, order)});
    return results;
  }

  const ChainProgram& chain_;
  const DType dtype_;     // of the product
  const SpareValues in_;  // of the program; the product is missing
  const Array whole_;
  const Results results_;
  FusedCall call_;
  SpareVector<Operand> operands_;
  std::optional<SimpleEpilogue> simple_;
};

}  // namespace

bool run_epilogue(const op::Epilogue& op, Call call, FunctionRef<bool(const Epilogue&)> multiply) {
  // A single step on halves is quicker alone, as long as what it reads is still in a cache.
  constexpr std::int64_t kManyHalves = 1 << 22;
  if (size_of(op.result.dtype) == 2 && op.program->steps.size() == 1 && numel(op.result.shape) < kManyHalves)
    return false;
  const Prepared& prepared = op.program->cached<Prepared>();
  if (!prepared.chain.runs() || !op.program->folds.empty()) return false;
  const Dims product = order_of(op);
  const auto order = strided::result_order(*op.program, op.program->shape, op.inputs(call.in, Value()), &product);
  if (!order || !strided::same_order(op.program->shape, *order, product)) return false;
  return multiply(ChainEpilogue(op, call, prepared.chain));
}

bool run(const op::Fused& op, Call call) {
  const op::Program& program = *op.program;
  if (!program.folds.empty()) {
    if (numel(program.shape) == 0) return false;
    if (!is_disabled(Algorithm::MappedSum) && program.cached<MappedSum>().run(program, call)) return true;
  }
  if (!FusedReductions::takes(program)) return fold_in_parts(op, call) || fold_afterwards(program, call);
  const Prepared& prepared = program.cached<Prepared>();
  if (!is_disabled(Algorithm::Clamp) && prepared.clamp.run(program, call)) return true;
  if (!prepared.runs()) return false;

  // Sums are taken in the order of memory: here, and of what lies there afterwards.
  const std::optional<Dims> order = strided::result_order(program, program.shape, call.in);
  if (!order) return false;
  const Array whole{.data = nullptr, .shape = program.shape, .strides = *order};
  std::optional<FusedReductions> folding;
  if (!program.folds.empty()) {
    // What folds lies across memory, as the pixels of a convolution's result do.
    if (!whole.contiguous()) return fold_in_parts(op, call) || fold_afterwards(program, call);
    folding.emplace(program);
  }
  AllocateAllOrNone memory(call.out);
  const Results results = allocate_outputs(prepared, program, program.outputs.size(), *order, call);
  for (Value& out : call.out.subspan(program.outputs.size())) folding->results.push_back(allocate(out));
  memory.succeed();
  const std::int64_t bytes = moved_bytes(call.in, call.out.first(program.outputs.size()), program.shape);
  FusedCall fused{.in = call.in, .inputs = program.inputs, .whole = whole, .folds = program.folds, .results = results};
  if (folding) fused.folding = &*folding;
  fused.streams = op.streams || fills_caches(bytes);
  fused.fetches = is_far(bytes);
  run_prepared(prepared, fused);
  return true;
}

}  // namespace kiln::cpu::simd
