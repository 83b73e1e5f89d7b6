// Programs as chains. Building one decides, step by step, what is at hand, which results wait in memory for later
// steps, and where. Running one brings the operands into runs that links can read.
#include "kiln/backend/cpu/simd/elementwise/fused_chain.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <span>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::size_t kLongestPart = 256;  // links

using Source = op::ProgramOperand;

bool is_float_here(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::Bool;
}

/// Integers that programs turn into floats first, and those that they end in.
bool is_read_as_float(DType dtype) { return is_integer(dtype) && size_of(dtype) <= 4; }
bool is_stored_as_byte(DType dtype) { return dtype == DType::I8 || dtype == DType::U8; }

}  // namespace

/// Places of a program, in order: the links' own, inputs, outputs, reductions, slots.
class ChainBuilder {
 public:
  ChainBuilder(const op::Program& program, ChainProgram& made)
      : program_(program), made_(made), inputs_(program.inputs.size()), values_(inputs_ + program.steps.size()) {}

  /// Gives up where there is no link for something.
  void build() {
    if (is_disabled(Algorithm::Chains)) return;
    for (std::size_t i = 0; i < inputs_; ++i)
      if (!is_float_here(program_.inputs[i]) &&
          !(is_read_as_float(program_.inputs[i]) && is_cast_at_once(Source::Input, i)))
        return;
    for (std::size_t i = 0; i < inputs_; ++i) values_[i].place = static_cast<int>(1 + i);
    for (const op::ProgramStep& step : program_.steps)
      for (int i = 0; i < op::arity(step.op); ++i) ++values_[value_of(step.in[static_cast<std::size_t>(i)])].readers;
    made_.divisors_.resize(inputs_);
    begin_part();
    for (std::size_t i = 0; i < program_.steps.size(); ++i)
      if (!add(i)) return;
    made_.chain_.push_back(made_.links_.end());
    for (const std::size_t start : starts_) made_.parts_.push_back(&made_.chain_[start]);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr int kNowhere = -1;

  struct Value {
    int place = kNowhere;  // in memory
    int readers = 0;       // still to come
  };

  std::size_t value_of(Source operand) const { return operand.index + (operand.from == Source::Input ? 0 : inputs_); }
  std::size_t first_slot() const { return 1 + inputs_ + program_.outputs.size() + program_.folds.size(); }
  DType type_of(Source operand) const {
    return operand.from == Source::Input ? program_.inputs[operand.index] : program_.steps[operand.index].dtype;
  }

  /// Do all steps that read an input or a result make floats of it?
  bool is_cast_at_once(Source::From from, std::size_t index) const {
    return std::ranges::all_of(program_.steps, [&](const auto& step) {
      const auto* cast = std::get_if<op::Cast>(&step.op);
      if (cast && cast->to == DType::F32) return true;
      for (int k = 0; k < op::arity(step.op); ++k) {
        const Source operand = step.in[static_cast<std::size_t>(k)];
        if (operand.from == from && operand.index == index) return false;
      }
      return true;
    });
  }

  /// Does a step make bytes of floats, which are floats again to all that read them here?
  bool makes_bytes(std::size_t index) const {
    const op::ProgramStep& step = program_.steps[index];
    return is_stored_as_byte(step.dtype) && std::holds_alternative<op::Cast>(step.op) &&
           type_of(step.in[0]) == DType::F32 && is_cast_at_once(Source::Result, index);
  }

  void begin_part() {
    starts_.push_back(made_.chain_.size());
    at_hand_ = kNone;
  }

  void emit(Link link, std::size_t first = 0, std::size_t second = 0) {
    link.in = {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(second)};
    made_.chain_.push_back(link);
  }

  /// What is at hand will be needed again, and goes where it is found then.
  void keep_at_hand() {
    Value& value = values_[at_hand_];
    if (value.place != kNowhere) return;
    if (free_slots_.empty()) free_slots_.push_back(static_cast<int>(first_slot() + made_.slots_++));
    value.place = free_slots_.back();
    free_slots_.pop_back();
    emit(made_.links_.store(DType::F32), static_cast<std::size_t>(value.place));
  }

  void put_down() {
    if (at_hand_ != kNone && values_[at_hand_].readers > 0) keep_at_hand();
    at_hand_ = kNone;
  }

  void read(std::size_t value) {
    if (--values_[value].readers == 0 && values_[value].place >= static_cast<int>(first_slot()))
      free_slots_.push_back(values_[value].place);
  }

  bool add(std::size_t index) {
    const op::ProgramStep& step = program_.steps[index];
    if (!is_float_here(step.dtype) && !makes_bytes(index)) return false;
    if (made_.chain_.size() - starts_.back() > kLongestPart) {
      put_down();
      emit(made_.links_.end());
      begin_part();
    }
    const auto arity = static_cast<std::size_t>(op::arity(step.op));
    std::array<std::size_t, 3> operands{};
    for (std::size_t i = 0; i < arity; ++i) operands[i] = value_of(step.in[i]);

    std::size_t hand =
        static_cast<std::size_t>(std::find(operands.begin(), operands.begin() + arity, at_hand_) - operands.begin());
    if (hand == arity) {
      put_down();
      hand = 0;
      at_hand_ = operands[0];
      emit(made_.links_.load(), static_cast<std::size_t>(values_[at_hand_].place));
    }
    if (values_[at_hand_].readers > 1) keep_at_hand();
    std::array<std::size_t, 2> others{};
    for (std::size_t i = 0, next = 0; i < arity; ++i)
      if (i != hand) others[next++] = static_cast<std::size_t>(values_[operands[i]].place);

    if (const auto* binary = std::get_if<op::Binary>(&step.op); binary && binary->fn == op::BinaryFn::Div)
      if (hand == 0 && step.in[1].from == Source::Input) made_.divisors_[step.in[1].index] = true;
    const Link link =
        std::visit([&](const auto& op) { return link_of(op, step, static_cast<InRegisters>(hand)); }, step.op);
    if (link.function) emit(link, others[0], others[1]);
    else if (!std::holds_alternative<op::Cast>(step.op)) return false;  // a cast is what comes after it
    for (std::size_t i = 0; i < arity; ++i) read(operands[i]);
    at_hand_ = inputs_ + index;
    return hand_out(index);
  }

  Link link_of(const op::Unary& op, const op::ProgramStep& step, InRegisters) const {
    return takes(op::domain(op.fn), step) ? made_.links_.unary(op.fn) : Link{};
  }
  Link link_of(const op::Binary& op, const op::ProgramStep& step, InRegisters hand) const {
    return takes(op::domain(op.fn), step) ? made_.links_.binary(op.fn, hand) : Link{};
  }
  Link link_of(const op::Where&, const op::ProgramStep&, InRegisters hand) const { return made_.links_.where(hand); }
  Link link_of(const op::Cast& op, const op::ProgramStep&, InRegisters) const {
    return op.to == DType::Bool ? made_.links_.round(DType::Bool) : Link{};
  }

  /// Booleans are bytes to functions of integers.
  bool takes(op::Domain domain, const op::ProgramStep& step) const {
    const bool flags = type_of(step.in[0]) == DType::Bool;
    return !flags || domain == op::Domain::Bool || domain == op::Domain::Any;
  }

  /// Does a function of halves give halves?
  static bool keeps_halves(const op::ProgramStep& step) {
    const auto* unary = std::get_if<op::Unary>(&step.op);
    return unary && (unary->fn == op::UnaryFn::Neg || unary->fn == op::UnaryFn::Abs || unary->fn == op::UnaryFn::Relu);
  }

  /// To the outputs and reductions that step `index` is for. What has readers here is what they would read in memory.
  bool hand_out(std::size_t index) {
    const DType dtype = program_.steps[index].dtype;
    if ((dtype == DType::F16 || dtype == DType::BF16) && values_[at_hand_].readers > 0 &&
        !keeps_halves(program_.steps[index]))
      emit(made_.links_.round(dtype));
    if (is_stored_as_byte(dtype) && values_[at_hand_].readers > 0) emit(made_.links_.round(dtype));
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      if (program_.outputs[i] == index) emit(made_.links_.store(dtype), 1 + inputs_ + i);
    for (std::size_t i = 0; i < program_.folds.size(); ++i) {
      if (program_.folds[i].step != index) continue;
      const Link link = made_.links_.fold(program_.folds[i].fn);
      if (!link.function) return false;
      emit(link, 1 + inputs_ + program_.outputs.size() + i);
    }
    return true;
  }

  const op::Program& program_;
  ChainProgram& made_;
  const std::size_t inputs_;
  std::vector<Value> values_;  // inputs, then the results of steps
  std::vector<int> free_slots_;
  std::vector<std::size_t> starts_;  // of the chain's parts
  std::size_t at_hand_ = kNone;
};

ChainProgram::ChainProgram(const op::Program& program) { ChainBuilder(program, *this).build(); }

/// The buffers with which one thread runs a chain. Links read runs of float32: those of tensors in place, where they lie so, and
/// numbers as a block full of them. Every place has a block of its own in scratch memory.
class ChainWorker {
 public:
  ChainWorker(const ChainProgram& chain, const FusedCall& call, const SpareVector<Operand>& operands)
      : chain_(chain),
        call_(call),
        width_(static_cast<std::int64_t>(chain.links_.width)),
        any_in_place_(std::ranges::any_of(call.results, &FusedResult::in_place)) {
    static thread_local Scratch scratch;
    static thread_local std::vector<ChainOperand> places;
    const std::size_t inputs = call.in.size(), results = call.results.size(), folds = call.folds.size();
    const std::size_t count = 1 + inputs + results + folds + chain.slots_;
    const std::size_t tensor_bytes = operands.size() * sizeof(Tensor);
    std::byte* const memory = scratch.of(tensor_bytes + (1 + count) * block_bytes());
    tensors_ = {reinterpret_cast<Tensor*>(memory), operands.size()};
    blocks_ = memory + tensor_bytes;
    results_ = 1 + inputs;

    places.assign(count, {});
    places_ = places.data();
    places_[kOwnPlace].data = blocks_;  // two blocks
    for (std::size_t i = 1; i < count; ++i) places_[i].data = block(i);
    for (std::size_t i = 0; i < results; ++i)
      places_[results_ + i].streams = call.streams && !call.results[i].in_place && call.results[i].array.data;
    for (std::size_t i = 0, tensor = 0; i < inputs; ++i) {
      if (call.in[i].is_scalar()) set_number(i);
      else if (call.in[i].empty()) piece_place_ = 1 + i;
      else {
        places_[1 + i].fetches = call.fetches && operands[tensor].access() == Operand::Access::Dense;
        new (&tensors_[tensor])
            Tensor{Feed<float>(operands[tensor]), 1 + i, operands[tensor].access() == Operand::Access::Constant},
            ++tensor;
      }
    }
  }

