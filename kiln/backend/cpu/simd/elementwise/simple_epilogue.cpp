#include "kiln/backend/cpu/simd/elementwise/simple_epilogue.hpp"

#include <limits>

#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

/// Reads a program step by step: a row or a tensor is added, then low and high bounds follow, each at most once.
class FinishReader {
  using Source = op::ProgramOperand;

 public:
  FinishReader(const op::Epilogue& op, Inputs in, const Dims& order)
      : program_(*op.program),
        product_(op.input),
        in_(in),
        order_(order),
        columns_(op.result.shape.empty() ? 0 : op.result.shape.back()),
        has_rows_(std::holds_alternative<op::Matmul>(op.product) && program_.shape.back() == columns_) {}

  const SimpleEpilogue& finish() const { return finish_; }

  /// False where the step is none that a kernel does by itself.
  bool take(std::size_t i) {
    const op::ProgramStep& step = program_.steps[i];
    const auto* const unary = std::get_if<op::Unary>(&step.op);
    const auto* const binary = std::get_if<op::Binary>(&step.op);
    const bool first = is_value(step.in[0], i), second = binary && is_value(step.in[1], i);
    if (step.dtype != DType::F32 || first == second) return false;
    if (unary && unary->fn == op::UnaryFn::Relu) return raise(0.0f);
    if (unary && unary->fn == op::UnaryFn::Relu6) return raise(0.0f) && lower(6.0f);
    if (binary && binary->fn == op::BinaryFn::Add) return add(step.in[first ? 1 : 0]);
    if (binary && binary->fn == op::BinaryFn::Maximum) return first && raise(number(step.in[1]));
    if (binary && binary->fn == op::BinaryFn::Minimum) return first && lower(number(step.in[1]));
    return false;
  }

 private:
  /// Is it what the step before has made, or the product?
  bool is_value(const Source& from, std::size_t step) const {
    return step == 0 ? from.from == Source::Input && from.index == product_
                     : from.from == Source::Result && from.index + std::size_t{1} == step;
  }

  std::optional<float> number(const Source& from) const {
    if (from.from != Source::Input || from.index == product_) return {};
    const Value& value = in_[from.index];
    if (value.is_scalar()) return value.scalar().to<float>();
    if (value.dtype() != DType::F32 || value.numel() != 1) return {};
    return *read(value).as<float>();
  }

  bool raise(std::optional<float> low) {
    if (!low || done_ > Added || *low != *low) return false;
    finish_.low = *low, done_ = Raised;
    return true;
  }
  bool lower(std::optional<float> high) {
    if (!high || done_ > Raised || *high != *high) return false;
    finish_.high = *high, done_ = Lowered;
    return true;
  }
  bool add(const Source& other) {
    if (done_ > Biased || other.from != Source::Input || other.index == product_) return false;
    const Value& value = in_[other.index];
    if (value.is_scalar() || value.dtype() != DType::F32) return false;
    const Array array = read(value);
    const bool is_row = value.shape() != program_.shape;
    if (is_row) {
      if (done_ != Nothing || !has_rows_ || value.rank() == 0 || value.numel() != columns_ ||
          array.shape.back() != columns_ || (columns_ > 1 && array.strides.back() != 1))
        return false;
      finish_.bias = array.as<float>(), done_ = Biased;
    } else {
      if (array.strides != order_) return false;
      finish_.more = array.as<float>(), done_ = Added;
    }
    return true;
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  const op::Program& program_;
  const std::size_t product_;  // which input of the program it is
  const Inputs in_;
  const Dims& order_;
  const std::int64_t columns_;
  const bool has_rows_;  // may a row be added to each of the product's?
  SimpleEpilogue finish_{nullptr, nullptr, nullptr, -kInfinity, kInfinity};
  enum { Nothing, Biased, Added, Raised, Lowered } done_ = Nothing;
};

}  // namespace

std::optional<SimpleEpilogue> simple_epilogue(const op::Epilogue& op, Inputs in, const Array& result,
                                              const Dims& order) {
  const op::Program& program = *op.program;
  if (program.outputs.size() != 1 || program.outputs[0] + std::size_t{1} != program.steps.size()) return {};
  if (result.dtype != DType::F32 || !program.folds.empty()) return {};
  FinishReader reader(op, in, order);
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    if (!reader.take(i)) return {};
  SimpleEpilogue finish = reader.finish();
  finish.to = result.as<float>();
  return finish;
}

}  // namespace kiln::cpu::simd
