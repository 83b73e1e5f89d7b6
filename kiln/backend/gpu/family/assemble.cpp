// Assembles tensors from others: Cat, Ravel, SliceAssign; and Fold, which sums overlapping windows.
#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

/// Concatenates parts that are separate arrays into each line of the result: as words that are copied unchanged, or as
/// elements that are converted.
struct CatKernel {
  DType from_type, to_type, index;
  int parts, width;  // `width` words or elements per item

  static constexpr int kMost = 16;  // the most parts

  Kernel kernel() const {
    Builder k("cat", kThreads);
    std::vector<Buffer> from;
    std::vector<Expr> ends;  // where each part ends, in items of a line
    for (int i = 0; i < parts; ++i) from.push_back(k.input(from_type));
    const Buffer z = k.output(to_type);
    const Expr all = k.number(index), pitch = k.number(index), begin = k.number(index);
    for (int i = 0; i < parts; ++i) ends.push_back(k.number(index));
    const Expr item = k.place(index);
    k.when(item < all, [&] {
      const Expr line = item / ends.back(), at = item % ends.back();
      const Expr to = (line * pitch + begin + at) * width;
      find(k, ends, at, 0, from.size(), [&](std::size_t part) {
        const Expr start = part ? ends[part - 1] : k.literal(index, 0);
        std::vector<Expr> item = from[part].load((line * (ends[part] - start) + at - start) * width, width);
        for (Expr& each : item) each = k.convert(each, from_type, to_type);
        z.store(to, item);
      });
    });
    return k.finish();
  }

 private:
  /// Binary search for the part that contains `at`.
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

/// Copies contiguous parts, each seen as [outer, length, inner] and all of one type, to z, whose lines have `pitch`
/// elements, from element `begin` of each line on.
void cat(Gpu& gpu, std::span<const Array> parts, const Array& z, std::int64_t outer, std::int64_t pitch,
         std::int64_t begin) {
  const auto to_size = static_cast<std::int64_t>(size_of(z.dtype));
  const auto from_size = static_cast<std::int64_t>(size_of(parts[0].dtype));
  std::int64_t each = 16 / std::max(to_size, from_size);  // elements per item
  const auto fit = [&](std::int64_t count) {
    while (count % each != 0) each /= 2;
  };
  const auto fit_address = [&](const Array& array, std::int64_t size) {
    while (!is_aligned(array.data, static_cast<std::size_t>(each * size))) each /= 2;
  };
  fit_address(z, to_size);
  fit(pitch);
  fit(begin);
  for (const Array& part : parts) {
    fit_address(part, from_size);
    fit(part.numel() / outer);
  }
  std::vector<Argument> arguments, ends;
  std::int64_t end = 0;
  for (const Array& part : parts) {
    arguments.emplace_back(part);
    ends.emplace_back(end += part.numel() / outer / each);
  }
  arguments.insert(arguments.end(), {z, outer * end, pitch / each, begin / each});
  arguments.insert(arguments.end(), ends.begin(), ends.end());
  CatKernel kernel{parts[0].dtype, z.dtype, index_type(z.numel()), static_cast<int>(parts.size()),
                   static_cast<int>(each)};
  if (parts[0].dtype == z.dtype) {
    const std::int64_t bytes = each * to_size, word = std::min<std::int64_t>(bytes, 8);
    kernel.from_type = kernel.to_type = word_of(static_cast<std::size_t>(word));
    kernel.width = static_cast<int>(bytes / word);
  }
  gpu.launch(kernel, blocks_for(outer * end, kThreads), arguments);
}

/// Collects contiguous parts of z, whose lines have `pitch` elements, so that one kernel copies as many as it can.
class CatBatch {
 public:
  CatBatch(Gpu& gpu, const Array& z, std::int64_t pitch)
      : gpu_(gpu),
        z_(z),
        pitch_(pitch),
        most_(static_cast<std::size_t>(std::min(CatKernel::kMost, gpu.driver().capabilities().most_buffers - 1))) {}
  /// Adds the next part, with `length` elements per line.
  void add(const Array& part, std::int64_t length) {
    if (!group_.empty() && (group_[0].dtype != part.dtype || group_.size() == most_)) flush();
    group_.push_back(part);
    at_ += length;
  }
  /// Skips a part that the caller copies itself; returns where in z it begins.
  std::byte* skip(std::int64_t length) {
    flush();
    std::byte* const place = z_.data + at_ * static_cast<std::int64_t>(size_of(z_.dtype));
    begin_ = at_ += length;
    return place;
  }
  void flush() {
    if (!group_.empty()) cat(gpu_, group_, z_, z_.numel() / pitch_, pitch_, begin_);
    group_.clear();
    begin_ = at_;
  }

