// Pools: a thread computes a result from its window, and an element of a gradient from the windows that contain it.
#include <limits>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"

namespace kiln::gpu::family {
namespace {

enum class Pooling : std::uint8_t { Greatest, Mean, Spread };

struct PoolKernel {
  Pooling pooling;
  Spatial kernel_sizes{}, stride{}, padding{}, padding_after{}, dilation{};  // empty if adaptive
  bool adaptive = false, indexed = false, count_padding = false;
  std::int64_t divisor = 0;
  DType dtype = DType::F32, index = DType::I32;
  int axes = 0;
  Dims order{};  // the memory order of the result

  Kernel kernel() const;
};

/// Builds the kernel.
class Writer {
 public:
  Writer(Builder& k, const PoolKernel& of) : k_(k), of_(of) {}

  void write() {
    x_ = k_.input(of_.dtype);
    const Buffer y = k_.output(of_.dtype), found = of_.indexed ? k_.output(DType::I64) : Buffer();
    const Expr count = k_.number(of_.index);
    const std::vector<Expr> result = numbers(of_.axes + 2), operand = numbers(of_.axes + 2);
    strides_ = numbers(of_.axes + 2);
    const bool spread = of_.pooling == Pooling::Spread;
    inputs_ = spread ? result : operand;
    windows_ = spread ? operand : result;
    const Expr i = k_.place(of_.index);
    k_.when(i < count, [&] {
      const std::vector<Expr> at = unravel(i, result, of_.order);
      const Expr plane = at[0] * strides_[0] + at[1] * strides_[1];
      switch (of_.pooling) {
        case Pooling::Greatest: {
          const auto [best, where] = greatest(plane, at);
          y.store(i, best);
          if (of_.indexed) found.store(i, max(where, k_.literal(DType::I64, 0)));
          break;
        }
        case Pooling::Mean: y.store(i, mean(plane, at)); break;
        case Pooling::Spread: y.store(i, sum_of_shares(plane, at)); break;
      }
    });
  }

 private:
  struct AxisWindow {
    Expr begin, end, divisor;
    std::int64_t step = 1;
  };
  static std::size_t dim(int axis) { return static_cast<std::size_t>(axis + 2); }
  Expr number(std::int64_t value) const { return k_.literal(of_.index, value); }
  std::vector<Expr> numbers(int count) const {
    std::vector<Expr> all;
    for (int i = 0; i < count; ++i) all.push_back(k_.number(of_.index));
    return all;
  }
  /// (i * size + more) / count, without overflow of the product.
  static Expr bound(const Expr& i, const Expr& size, const Expr& count, const Expr& more) {
    return i * (size / count) + (i * (size % count) + more) / count;
  }

  /// The elements of window i of an axis: as op::MaxPool::part and op::AvgPool::part.
  AxisWindow part(int axis, const Expr& i) const {
    const Expr size = inputs_[dim(axis)], count = windows_[dim(axis)], zero = number(0);
    if (of_.adaptive) {
      const Expr begin = bound(i, size, count, zero), end = bound(i + 1, size, count, count - 1);
      return {begin, end, end - begin};
    }
    const Expr begin = i * of_.stride[axis] - of_.padding[axis];
    const std::int64_t step = of_.dilation[axis];
    if (of_.pooling == Pooling::Greatest) {
      const Expr first = select(begin < 0, begin + (-begin + (step - 1)) / step * step, begin);
      return {first, min(begin + (step * (of_.kernel_sizes[axis] - 1) + 1), size), zero, step};
    }
    const Expr end = min(begin + of_.kernel_sizes[axis], size + of_.padding_after[axis]);
    const Expr inside_begin = max(begin, zero), inside_end = min(end, size);
    if (of_.divisor != 0) return {inside_begin, inside_end, number(axis == 0 ? of_.divisor : 1)};
    return {inside_begin, inside_end, of_.count_padding ? end - begin : inside_end - inside_begin};
  }
  /// The windows that contain element i of an axis.
  AxisWindow windows_of(int axis, const Expr& i) const {
    const Expr size = inputs_[dim(axis)], count = windows_[dim(axis)], zero = number(0);
    if (of_.adaptive) return {bound(i, count, size, zero), bound(i + 1, count, size, size - 1), zero};
    const Expr shifted = i + of_.padding[axis];
    const std::int64_t stride = of_.stride[axis];
    const Expr begin = max(shifted - (of_.kernel_sizes[axis] - stride), zero) / stride;
    return {begin, min(shifted / stride + 1, count), zero};
  }

  /// Calls f(place, indices) for all combinations of the parts of each axis.
  template <class F>
  void each(const std::vector<AxisWindow>& parts, const Expr& plane, F&& f) const {
    std::vector<Expr> at;
    const auto go = [&](auto&& self, const Expr& place) -> void {
      const auto axis = at.size();
      if (axis == parts.size()) return f(place, at);
      k_.loop(parts[axis].begin, parts[axis].end, number(parts[axis].step), [&](const Expr& i) {
        at.push_back(i);
        self(self, place + i * strides_[axis + 2]);
        at.pop_back();
      });
    };
    go(go, plane);
  }
  std::vector<AxisWindow> parts(const std::vector<Expr>& at) const {
    std::vector<AxisWindow> all;
    for (int axis = 0; axis < of_.axes; ++axis) all.push_back(part(axis, at[dim(axis)]));
    return all;
  }

