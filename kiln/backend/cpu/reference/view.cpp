#include <algorithm>
#include <optional>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln::cpu::reference {
namespace {

/// Strides that show an array's elements as `shape`, or none: every run of dimensions that lie row-major among
/// themselves must be made of whole dimensions of the new shape.
std::optional<Dims> strides_as(const Array& from, const Shape& shape) {
  Dims strides = contiguous_strides(shape);
  if (from.contiguous()) return strides;
  int next = shape.size() - 1;  // the dimension of the new shape to place
  for (int dim = from.shape.size() - 1; dim >= 0;) {
    if (from.shape[dim] == 1) {
      --dim;
      continue;
    }
    const std::int64_t pace = from.strides[dim];
    std::int64_t run = from.shape[dim--];
    for (; dim >= 0 && (from.shape[dim] == 1 || from.strides[dim] == pace * run); --dim) run *= from.shape[dim];
    std::int64_t placed = 1;
    for (; next >= 0 && placed < run; --next) {
      strides[next] = pace * placed;
      placed *= shape[next];
    }
    if (placed != run) return {};
  }
  return strides;
}

/// Where the first element of a slice lies, as an offset in its array; an empty slice has none.
std::int64_t first_of(const Array& x, const Dims& begin, const Shape& size) {
  std::int64_t offset = 0;
  if (numel(size) == 0) return offset;
  for (int i = 0; i < begin.size(); ++i) offset += begin[i] * x.strides[i];
  return offset;
}

/// Steps along dimensions of one element or none may be of any size, as may the strides of an empty array.
Dims scaled(const Dims& strides, const Dims& step) {
  Dims result = strides;
  for (int i = 0; i < step.size(); ++i) result[i] = wrapping_multiply(result[i], step[i]);
  return result;
}

}  // namespace

void run(const op::Reshape& op, Call call) {
  const Array x = read(call.in[0]);
  if (const auto strides = strides_as(x, op.shape))
    return alias(call.out[0], call.in[0], *strides, call.in[0].node()->offset);
  Array z = allocate(call.out[0]);
  z.shape = x.shape;
  z.strides = contiguous_strides(x.shape);
  copy(x, z);
}

void run(const op::Permute& op, Call call) {
  const Node& x = *call.in[0].node();
  Dims strides;
  for (const auto dim : op.dims) strides.push_back(x.strides[static_cast<int>(dim)]);
  alias(call.out[0], call.in[0], strides, x.offset);
}

void run(const op::Expand& op, Call call) {
  alias(call.out[0], call.in[0], broadcast_to(read(call.in[0]), op.shape).strides, call.in[0].node()->offset);
}

void run(const op::Slice& op, Call call) {
  const Array x = read(call.in[0]);
  const std::int64_t offset = call.in[0].node()->offset + first_of(x, op.begin, op.size);
  alias(call.out[0], call.in[0], scaled(x.strides, op.step), offset);
}

void run(const op::SliceAssign& op, Call call) {
  const Array x = read(call.in[op::SliceAssign::x]), value = read(call.in[op::SliceAssign::value]);
  const Array z = allocate(call.out[0]);
  copy(x, z);
  const std::int64_t offset = first_of(z, op.begin, value.shape) * static_cast<std::int64_t>(size_of(z.dtype));
  copy(value, {.data = z.data + offset, .dtype = z.dtype, .shape = value.shape, .strides = scaled(z.strides, op.step)});
}

void run(const op::Unfold& op, Call call) {
  const Node& x = *call.in[0].node();
  Dims strides = x.strides;
  strides.push_back(wrapping_multiply(strides[op.dim], op.dilation));
  strides[op.dim] = wrapping_multiply(strides[op.dim], op.step);
  alias(call.out[0], call.in[0], strides, x.offset);
}

void run(const op::Fold& op, Call call) {
  const Array x = read(call.in[0]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    Result<C> result(call.out[0]);
    const RowMajor<C> windows(x);
    const std::int64_t size = x.shape.back(), count = x.shape[op.dim];
    std::int64_t outer = 1, inner = 1;
    for (int i = 0; i < op.dim; ++i) outer *= x.shape[i];
    for (int i = op.dim + 1; i + 1 < x.shape.size(); ++i) inner *= x.shape[i];
    std::fill_n(result.data(), outer * op.length * inner, C{0});
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t k = 0; k < size; ++k)
        for (std::int64_t w = 0; w < count; ++w)
          for (std::int64_t i = 0; i < inner; ++i) {
            C& element = result[(o * op.length + w * op.step + k * op.dilation) * inner + i];
            element = wrapping_add(element, windows[((o * count + w) * inner + i) * size + k]);
          }
    result.store();
  });
}

}  // namespace kiln::cpu::reference
