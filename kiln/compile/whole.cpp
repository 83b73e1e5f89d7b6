#include "kiln/compile/whole.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace kiln::compile {
namespace {

using From = op::ProgramOperand;

template <class Op>
const Op* step_as(const View& view, From at) {
  if (at.from != From::Result) return nullptr;
  return std::get_if<Op>(&view.value.steps[at.index].op);
}
From operand_of(const View& view, From at, std::size_t i) { return view.value.steps[at.index].in[i]; }

bool is_binary(const View& view, From at, const op::Binary& wanted) {
  const auto* const binary = step_as<op::Binary>(view, at);
  return binary && binary->fn == wanted.fn && view.value.steps[at.index].dtype == DType::F32;
}

/// An operand as a view of its own.
View alone(const View& view, std::uint16_t operand) {
  View part{view.shape, {}};
  part.value.in = {view.value.in[operand]};
  part.value.value = {From::Input, 0};
  return part;
}

bool is_element(const Operand& operand) { return operand.is_number || operand.access.index < 0; }

/// The operand of a step that a cast to float32 may stand before.
const Operand* uncast(const View& view, From at) {
  if (step_as<op::Cast>(view, at)) at = operand_of(view, at, 0);
  return at.from == From::Input ? &view.value.in[at.index] : nullptr;
}

/// Elements of 8-bit integers that are cast to float32, as int32.
std::optional<View> narrow(const View& view, From at) {
  const auto* const cast = step_as<op::Cast>(view, at);
  const Operand* const operand = uncast(view, at);
  if (!cast || !operand || view.value.steps[at.index].dtype != DType::F32) return {};
  if (operand->is_number || operand->access.index >= 0) return {};
  if (!is_integer(operand->dtype) || size_of(operand->dtype) != 1) return {};
  return combined(op::Cast{DType::I32}, DType::I32, view.shape, {alone(view, operand_of(view, at, 0).index)});
}

/// The number that an operand is everywhere: a number, or a constant of equal elements.
std::optional<double> same_everywhere(const Program& program, const Operand& operand) {
  if (operand.is_number) return operand.number.to<double>();
  const Buffer& buffer = program[operand.access.buffer];
  if (!is_element(operand) || buffer.place != Buffer::Place::Constant || buffer.count == 0) return {};
  const std::vector<double> numbers = buffer.data.to_vector<double>();
  if (std::ranges::adjacent_find(numbers, std::not_equal_to<>()) != numbers.end()) return {};
  return numbers[0];
}

/// Integers less their zero point, which is one number or has the integers' type.
std::optional<View> shifted_by(const Program& program, const View& whole, const View& view, From zero) {
  const Operand* const operand = uncast(view, zero);
  const auto number = operand ? same_everywhere(program, *operand) : std::nullopt;
  if (!number) {
    const auto point = narrow(view, zero);
    if (!point) return {};
    return combined(kSubtract, DType::I32, view.shape, {whole, *point});
  }
  if (*number == 0) return whole;
  if (*number != std::floor(*number) || *number < -128 || *number > 255) return {};
  const View point = number_view(static_cast<std::int64_t>(*number), DType::I32, view.shape);
  return combined(kSubtract, DType::I32, view.shape, {whole, point});
}

}  // namespace

std::optional<Scaled> scaled_whole(const Program& program, const View& view) {
  const From top = view.value.value;
  if (!is_binary(view, top, kMultiply)) return {};
  const From shifted = operand_of(view, top, 0), scale = operand_of(view, top, 1);
  if (scale.from != From::Input || shifted.from != From::Result) return {};
  const Operand& factor = view.value.in[scale.index];
  if (factor.dtype != DType::F32 || !is_element(factor)) return {};
  const bool shifts = is_binary(view, shifted, kSubtract);
  const auto whole = narrow(view, shifts ? operand_of(view, shifted, 0) : shifted);
  if (!whole) return {};
  const auto moved = shifts ? shifted_by(program, *whole, view, operand_of(view, shifted, 1)) : whole;
  if (!moved) return {};
  return Scaled{*moved, alone(view, scale.index)};
}

bool is_same_along(const View& factor, int dim) {
  const Operand& operand = factor.value.in[0];
  return operand.is_number || operand.access.strides[static_cast<std::size_t>(dim)] == 0;
}

bool sums_fit(std::int64_t terms) {
  constexpr std::int64_t kLargest = (128 + 255) * (128 + 255);  // of int8 less uint8, or uint8 less int8
  return terms <= ((std::int64_t{1} << 31) - 1) / kLargest;
}

View rescaled(const View& sums, const View& a, const View& b) {
  const View floats = combined(op::Cast{DType::F32}, DType::F32, sums.shape, {sums});
  const View factor = combined(kMultiply, DType::F32, sums.shape, {a, b});
  return combined(kMultiply, DType::F32, sums.shape, {floats, factor});
}

}  // namespace kiln::compile
