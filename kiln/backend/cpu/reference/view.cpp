#include <algorithm>

#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/strided/views.hpp"
#include "kiln/core/wrapping.hpp"

namespace kiln::cpu::reference {

template <>
void run(const op::Reshape& op, Call call) {
  if (strided::run(op, call)) return;
  const Array x = read(call.in[0]);
  Array z = allocate(call.out[0]);
  z.shape = x.shape;
  z.strides = contiguous_strides(x.shape);
  copy(x, z);
}

template <>
void run(const op::Permute& op, Call call) {
  strided::run(op, call);
}
template <>
void run(const op::Expand& op, Call call) {
  strided::run(op, call);
}
template <>
void run(const op::Slice& op, Call call) {
  strided::run(op, call);
}
template <>
void run(const op::Unfold& op, Call call) {
  strided::run(op, call);
}

template <>
void run(const op::SliceAssign& op, Call call) {
  const Array x = read(call.in[op::SliceAssign::x]), value = read(call.in[op::SliceAssign::value]);
  const bool in_place = reuse_memory(call.out[0], contiguous_strides(x.shape), call, op::SliceAssign::x);
  const Array z = allocate(call.out[0]);
  if (!in_place) copy(x, z);
  const std::int64_t offset =
      strided::slice_offset(z.strides, op.begin, value.shape) * static_cast<std::int64_t>(size_of(z.dtype));
  copy(value, {.data = z.data + offset,
               .dtype = z.dtype,
               .shape = value.shape,
               .strides = strided::stepped_strides(z.strides, op.step)});
}

template <>
void run(const op::Fold& op, Call call) {
  const Array x = read(call.in[0]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    Result<C> result(call.out[0]);
    const RowMajor<C> windows(x);
    const auto [outer, count, inner] = Lines(Shape(x.shape.begin(), x.shape.end() - 1), op.dim);
    const std::int64_t size = x.shape.back();
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
