// Batch norm. Floats are computed in single precision, and so are halves if the elements of a channel are contiguous:
// one pass over x computes the statistics and another the result. The gradient takes one pass over x and the gradient
// of the result for their sums, and another for the gradient of x. Batch norm of doubles computes a channel at a time.
#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/norm/batch_norm_columns.hpp"
#include "kiln/backend/cpu/simd/norm/channel_norm.hpp"
#include "kiln/backend/cpu/simd/norm/float_rows.hpp"
#include "kiln/backend/cpu/simd/norm/norm.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// The layout of a tensor [batch, channels, inner]. If `by_rows`, the channels are contiguous; otherwise the `inner`
/// elements of a channel are.
struct Layout {
  int64_t batch, channels, inner;
  bool by_rows;
  Dims strides;
  int64_t rows() const { return batch * inner; }
  int64_t count() const { return batch * channels * inner; }
};

/// Returns the strides of the channels-last layout.
Dims channels_last(const Shape& shape) {
  Dims strides = contiguous_strides(shape);
  for (int i = 2; i < shape.size(); ++i) strides[i] *= shape[1];
  strides[1] = 1;
  return strides;
}
/// Returns an operand in the layout `strides`: in place if it has them, otherwise as a copy, which `held` keeps alive.
Array in_order(const Value& value, const Dims& strides, Value& held) {
  const Array array = read(value);
  if (lies_in(array, strides)) return array;
  held = Value(make_ref<Node>(value.node()->desc, value.node()->device));
  const Array result = allocate(held, strides, MemoryUse::Scratch);
  copy(array, result);
  return result;
}

Layout layout_of(const Array& x) {
  const Shape& shape = x.shape;
  int64_t inner = 1;
  for (int i = 2; i < shape.size(); ++i) inner *= shape[i];
  const Dims last = channels_last(shape);
  const bool by_rows = inner == 1 || (shape[1] > 1 && lies_in(x, last));
  return {shape[0], shape[1], inner, by_rows, by_rows ? last : contiguous_strides(shape)};
}

std::vector<Moments> batch_moments(const Layout& layout, const Array& x) {
  const int64_t channels = layout.channels;
  std::vector<Moments> result(static_cast<std::size_t>(channels)),
      partial(static_cast<std::size_t>(layout.batch * channels));
  const FloatRows planes(x, x, layout.inner);
  Parts(layout.batch * channels, layout.inner).each([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      planes.read(
          i, [&](const float* plane) { partial[static_cast<std::size_t>(i)] = moments_of(plane, layout.inner, true); });
  });
  for (std::size_t i = 0; i < partial.size(); ++i) result[i % result.size()].merge(partial[i]);
  return result;
}

/// Calls f(offset, channel) for each contiguous run of `inner` elements of one channel.
template <class F>
void each_plane(const Layout& layout, F&& f) {
  parallel_for(layout.batch * layout.channels, std::max<int64_t>(1, kGrain / layout.inner),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   f(i * layout.inner, static_cast<std::size_t>(i % layout.channels));
               });
}

/// Returns the sums of g, of g * (x - mean) and of x - mean for each plane, in [batch * channels, 3].
std::vector<double> products_of_planes(const Layout& layout, const float* g, const float* x,
                                       const std::vector<float>& means) {
  std::vector<double> sums(static_cast<std::size_t>(layout.batch * layout.channels) * 3);
  const Constant one(1);
  Parts(layout.batch * layout.channels, layout.inner).each([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      add_products(g + i * layout.inner, one, x + i * layout.inner,
                   means[static_cast<std::size_t>(i % layout.channels)], layout.inner, sums.data() + i * 3);
  });
  return sums;
}

bool fits(const Layout& layout) { return layout.count() > 0 && (layout.by_rows || layout.inner >= kShortest); }

/// Copies the elements of each channel together and computes their layer norm.
bool batch_norm_of_doubles(Call call) {
  using op::BatchNorm;
  const Value& value = call.in[BatchNorm::x];
  const Layout layout = layout_of(read(value));
  if (layout.by_rows || layout.count() == 0) return false;
  Value held;
  const auto* const x = in_order(value, layout.strides, held).as<const double>();
  const auto epsilon = call.in[BatchNorm::epsilon].scalar().to<double>();
  const std::vector<double> weight = per_channel<double>(call.in[BatchNorm::weight], layout.channels),
                            bias = per_channel<double>(call.in[BatchNorm::bias], layout.channels, 0);
  std::vector<double> means(weight.size()), variances(weight.size());
  auto* const z = allocate(call.out[0], layout.strides).as<double>();
  const int64_t inner = layout.inner, step = layout.channels * inner;
  parallel_for(layout.channels, std::max<int64_t>(1, kGrain / layout.rows()), [&](int64_t begin, int64_t end) {
    const auto size = static_cast<std::size_t>(layout.rows());
    std::vector<double> numbers(size);
    for (int64_t c = begin; c < end; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      for (int64_t i = 0; i < layout.batch; ++i)
        std::copy_n(x + i * step + c * inner, inner, numbers.data() + i * inner);
      const auto [mean, variance] =
          layer_norm_row(numbers.data(), {&weight[channel], &bias[channel], epsilon, true, layout.rows()},
                         numbers.data(), layout.rows());
      means[channel] = mean, variances[channel] = variance;
      for (int64_t i = 0; i < layout.batch; ++i)
        std::copy_n(numbers.data() + i * inner, inner, z + i * step + c * inner);
    }
  });
  write(means, call.out[1]);
  write(variances, call.out[2]);
  return true;
}

}  // namespace