  /// Elements [begin, end), of which each fold gets what it folds into lanes of its own, and an output without memory
  /// goes to `made`.
  void operator()(std::int64_t begin, std::int64_t end, FoldLanes* lanes, std::byte* made) {
    made_ = made;
    made_from_ = begin;
    lanes_ = {lanes, call_.folds.size()};
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      places_[results_ + call_.results.size() + i].data = reinterpret_cast<std::byte*>(&lanes_[i]);
    while (begin < end) begin += run(begin, end - begin);
    if (call_.streams) finish_streaming();
  }

  /// Elements [begin, begin + count), of which the empty input has those at `piece`.
  void finish(std::int64_t begin, std::int64_t count, const float* piece) {
    while (count > 0) {
      piece_ = piece;
      const std::int64_t done = run(begin, count);
      begin += done, count -= done, piece += done;
    }
  }

 private:
  struct Tensor {
    Feed<float> feed;
    std::size_t place;
    bool is_constant;
    bool is_filled = false;  // its block holds what it will always hold
  };

  std::size_t block_bytes() const { return chain_.links_.width * sizeof(float); }
  std::byte* block(std::size_t place) const { return blocks_ + (1 + place) * block_bytes(); }
  float* fill_block(std::size_t place, float number) const {
    auto* const floats = reinterpret_cast<float*>(block(place));
    chain_.links_.fill(floats, number);
    return floats;
  }

