#include "kiln/backend/cpu/simd/elementwise/simple_finish.hpp"

#include <limits>

#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {

std::optional<Finish> simple_finish(const op::Epilogue& op, Inputs in, const Array& result, const Dims& order) {
  const op::Program& program = *op.program;
  const std::size_t product = op.input;
  using Source = op::Program::Operand;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Finish finish{nullptr, nullptr, nullptr, -kInfinity, kInfinity};
  enum { Nothing, Biased, Added, Raised, Lowered } done = Nothing;
  const std::int64_t columns = op.result.shape.empty() ? 0 : op.result.shape.back();
  const bool has_rows = std::holds_alternative<op::Matmul>(op.product) && program.shape.back() == columns;
  const auto is_value = [&](const Source& from, std::size_t step) {
    return step == 0 ? from.from == Source::Input && from.index == product
                     : from.from == Source::Result && from.index + std::size_t{1} == step;
  };
  const auto number = [&](const Source& from) -> std::optional<float> {
    if (from.from != Source::Input || from.index == product) return {};
    const Value& value = in[from.index];
    if (value.is_scalar()) return value.scalar().to<float>();
    if (value.dtype() != DType::F32 || value.numel() != 1) return {};
    return *read(value).as<float>();
  };
  const auto raise = [&](std::optional<float> low) {
    if (!low || done > Added || *low != *low) return false;
    finish.low = *low, done = Raised;
    return true;
  };
  const auto lower = [&](std::optional<float> high) {
    if (!high || done > Raised || *high != *high) return false;
    finish.high = *high, done = Lowered;
    return true;
  };
  const auto add = [&](const Source& other) {
    if (done > Biased || other.from != Source::Input || other.index == product) return false;
    const Value& value = in[other.index];
    if (value.is_scalar() || value.dtype() != DType::F32) return false;
    const Array array = read(value);
    const bool is_row = value.shape() != program.shape;
    if (is_row) {
      if (done != Nothing || !has_rows || value.rank() == 0 || value.numel() != columns ||
          array.shape.back() != columns || (columns > 1 && array.strides.back() != 1))
        return false;
      finish.bias = array.as<float>(), done = Biased;
    } else {
      if (array.strides != order) return false;
      finish.more = array.as<float>(), done = Added;
    }
    return true;
  };
  if (program.outputs.size() != 1 || program.outputs[0] + std::size_t{1} != program.steps.size()) return {};
  if (result.dtype != DType::F32 || !program.folds.empty()) return {};
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const op::Program::Step& step = program.steps[i];
    const auto* const unary = std::get_if<op::Unary>(&step.op);
    const auto* const binary = std::get_if<op::Binary>(&step.op);
    const bool first = is_value(step.in[0], i), second = binary && is_value(step.in[1], i);
    bool fine = false;
    if (step.dtype != DType::F32 || first == second) return {};
    if (unary && unary->fn == op::UnaryFn::Relu) fine = raise(0.0f);
    else if (unary && unary->fn == op::UnaryFn::Relu6) fine = raise(0.0f) && lower(6.0f);
    else if (binary && binary->fn == op::BinaryFn::Add) fine = add(step.in[first ? 1 : 0]);
    else if (binary && binary->fn == op::BinaryFn::Maximum) fine = first && raise(number(step.in[1]));
    else if (binary && binary->fn == op::BinaryFn::Minimum) fine = first && lower(number(step.in[1]));
    if (!fine) return {};
  }
  finish.to = result.as<float>();
  return finish;
}

}  // namespace kiln::cpu::simd