  std::pair<Expr, Expr> greatest(const Expr& plane, const std::vector<Expr>& at) const {
    const DType type = expr::computed_in(of_.dtype);
    // An empty window gives the least number of 64 bits, as on the CPU; for shorter integers that is 0.
    const Expr least =
        is_float(of_.dtype)
            ? k_.literal(type, -std::numeric_limits<double>::infinity())
            : k_.literal(type, of_.dtype == DType::I64 ? std::numeric_limits<std::int64_t>::min() : std::int64_t{0});
    const Local best = k_.variable(least), where = k_.variable(k_.literal(DType::I64, -1));
    each(parts(at), plane, [&](const Expr& place, const std::vector<Expr>& found) {
      const Expr element = x_[place], before = best;
      // The first of equal elements wins, and NaN wins over any number.
      Expr better = (where.get() < 0) | (element > before);
      if (is_float(of_.dtype)) better = better | ((element != element) & (before == before));
      k_.when(better, [&] {
        Expr flat = found[0];
        for (std::size_t axis = 1; axis < found.size(); ++axis) flat = flat * inputs_[axis + 2] + found[axis];
        best.set(element);
        where.set(flat.as(DType::I64));
      });
    });
    return {best, where};
  }

  Expr mean(const Expr& plane, const std::vector<Expr>& at) const {
    const std::vector<AxisWindow> window = parts(at);
    const Local sum = k_.variable(k_.literal(expr::computed_in(of_.dtype), 0));
    each(window, plane, [&](const Expr& place, const auto&) { sum.set(sum + x_[place]); });
    return sum.get() / divisor(window);
  }

  Expr sum_of_shares(const Expr& plane, const std::vector<Expr>& at) const {
    std::vector<AxisWindow> windows;
    for (int axis = 0; axis < of_.axes; ++axis) windows.push_back(windows_of(axis, at[dim(axis)]));
    const Local sum = k_.variable(k_.literal(expr::computed_in(of_.dtype), 0));
    each(windows, plane, [&](const Expr& place, const std::vector<Expr>& which) {
      std::vector<AxisWindow> window;
      for (int axis = 0; axis < of_.axes; ++axis) window.push_back(part(axis, which[static_cast<std::size_t>(axis)]));
      sum.set(sum + x_[place] / divisor(window));
    });
    return sum;
  }

  Expr divisor(const std::vector<AxisWindow>& window) const {
    const DType type = expr::computed_in(of_.dtype);
    Expr all = window[0].divisor.as(type);
    for (std::size_t axis = 1; axis < window.size(); ++axis) all = all * window[axis].divisor.as(type);
    return all;
  }

  Builder& k_;
  const PoolKernel& of_;
  Buffer x_;
  std::vector<Expr> strides_, inputs_, windows_;  // strides of x; sizes of what is pooled, and of the pool's result
};

Kernel PoolKernel::kernel() const {
  Builder k("pool", kThreads);
  Writer(k, *this).write();
  return k.finish();
}

template <class Op>
void pool(Gpu& gpu, const Op& op, PoolKernel kernel, Call call) {
  const Array x = read(call.in[0]);
  const Shape& shape = call.out[0].shape();
  kernel.adaptive = !op.adaptive.empty();
  if (!kernel.adaptive) {
    kernel.kernel_sizes = op.window.kernel;
    kernel.stride = op.window.stride;
    kernel.padding = op.window.padding;
    kernel.padding_after = op.window.padding_after;
    kernel.dilation = op.window.dilation;
  }
  kernel.dtype = x.dtype;
  kernel.axes = shape.size() - 2;
  kernel.order = order_of(x.shape, x.strides);
  const Dims strides = dense_strides(shape, kernel.order);
  for (Value& result : call.out) gpu.allocate(result, strides);
  const std::int64_t count = numel(shape);
  if (count == 0) return;

  // Windows may begin and end outside of the tensor.
  std::int64_t most = std::max(count + kThreads, x.numel());
  for (int i = 0; i < x.shape.size(); ++i) most = std::max(most, x.shape[i] * std::abs(x.strides[i]) * x.shape.size());
  for (int axis = 0; axis < kernel.axes; ++axis) {
    const bool spread = kernel.pooling == Pooling::Spread;
    const std::int64_t inputs = (spread ? shape : x.shape)[axis + 2], windows = (spread ? x.shape : shape)[axis + 2];
    most = std::max(most, kernel.adaptive ? inputs * windows  // the numerator of a quotient is less than that
                                          : 4 * (inputs + windows * kernel.stride[axis] +
                                                 kernel.kernel_sizes[axis] * kernel.dilation[axis]));
  }
  kernel.index = index_type({most});
  std::vector<Argument> arguments{x};
  for (const Value& result : call.out) arguments.emplace_back(read(result));
  arguments.emplace_back(count);
  for (const Dims& numbers : {shape, x.shape, x.strides})
    for (const std::int64_t number : numbers) arguments.emplace_back(number);
  gpu.launch(kernel, blocks_for(count, kThreads), arguments);
}

}  // namespace

bool run(Gpu& gpu, const op::MaxPool& op, Call call) {
  pool(gpu, op, {.pooling = Pooling::Greatest, .indexed = op.indexed}, call);
  return true;
}
bool run(Gpu& gpu, const op::AvgPool& op, Call call) {
  pool(gpu, op, {.pooling = Pooling::Mean, .count_padding = op.count_padding, .divisor = op.divisor}, call);
  return true;
}
bool run(Gpu& gpu, const op::AvgPoolGrad& op, Call call) {
  pool(gpu, op.pool, {.pooling = Pooling::Spread, .count_padding = op.pool.count_padding, .divisor = op.pool.divisor},
       call);
  return true;
}

}  // namespace kiln::gpu::family
