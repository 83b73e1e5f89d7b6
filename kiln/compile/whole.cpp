#include "kiln/compile/whole.hpp"

#include <cmath>

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

/// Integers of 8 bits, or a whole number that is one of them, as int32.
std::optional<View> narrow(const View& view, From at) {
  if (at.from == From::Input) {
    const Operand& operand = view.value.in[at.index];
    if (!operand.is_number || !is_float(operand.dtype)) return {};
    const double number = operand.number.to<double>();
    if (number != std::floor(number) || std::fabs(number) > 255) return {};
    return number_view(static_cast<std::int64_t>(number), DType::I32, view.shape);
  }
  const auto* const cast = step_as<op::Cast>(view, at);
  const From from = cast ? operand_of(view, at, 0) : at;
  if (!cast || view.value.steps[at.index].dtype != DType::F32 || from.from != From::Input) return {};
  const Operand& operand = view.value.in[from.index];
  if (!is_integer(operand.dtype) || size_of(operand.dtype) != 1 || !is_element(operand)) return {};
  return combined(op::Cast{DType::I32}, DType::I32, view.shape, {alone(view, from.index)});
}

}  // namespace

std::optional<Scaled> scaled_whole(const View& view) {
  const From top = view.value.value;
  if (!is_binary(view, top, kMultiply)) return {};
  const From shifted = operand_of(view, top, 0), scale = operand_of(view, top, 1);
  if (scale.from != From::Input || shifted.from != From::Result) return {};
  const Operand& factor = view.value.in[scale.index];
  if (factor.dtype != DType::F32 || !is_element(factor)) return {};
  const bool shifts = is_binary(view, shifted, kSubtract);
  const auto whole = narrow(view, shifts ? operand_of(view, shifted, 0) : shifted);
  if (!whole || whole->is_number()) return {};
  if (!shifts) return Scaled{*whole, alone(view, scale.index)};
  const auto zero = narrow(view, operand_of(view, shifted, 1));
  if (!zero) return {};
  return Scaled{combined(kSubtract, DType::I32, view.shape, {*whole, *zero}), alone(view, scale.index)};
}

bool is_same_along(const View& factor, int dim) {
  const Operand& operand = factor.value.in[0];
  return operand.is_number || operand.access.strides[static_cast<std::size_t>(dim)] == 0;
}

bool sums_fit(std::int64_t terms) {
  constexpr std::int64_t kLargest = 255 * 255;
  return terms <= ((std::int64_t{1} << 31) - 1) / kLargest;
}

View rescaled(const View& sums, const View& a, const View& b) {
  const View floats = combined(op::Cast{DType::F32}, DType::F32, sums.shape, {sums});
  const View factor = combined(kMultiply, DType::F32, sums.shape, {a, b});
  return combined(kMultiply, DType::F32, sums.shape, {floats, factor});
}

}  // namespace kiln::compile
