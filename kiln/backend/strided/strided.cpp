#include "kiln/backend/strided/strided.hpp"

#include <algorithm>

#include "kiln/core/wrapping.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::strided {

bool is_contiguous(const Shape& shape, const Dims& strides) {
  std::int64_t expected = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected = wrapping_multiply(expected, shape[i]);  // as contiguous_strides() does for empty tensors
  }
  return true;
}

bool is_dense(const Shape& shape, const Dims& strides) {
  InlineList<int, kMaxRank> order;  // from the largest stride to the smallest
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return false;
    if (shape[i] == 1) continue;
    int at = order.size();
    while (at > 0 && strides[order[at - 1]] < strides[i]) --at;
    order.insert(at, i);
  }
  std::int64_t expected = 1;
  for (int i = order.size() - 1; i >= 0; --i) {
    if (strides[order[i]] != expected) return false;
    expected *= shape[order[i]];
  }
  return true;
}

bool same_order(const Shape& shape, const Dims& a, const Dims& b) {
  for (int i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && a[i] != b[i]) return false;
  return true;
}

namespace {

/// The memory order that elementwise results of this shape take from an operand; null where that is row-major.
const Dims* order_from(const Value& operand, const Shape& shape) {
  if (!operand.node() || operand.shape() != shape) return nullptr;
  const Dims& strides = operand.node()->strides;
  return is_contiguous(shape, strides) || !is_dense(shape, strides) ? nullptr : &strides;
}

}  // namespace

Dims follow_order(const Shape& shape, Inputs in) {
  for (const Value& value : in)
    if (const Dims* const order = order_from(value, shape)) return *order;
  return contiguous_strides(shape);
}

std::optional<Dims> result_order(const op::Program& program, const Shape& shape, Inputs in, const Dims* missing) {
  using Operand = op::ProgramOperand;
  if (missing && is_contiguous(shape, *missing)) missing = nullptr;
  SpareVector<const Dims*> given, made;
  for (const Value& value : in) given.push_back(value ? order_from(value, shape) : missing);
  if (std::ranges::all_of(given, [](const Dims* order) { return !order; })) return contiguous_strides(shape);
  for (const op::ProgramStep& step : program.steps) {
    const Dims* order = nullptr;
    for (int k = 0; k < op::arity(step.op) && !order; ++k) {
      const Operand from = step.in[static_cast<std::size_t>(k)];
      order = (from.from == Operand::Input ? given : made)[from.index];
    }
    made.push_back(order);
  }
  SpareVector<std::uint16_t> results(program.outputs);
  for (const op::Program::Fold& fold : program.folds) results.push_back(fold.step);
  const Dims* const first = made[results[0]];
  for (const std::uint16_t result : results)
    if (made[result] != first && !(made[result] && first && same_order(shape, *made[result], *first))) return {};
  return first ? *first : contiguous_strides(shape);
}

Dims broadcast_strides(const Shape& from, const Dims& strides, const Shape& shape) {
  Dims result = Dims::filled(shape.size(), 0);
  const int added = shape.size() - from.size();
  KILN_CHECK(added >= 0);
  for (int i = 0; i < from.size(); ++i) {
    KILN_CHECK(from[i] == 1 || from[i] == shape[added + i]);
    if (from[i] != 1) result[added + i] = strides[i];
  }
  return result;
}

// Every run of dimensions that are contiguous to each other must consist of whole dimensions of the new shape.
std::optional<Dims> reshaped_strides(const Shape& from, const Dims& strides, const Shape& shape) {
  Dims result = contiguous_strides(shape);
  if (is_contiguous(from, strides)) return result;
  int next = shape.size() - 1;  // the dimension of the new shape to place
  for (int dim = from.size() - 1; dim >= 0;) {
    if (from[dim] == 1) {
      --dim;
      continue;
    }
    const std::int64_t pace = strides[dim];
    std::int64_t run = from[dim--];
    for (; dim >= 0 && (from[dim] == 1 || strides[dim] == pace * run); --dim) run *= from[dim];
    std::int64_t with_layout = 1;
    for (; next >= 0 && with_layout < run; --next) {
      result[next] = pace * with_layout;
      with_layout *= shape[next];
    }
    if (with_layout != run) return {};
  }
  return result;
}

std::int64_t slice_offset(const Dims& strides, const Dims& begin, const Shape& size) {
  std::int64_t offset = 0;
  if (numel(size) == 0) return offset;
  for (int i = 0; i < begin.size(); ++i) offset += begin[i] * strides[i];
  return offset;
}

// Steps along dimensions of at most one element may have any size, as may the strides of an empty array.
Dims stepped_strides(const Dims& strides, const Dims& step) {
  Dims result = strides;
  for (int i = 0; i < step.size(); ++i) result[i] = wrapping_multiply(result[i], step[i]);
  return result;
}

void alias(Value& result, const Value& operand, const Dims& strides, std::int64_t offset) {
  Node& node = *result.node();
  node.storage = operand.node()->storage;
  node.strides = strides;
  node.offset = offset;
}

}  // namespace kiln::strided