  void set_number(std::size_t input) {
    const Scalar& number = call_.in[input].scalar();
    const std::size_t place = 1 + input;
    const std::optional<double> inverse = chain_.divisors_[input] ? exact_inverse(number) : std::nullopt;
    places_[place].uniform = true;
    places_[place].inverted = inverse.has_value();
    if (chain_.divisors_[input]) places_[place].reciprocal = Reciprocal(number.to<float>());
    if (call_.inputs[input] == DType::Bool) fill_block(place, number.to<bool>() ? 1 : 0);
    else fill_block(place, inverse ? static_cast<float>(*inverse) : number.to<float>());
  }

  /// As many elements from `at` on as all operands have in one run, at most `count`; gives their number.
  std::int64_t run(std::int64_t at, std::int64_t count) {
    for (const Tensor& tensor : tensors_) count = tensor.feed.limit(at, count);
    const bool fills_blocks = count >= width_;
    // Elements that fill no block would be computed once more from what lies there by then.
    if (fills_blocks && any_in_place_) count -= count % width_;
    for (Tensor& tensor : tensors_) {
      if (tensor.is_filled) continue;
      tensor.is_filled = tensor.is_constant;
      const Run<float> run = tensor.feed.read(at, count);
      ChainOperand& place = places_[tensor.place];
      place.moves = run.step && fills_blocks ? ~std::size_t{0} : 0;
      place.uniform = !run.step;
      place.reciprocal = place.uniform && chain_.divisors_[tensor.place - 1] ? Reciprocal(*run.data) : Reciprocal();
      if (place.moves) {
        place.data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(run.data));
      } else {
        place.data = block(tensor.place);
        float* const floats = fill_block(tensor.place, *run.data);
        if (run.step) std::copy_n(run.data, count, floats);
      }
    }
    if (piece_) {
      ChainOperand& place = places_[piece_place_];
      place.moves = fills_blocks ? ~std::size_t{0} : 0;
      place.data =
          fills_blocks ? const_cast<std::byte*>(reinterpret_cast<const std::byte*>(piece_)) : block(piece_place_);
      if (!fills_blocks) std::copy_n(piece_, count, fill_block(piece_place_, *piece_));
    }
    for (std::size_t i = 0; i < call_.results.size(); ++i) {
      ChainOperand& place = places_[results_ + i];
      place.moves = fills_blocks ? ~std::size_t{0} : 0;
      place.data = fills_blocks ? result(i, at) : block(results_ + i);
    }
    for (FoldLanes& lanes : lanes_) lanes.next = 0, lanes.end = count;
    chain_.links_.run(chain_.parts_, places_, static_cast<std::size_t>(std::max(count, width_)));
    if (!fills_blocks)
      for (std::size_t i = 0; i < call_.results.size(); ++i)
        std::copy_n(block(results_ + i), count * size_of(call_.results[i].array.dtype), result(i, at));
    return count;
  }

