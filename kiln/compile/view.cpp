#include "kiln/compile/view.hpp"

#include <algorithm>

#include "kiln/backend/strided/strided.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::compile {

const op::Binary kAdd{op::BinaryFn::Add}, kSubtract{op::BinaryFn::Sub}, kMultiply{op::BinaryFn::Mul},
    kDivide{op::BinaryFn::Div}, kLess{op::BinaryFn::Less}, kEqual{op::BinaryFn::Equal}, kMaximum{op::BinaryFn::Maximum},
    kMinimum{op::BinaryFn::Minimum};

namespace {

template <class F>
void each_access(View& view, F&& f) {
  for (Operand& operand : view.value.in)
    if (!operand.is_number) f(operand.access);
}
Dims dims_of(const Counts& strides) { return Dims(strides.begin(), strides.end()); }
Counts counts_of(const Dims& dims) { return Counts(dims.begin(), dims.end()); }

bool same(const Operand& a, const Operand& b) {
  return !a.is_number && !b.is_number && a.access.index < 0 && b.access.index < 0 &&
         a.access.buffer == b.access.buffer && a.access.offset == b.access.offset &&
         a.access.strides == b.access.strides;
}

}  // namespace

std::int64_t Program::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers)
    if (buffer.place == Buffer::Place::Constant && !buffer.merged) bytes += buffer.bytes();
  return bytes;
}

bool View::is_plain() const {
  if (!value.steps.empty() || value.value.from != op::ProgramOperand::Input) return false;
  const Operand& operand = value.in[value.value.index];
  return !operand.is_number && operand.access.index < 0;
}
bool View::is_number() const { return value.steps.empty() && value.in[value.value.index].is_number; }

bool View::is_cheap(const Program& program) const {
  constexpr std::size_t kFewSteps = 5;
  if (value.steps.size() > kFewSteps) return false;
  const bool narrow = std::ranges::any_of(value.in, [&](const Operand& operand) {
    return !operand.is_number && size_of(operand.dtype) == 1 && program[operand.access.buffer].count > 1;
  });
  return narrow && std::ranges::all_of(value.steps, [](const op::ProgramStep& step) {
           if (const auto* binary = std::get_if<op::Binary>(&step.op))
             return binary->fn == op::BinaryFn::Add || binary->fn == op::BinaryFn::Sub ||
                    binary->fn == op::BinaryFn::Mul;
           return std::holds_alternative<op::Cast>(step.op);
         });
}

View number_view(const Scalar& number, DType dtype, const Shape& shape) {
  View view{shape, {}};
  view.value.in.push_back({true, number, dtype, {}});
  return view;
}

View buffer_view(int buffer, DType dtype, const Shape& shape) {
  View view{shape, {}};
  view.value.in.push_back({false, {}, dtype, {buffer, 0, counts_of(contiguous_strides(shape))}});
  return view;
}

bool reshaped(View& view, const Shape& shape) {
  View moved = view;
  moved.shape = shape;
  bool possible = true;
  each_access(moved, [&](Access& access) {
    const auto strides = strided::reshaped_strides(view.shape, dims_of(access.strides), shape);
    if (strides) access.strides = counts_of(*strides);
    else possible = false;
  });
  if (possible) view = std::move(moved);
  return possible;
}

View permuted(View view, const Dims& dims) {
  const Shape before = view.shape;
  for (int i = 0; i < dims.size(); ++i) view.shape[i] = before[static_cast<int>(dims[i])];
  each_access(view, [&](Access& access) {
    const Counts strides = access.strides;
    for (int i = 0; i < dims.size(); ++i)
      access.strides[static_cast<std::size_t>(i)] = strides[static_cast<std::size_t>(dims[i])];
  });
  return view;
}

View expanded(View view, const Shape& shape) {
  each_access(view, [&](Access& access) {
    access.strides = counts_of(strided::broadcast_strides(view.shape, dims_of(access.strides), shape));
  });
  view.shape = shape;
  return view;
}

View sliced(View view, const Dims& begin, const Dims& step, const Shape& size) {
  each_access(view, [&](Access& access) {
    access.offset += strided::slice_offset(dims_of(access.strides), begin, size);
    access.strides = counts_of(strided::stepped_strides(dims_of(access.strides), step));
  });
  view.shape = size;
  return view;
}

View unfolded(View view, int dim, std::int64_t step, std::int64_t dilation, const Shape& shape) {
  each_access(view, [&](Access& access) {
    std::int64_t& along = access.strides[static_cast<std::size_t>(dim)];
    const std::int64_t inside = along * dilation;
    along *= step;
    access.strides.push_back(inside);
  });
  view.shape = shape;
  return view;
}

op::ProgramOperand append(Expression& whole, const Expression& part) {
  std::vector<std::uint16_t> places;
  for (const Operand& operand : part.in) {
    const auto known = std::ranges::find_if(whole.in, [&](const Operand& other) { return same(other, operand); });
    places.push_back(static_cast<std::uint16_t>(known - whole.in.begin()));
    if (known != whole.in.end()) continue;
    whole.in.push_back(operand);
    // The index of a place stands before the place itself.
    int& index = whole.in.back().access.index;
    if (!operand.is_number && index >= 0) index = places[static_cast<std::size_t>(index)];
  }
  const std::size_t base = whole.steps.size();
  const auto moved = [&](op::ProgramOperand operand) {
    operand.index = operand.from == op::ProgramOperand::Input ? places[operand.index]
                                                              : static_cast<std::uint16_t>(operand.index + base);
    return operand;
  };
  for (op::ProgramStep step : part.steps) {
    for (int i = 0; i < op::arity(step.op); ++i) {
      op::ProgramOperand& in = step.in[static_cast<std::size_t>(i)];
      in = moved(in);
    }
    whole.steps.push_back(std::move(step));
  }
  return moved(part.value);
}

View combined(const op::Elementwise& op, DType dtype, const Shape& shape, const std::vector<View>& operands) {
  View view{shape, {}};
  op::ProgramStep step{op, {}, dtype};
  for (std::size_t i = 0; i < operands.size(); ++i) step.in[i] = append(view.value, operands[i].value);
  view.value.value = {op::ProgramOperand::Result, static_cast<std::uint16_t>(view.value.steps.size())};
  view.value.steps.push_back(step);
  return view;
}

}  // namespace kiln::compile
