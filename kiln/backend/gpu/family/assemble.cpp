// Tensors put together of others: Cat, SliceAssign; and Fold, which adds up windows.
#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

/// Parts of each line of the result, one behind the other, from memory of their own.
struct CatKernel {
  DType word, index;
  int parts, width;  // an item is `width` words

  static constexpr int kMost = 16;  // parts

  Kernel kernel() const {
    Builder k("cat", kThreads);
    std::vector<Buffer> from;
    std::vector<Expr> ends;  // of each part, in the items of a line
    for (int i = 0; i < parts; ++i) from.push_back(k.input(word));
    const Buffer z = k.output(word);
    const Expr all = k.number(index), pitch = k.number(index), begin = k.number(index);
    for (int i = 0; i < parts; ++i) ends.push_back(k.number(index));
    const Expr item = k.place(index);
    k.when(item < all, [&] {
      const Expr line = item / ends.back(), at = item % ends.back();
      const Expr to = (line * pitch + begin + at) * width;
      find(k, ends, at, 0, from.size(), [&](std::size_t part) {
        const Expr start = part ? ends[part - 1] : k.literal(index, 0);
        z.store(to, from[part].load((line * (ends[part] - start) + at - start) * width, width));
      });
    });
    return k.finish();
  }

 private:
  /// Halves the parts that may be meant until one is left.
  template <class F>
  static void find(Builder& k, const std::vector<Expr>& ends, const Expr& at, std::size_t first, std::size_t last,
                   F&& f) {
    if (last - first == 1) return f(first);
    const std::size_t middle = (first + last) / 2;
    k.when(
        at < ends[middle - 1], [&] { find(k, ends, at, first, middle, f); },
        [&] { find(k, ends, at, middle, last, f); });
  }
};

/// Contiguous parts of [outer, each, inner] to where they belong in z, which begins `begin` elements behind that of its
/// lines.
void cat(Gpu& gpu, std::span<const Array> parts, const Array& z, std::int64_t outer, std::int64_t pitch,
         std::int64_t begin) {
  const auto size = static_cast<std::int64_t>(size_of(z.dtype));
  std::int64_t bytes = 16;
  const auto fit = [&](std::int64_t place) {
    while (bytes > size && place % bytes != 0) bytes /= 2;
  };
  fit(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(z.data)));
  fit(pitch * size);
  fit(begin * size);
  for (const Array& part : parts) {
    fit(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(part.data)));
    fit(part.numel() / outer * size);
  }
  const std::int64_t each = bytes / size, word = std::min<std::int64_t>(bytes, 8);
  std::vector<Argument> arguments, ends;
  std::int64_t end = 0;
  for (const Array& part : parts) {
    arguments.emplace_back(part);
    ends.emplace_back(end += part.numel() / outer / each);
  }
  arguments.insert(arguments.end(), {z, outer * end, pitch / each, begin / each});
  arguments.insert(arguments.end(), ends.begin(), ends.end());
  gpu.launch(CatKernel{word_of(static_cast<std::size_t>(word)), index_type(z.numel()), static_cast<int>(parts.size()),
                       static_cast<int>(bytes / word)},
             blocks_for(outer * end, kThreads), arguments);
}

/// An element of the result adds up all that show it, in their order within the window.
struct FoldKernel {
  DType dtype, index;

  Kernel kernel() const {
    Builder k("fold", kThreads);
    const Buffer windows = k.input(dtype), z = k.output(dtype);
    const Expr all = k.number(index), length = k.number(index), inner = k.number(index);
    const Expr count = k.number(index), size = k.number(index);  // of windows, and of the elements of one
    const Expr step = k.number(index), dilation = k.number(index);
    const Expr element = k.place(index);
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
  if (z.numel() == 0) return true;
  const int dim = wrap_dim(op::Cat::kName, op.dim, z.shape.size());
  const std::int64_t inner = z.strides[dim], pitch = z.shape[dim] * inner, outer = z.numel() / pitch;
  std::vector<Array> group;
  std::int64_t at = 0, begin = 0;  // of the next part, and of the group
  const auto flush = [&] {
    if (!group.empty()) cat(gpu, group, z, outer, pitch, begin);
    group.clear();
    begin = at;
  };
  for (const Value& value : call.in) {
    const Array part = read(value);
    if (part.numel() == 0) continue;
    const std::int64_t each = part.shape[dim] * inner;
    if (part.contiguous()) {
      group.push_back(part);
    } else {
      flush();
      copy(gpu, part, {z.data + at * static_cast<std::int64_t>(size_of(z.dtype)), z.dtype, part.shape, z.strides});
    }
    at += each;
    if (!part.contiguous()) begin = at;
    if (group.size() == CatKernel::kMost) flush();
  }
  flush();
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