 private:
  Gpu& gpu_;
  const Array z_;
  const std::int64_t pitch_;
  const std::size_t most_;  // parts of one kernel
  std::vector<Array> group_;
  std::int64_t at_ = 0, begin_ = 0;  // where the next part begins, and the collected group
};

/// If each part begins in memory where the one before it ends along `dim`, returns the strides of the whole; else none.
std::optional<Dims> strides_in_place(Inputs parts, int dim) {
  if (parts.size() < 2) return std::nullopt;
  const Node &first = *parts[0].node(), &second = *parts[1].node();
  Dims strides = first.strides;
  if (first.desc.shape[dim] == 1) strides[dim] = second.offset - first.offset;
  std::int64_t next = first.offset;
  for (const Value& value : parts) {
    const Node& part = *value.node();
    if (part.storage.get() != first.storage.get() || part.offset != next || value.numel() == 0) return std::nullopt;
    for (int i = 0; i < strides.size(); ++i)
      if (part.desc.shape[i] > 1 && part.strides[i] != strides[i]) return std::nullopt;
    next += part.desc.shape[dim] * strides[dim];
  }
  return strides[dim] > 0 ? std::optional(strides) : std::nullopt;
}

/// An element of the result sums the windows that contain it, in the order of its place within the window.
struct FoldKernel {
  DType dtype, index;

  Kernel kernel() const {
    Builder k("fold", kThreads);
    const Buffer windows = k.input(dtype), z = k.output(dtype);
    const Expr all = k.number(index), length = k.number(index), inner = k.number(index);
    const Expr count = k.number(index), size = k.number(index);  // the number of windows, and the elements of one
    const Expr step = k.number(index), dilation = k.number(index);
    const Expr element = k.place(index);
    k.when(element < all, [&] {
      const Expr i = element % inner, at = element / inner % length, outer = element / inner / length;
      const Expr zero = k.literal(index, 0), one = k.literal(index, 1);
      const Local sum = k.variable(k.literal(expr::computed_in(dtype), 0));
      // Only every step-th element of a window can match if there is no dilation.
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
  const int dim = wrap_dim(op::Cat::kName, op.dim, call.out[0].rank());
  if (const std::optional<Dims> strides = strides_in_place(call.in, dim)) {
    strided::alias(call.out[0], call.in[0], *strides, call.in[0].node()->offset);
    return true;
  }
  const Array z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  const std::int64_t inner = z.strides[dim], pitch = z.shape[dim] * inner;
  CatBatch parts(gpu, z, pitch);
  for (const Value& value : call.in) {
    const Array part = read(value);
    if (part.numel() == 0) continue;
    const std::int64_t each = part.shape[dim] * inner;
    if (part.contiguous()) parts.add(part, each);
    else copy(gpu, part, {parts.skip(each), z.dtype, part.shape, z.strides});
  }
  parts.flush();
  return true;
}

bool run(Gpu& gpu, const op::Ravel&, Call call) {
  const Array z = gpu.allocate(call.out[0]);
  std::vector<Value> held(call.in.size());
  CatBatch parts(gpu, z, z.numel());
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Array part = gpu.read_contiguous(call.in[i], held[i]);
    if (part.numel() > 0) parts.add(part, part.numel());
  }
  parts.flush();
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