  std::byte* result(std::size_t i, std::int64_t at) const {
    const Array& array = call_.results[i].array;
    const auto size = static_cast<std::int64_t>(size_of(array.dtype));
    return array.data ? array.data + at * size : made_ + (at - made_from_) * size;
  }

  const ChainProgram& chain_;
  const FusedCall& call_;
  const std::int64_t width_;
  const bool any_in_place_;
  ChainOperand* places_;
  std::byte* blocks_;  // the links' two, then one for each further place
  std::span<Tensor> tensors_;
  std::size_t results_ = 0;  // the place of the first
  std::span<FoldLanes> lanes_;
  std::byte* made_ = nullptr;  // where the output without memory has element made_from_
  std::int64_t made_from_ = 0;
  const float* piece_ = nullptr;  // what the empty input has for the elements that come next, if there is one
  std::size_t piece_place_ = 0;
};

void ChainProgram::run(const FusedCall& call, std::int64_t grain) const {
  const SpareVector<Operand> operands = operands_of(call);
  call.each_piece(grain, [&] { return ChainWorker(*this, call, operands); });
}

SpareVector<Operand> ChainProgram::operands_of(const FusedCall& call) {
  SpareVector<Operand> operands;
  operands.reserve(call.in.size());
  for (const Value& value : call.in)
    if (value.node()) operands.emplace_back(value, call.whole, DType::F32);
  return operands;
}

void ChainProgram::finish(const FusedCall& call, const SpareVector<Operand>& operands, const ProductTile& piece,
                          DType dtype) const {
  ChainWorker worker(*this, call, operands);
  const bool together = piece.count == piece.step && piece.count == piece.row;
  const std::int64_t rows = together ? 1 : piece.rows, count = together ? piece.rows * piece.count : piece.count;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t first = piece.first + i * piece.step;
    const std::byte* const data = piece.data + i * piece.row * static_cast<std::int64_t>(size_of(dtype));
    if (dtype == DType::F32) {
      worker.finish(first, count, reinterpret_cast<const float*>(data));
      continue;
    }
    alignas(kVectorBytes) float numbers[2 * kBlock];
    for (std::int64_t at = 0; at < count; at += 2 * kBlock) {
      const std::int64_t some = std::min(2 * kBlock, count - at);
      convert(dtype, data + at * static_cast<std::int64_t>(size_of(dtype)), DType::F32, numbers, some);
      worker.finish(first + at, some, numbers);
    }
  }
  if (call.streams) finish_streaming();
}

}  // namespace kiln::cpu::simd