bool run(const op::BatchNorm&, Call call) {
  using op::BatchNorm;
  const Value& value = call.in[BatchNorm::x];
  if (value.dtype() == DType::F64) return batch_norm_of_doubles(call);
  if (!is_single_or_half(value.dtype())) return false;
  const Layout layout = layout_of(read(value));
  if (!fits(layout) || (layout.by_rows && value.dtype() != DType::F32)) return false;
  Value held;
  const Array x = in_order(value, layout.strides, held);
  const auto epsilon = call.in[BatchNorm::epsilon].scalar().to<double>();

  std::vector<float> scale = per_channel(call.in[BatchNorm::weight], layout.channels);
  const std::vector<float> shift = per_channel(call.in[BatchNorm::bias], layout.channels, 0);
  const Array z = allocate(call.out[0], layout.strides);
  auto *const means = allocate(call.out[1]).as<float>(), *const variances = allocate(call.out[2]).as<float>();
  if (layout.by_rows) {
    batch_norm_columns({layout.rows(), layout.channels, scale, epsilon}, shift, x.as<float>(), z.as<float>(), means,
                       variances);
    return true;
  }
  std::vector<float> rests(scale.size());
  const std::vector<Moments> moments = batch_moments(layout, x);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double variance = moments[c].squares / moments[c].count;
    means[c] = static_cast<float>(moments[c].mean);
    rests[c] = static_cast<float>(moments[c].mean - means[c]);
    variances[c] = static_cast<float>(variance);
    scale[c] *= static_cast<float>(1 / std::sqrt(variance + epsilon));
  }
  const FloatRows planes(x, z, layout.inner);
  each_plane(layout, [&](int64_t at, std::size_t c) {
    planes.row(at / layout.inner, [&](const float* from, float* to) {
      norm_rows().affine(from, {Constant(means[c]), Constant(rests[c])}, 1, Constant(scale[c]), Constant(shift[c]), to,
                         layout.inner);
    });
  });
  return true;
}

bool run(const op::BatchNormGrad&, Call call) {
  using op::BatchNormGrad;
  const Value& value = call.in[BatchNormGrad::x];
  if (value.dtype() != DType::F32) return false;
  const Layout layout = layout_of(read(value));
  if (!fits(layout)) return false;
  Value held[2];
  const float* x = in_order(value, layout.strides, held[0]).as<const float>();
  const float* g = in_order(call.in[BatchNormGrad::grad], layout.strides, held[1]).as<const float>();
  const auto epsilon = call.in[BatchNormGrad::epsilon].scalar().to<double>();

  const std::vector<float> weight = per_channel(call.in[BatchNormGrad::weight], layout.channels),
                           means = per_channel(call.in[BatchNormGrad::mean], layout.channels),
                           variances = per_channel(call.in[BatchNormGrad::variance], layout.channels);
  auto* const dx = allocate(call.out[0], layout.strides).as<float>();
  auto *const dweight = allocate(call.out[1]).as<float>(), *const dbias = allocate(call.out[2]).as<float>();
  if (layout.by_rows) {
    batch_norm_grad_columns({layout.rows(), layout.channels, weight, epsilon}, means, variances, g, x, dx, dweight,
                            dbias);
    return true;
  }
  const std::vector<double> sums = products_of_planes(layout, g, x, means);
  std::vector<ChannelGradient> channels;
  for (std::size_t c = 0; c < weight.size(); ++c) {
    double all[3] = {};
    for (std::size_t i = c; i < sums.size() / 3; i += weight.size())
      for (std::size_t k = 0; k < 3; ++k) all[k] += sums[3 * i + k];
    channels.emplace_back(all[0], all[1], all[2], layout.rows(), weight[c], variances[c] + epsilon);
    dweight[c] = channels[c].dweight, dbias[c] = channels[c].dbias;
  }
  each_plane(layout, [&](int64_t at, std::size_t i) {
    const auto& [a, b, c, rest, slope_of_weight, slope_of_bias] = channels[i];
    norm_rows().combine(g + at, x + at, {Constant(means[i]), Constant(rest)}, 1, Constant(a), Constant(b), Constant(c),
                        dx + at, layout.inner);
  });
  return true;
}

}  // namespace kiln::cpu::simd
