// Tensors put together of others: Cat, SliceAssign; and Fold, which adds up windows.
#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

constexpr int kThreads = 256;

/// An element of the result adds up all that show it, in their order within the window.
struct FoldKernel {
  DType dtype, index;

  Kernel kernel() const {
    Builder k("fold", kThreads);
    const Buffer windows = k.input(dtype), z = k.output(dtype);
    const Expr all = k.number(index), length = k.number(index), inner = k.number(index);
    const Expr count = k.number(index), size = k.number(index);  // of windows, and of the elements of one
    const Expr step = k.number(index), dilation = k.number(index);
    const Expr element = k.block().as(index) * kThreads + k.thread().as(index);
    k.when(element < all, [&] {
      const Expr i = element % inner, at = element / inner % length, outer = element / inner / length;
      const Expr zero = k.literal(index, 0), one = k.literal(index, 1);
      const Local sum = k.variable(k.literal(expr::computed_in(dtype), 0));
      // Without dilation it is known which elements of windows can be meant.
      const Expr close = dilation == one;
      k.loop(select(close, at % step, zero), size, select(close, step, one), [&](const Expr& place) {
        const Expr begin = at - place * dilation, window = begin / step;
        k.when((begin >= 0) & (begin % step == 0) & (window < count),
               [&] { sum.set(sum + windows[((outer * count + window) * inner + i) * size + place]); });
      });
      z.store(element, dtype == DType::Bool ? (sum != 0).as(DType::I32) : Expr(sum));
    });
    return k.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::Cat& op, Call call) {
  const Array z = gpu.allocate(call.out[0]);
  const int dim = wrap_dim(op::Cat::kName, op.dim, z.shape.size());
  Array part = z;
  for (const Value& value : call.in) {
    part.shape = value.shape();
    copy(gpu, read(value), part);
    part.data += part.shape[dim] * z.strides[dim] * static_cast<std::int64_t>(size_of(z.dtype));
  }
  return true;
}

bool run(Gpu& gpu, const op::SliceAssign& op, Call call) {
  const Array x = read(call.in[op::SliceAssign::x]), value = read(call.in[op::SliceAssign::value]);
  const bool in_place = gpu.take_memory(call.out[0], contiguous_strides(x.shape), call, op::SliceAssign::x);
  const Array z = gpu.allocate(call.out[0]);
  if (!in_place) copy(gpu, x, z);
  const std::int64_t offset =
      strided::slice_offset(z.strides, op.begin, value.shape) * static_cast<std::int64_t>(size_of(z.dtype));
  copy(gpu, value, {z.data + offset, z.dtype, value.shape, strided::stepped_strides(z.strides, op.step)});
  return true;
}

bool run(Gpu& gpu, const op::Fold& op, Call call) {
  Value held;
  const Array x = gpu.read_contiguous(call.in[0], held), z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  std::int64_t inner = 1;
  for (int i = op.dim + 1; i < z.shape.size(); ++i) inner *= z.shape[i];
  gpu.launch(FoldKernel{z.dtype, index_type(std::max(x.numel(), z.numel()))}, blocks_for(z.numel(), kThreads),
             {x, z, z.numel(), op.length, inner, x.shape[op.dim], x.shape.back(), op.step, op.dilation});
  return true;
}

}  // namespace kiln::gpu::family
