#include <algorithm>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/backend/cpu/reference/window.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::reference {
namespace {

/// The numbers of channels, and which weights connect which channels.
struct Channels {
  std::int64_t in, out, groups;
  std::int64_t in_per_group() const { return in / groups; }
  std::int64_t out_per_group() const { return out / groups; }

  /// Calls f(in channel, out channel, pair), where `pair` counts [out, in / groups] as the weight does.
  template <class F>
  void each_pair(F&& f) const {
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in_per_group(); ++i)
        f(o / out_per_group() * in_per_group() + i, o, o * in_per_group() + i);
  }
};

Spatial spatial_of(const Shape& shape) { return Spatial(shape.begin() + 2, shape.end()); }

template <class C>
void write(const std::vector<double>& sums, C* to) {
  for (std::size_t i = 0; i < sums.size(); ++i) to[i] = convert<C>(sums[i]);
}

}  // namespace

// All three ops visit the same products x * weight -> y, and differ in which of the three they sum into.

template <>
void run(const op::Conv& op, Call call) {
  const Array x = read(call.in[op::Conv::x]), weight = read(call.in[op::Conv::weight]);
  const bool has_bias = call.in.size() > op::Conv::bias && !call.in[op::Conv::bias].empty();
  const Shape& shape = call.out[0].shape();
  const Axes axes = make_axes(op, x.shape, shape, spatial_of(weight.shape));
  const Channels channels{x.shape[1], shape[1], op.groups};
  const std::int64_t xs = input_size(axes), ys = result_size(axes), ks = kernel_size(axes);
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x), filter(weight);
    std::vector<double> start(static_cast<std::size_t>(shape[1]));
    if (has_bias)
      load(read(call.in[op::Conv::bias]), 0, read(call.in[op::Conv::bias]).strides[0], shape[1], start.data());
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(shape[1] * ys));
    for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
      for (std::int64_t o = 0; o < shape[1]; ++o)
        std::fill_n(sums.begin() + o * ys, ys, start[static_cast<std::size_t>(o)]);
      channels.each_pair([&](std::int64_t i, std::int64_t o, std::int64_t pair) {
        const C *from = data.data() + (batch * channels.in + i) * xs, *factors = filter.data() + pair * ks;
        double* into = sums.data() + o * ys;
        each_tap(axes, [&](std::int64_t k, std::int64_t at, std::int64_t to) {
          into[to] += static_cast<double>(factors[k]) * static_cast<double>(from[at]);
        });
      });
      write(sums, result.data() + batch * channels.out * ys);
    }
    result.store();
  });
}

template <>
void run(const op::ConvTranspose& op, Call call) {
  const Array y = read(call.in[op::ConvTranspose::y]), weight = read(call.in[op::ConvTranspose::weight]);
  const Shape& shape = call.out[0].shape();
  const Axes axes = make_axes(op.conv, shape, y.shape, spatial_of(weight.shape));
  const Channels channels{shape[1], y.shape[1], op.conv.groups};
  const std::int64_t xs = input_size(axes), ys = result_size(axes), ks = kernel_size(axes);
  visit_float(y.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(y), filter(weight);
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(shape[1] * xs));
    for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
      std::fill(sums.begin(), sums.end(), 0.0);
      channels.each_pair([&](std::int64_t i, std::int64_t o, std::int64_t pair) {
        const C *from = data.data() + (batch * channels.out + o) * ys, *factors = filter.data() + pair * ks;
        double* into = sums.data() + i * xs;
        each_tap(axes, [&](std::int64_t k, std::int64_t to, std::int64_t at) {
          into[to] += static_cast<double>(factors[k]) * static_cast<double>(from[at]);
        });
      });
      write(sums, result.data() + batch * channels.in * xs);
    }
    result.store();
  });
}

template <>
void run(const op::ConvWeightGrad& op, Call call) {
  const Array x = read(call.in[op::ConvWeightGrad::x]), y = read(call.in[op::ConvWeightGrad::y]);
  const Axes axes = make_axes(op.conv, x.shape, y.shape, op.kernel);
  const Channels channels{x.shape[1], y.shape[1], op.conv.groups};
  const std::int64_t xs = input_size(axes), ys = result_size(axes), ks = kernel_size(axes);
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x), grad(y);
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(call.out[0].numel()));
    for (std::int64_t batch = 0; batch < x.shape[0]; ++batch)
      channels.each_pair([&](std::int64_t i, std::int64_t o, std::int64_t pair) {
        const C *from = data.data() + (batch * channels.in + i) * xs,
                *factors = grad.data() + (batch * channels.out + o) * ys;
        double* into = sums.data() + pair * ks;
        each_tap(axes, [&](std::int64_t k, std::int64_t at, std::int64_t to) {
          into[k] += static_cast<double>(factors[to]) * static_cast<double>(from[at]);
        });
      });
    write(sums, result.data());
    result.store();
  });
}

}  // namespace kiln::cpu::reference
