// Batch norm in single precision, of halves too where a channel's elements lie together: a pass over x for its
// statistics and one for the result; backwards a pass over x and its slopes for their sums and one for the result.
// And batch norm of doubles, a channel at a time.
#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/norm/channel_norm.hpp"
#include "kiln/backend/cpu/simd/norm/float_rows.hpp"
#include "kiln/backend/cpu/simd/norm/norm.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

constexpr int64_t kRowsOfBlock = 64;  // whose float sums by column are exact enough, and that stay in the cache

/// Parts of whole blocks of rows, as each costs a merge of all channels.
Parts parts_of_rows(int64_t rows, int64_t channels) { return {rows, std::min(channels, kGrain / kRowsOfBlock)}; }

/// [batch, channels, inner]: by channels where a channel's elements lie together, by rows where channels lie side by side.
struct Layout {
  int64_t batch, channels, inner;
  bool by_rows;
  Dims strides;
  int64_t rows() const { return batch * inner; }
  int64_t count() const { return batch * channels * inner; }
};

/// The strides of memory in which the channels come last.
Dims channels_last(const Shape& shape) {
  Dims strides = contiguous_strides(shape);
  for (int i = 2; i < shape.size(); ++i) strides[i] *= shape[1];
  strides[1] = 1;
  return strides;
}
/// In place where it lies in that order, otherwise a copy that does.
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
  std::vector<Moments> result(static_cast<std::size_t>(channels)), partial;
  if (!layout.by_rows) {
    partial.resize(static_cast<std::size_t>(layout.batch * channels));
    const FloatRows planes(x, x, layout.inner);
    Parts(layout.batch * channels, layout.inner).each([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        planes.read(i, [&](const float* plane) {
          partial[static_cast<std::size_t>(i)] = moments_of(plane, layout.inner, true);
        });
    });
  } else {
    const Parts parts = parts_of_rows(layout.rows(), channels);
    partial.resize(static_cast<std::size_t>(parts.count() * channels));
    parts.each([&](int64_t part, int64_t begin, int64_t end) {
      std::vector<float> means(static_cast<std::size_t>(channels)), rests = means, squares = means;
      for (int64_t row = begin; row < end; row += kRowsOfBlock) {
        const int64_t count = std::min(kRowsOfBlock, end - row);
        const float* rows = x.as<float>() + row * channels;
        const Coefficients mean{means.data(), 1}, rest{rests.data(), 1};
        norm_rows().column_sums(rows, Constant(0), count, channels, means.data());
        for (float& number : means) number /= static_cast<float>(count);
        norm_rows().column_sums(rows, mean, count, channels, rests.data());
        for (float& number : rests) number /= static_cast<float>(count);
        norm_rows().column_squares(rows, {mean, rest}, count, channels, squares.data());
        for (std::size_t c = 0; c < means.size(); ++c)
          partial[static_cast<std::size_t>(part * channels) + c].merge(
              {static_cast<double>(count), static_cast<double>(means[c]) + rests[c], squares[c]});
      }
    });
  }
  for (std::size_t i = 0; i < partial.size(); ++i) result[i % static_cast<std::size_t>(channels)].merge(partial[i]);
  return result;
}

/// The coefficients of channels for every element of a stretch of rows, so that short rows are not calls of their own.
class Repeated {
 public:
  Repeated(const std::vector<float>& numbers, int64_t times) {
    for (int64_t i = 0; i < times; ++i) numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }
  operator Coefficients() const { return {numbers_.data(), 1}; }

 private:
  std::vector<float> numbers_;
};

/// Calls one(at, channel, count) for each run of one channel's elements, or many(at, count) for stretches of whole rows.
template <class One, class Many>
void each_stretch(const Layout& layout, int64_t rows_of_stretch, One&& one, Many&& many) {
  if (layout.by_rows) {
    const int64_t stretch = rows_of_stretch * layout.channels, total = layout.count();
    parallel_for((total + stretch - 1) / stretch, std::max<int64_t>(1, kGrain / stretch),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) many(i * stretch, std::min(stretch, total - i * stretch));
                 });
  } else {
    parallel_for(layout.batch * layout.channels, std::max<int64_t>(1, kGrain / layout.inner),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) one(i * layout.inner, i % layout.channels, layout.inner);
                 });
  }
}
int64_t rows_of_stretch(const Layout& layout) {
  return layout.by_rows ? limited_grain(std::max<int64_t>(1, 1024 / std::max<int64_t>(layout.channels, 1))) : 0;
}

/// For each channel the sums of g, of g * (x - mean) and of x - mean.
struct ProductSums {
  std::vector<double> g, gx, x;
};
ProductSums batch_products(const Layout& layout, const float* g, const float* x, const std::vector<float>& means) {
  const int64_t channels = layout.channels;
  const auto size = static_cast<std::size_t>(channels);
  ProductSums result{std::vector<double>(size), std::vector<double>(size), std::vector<double>(size)};
  std::vector<double> partial;
  const Constant one(1);
  if (!layout.by_rows) {
    partial.resize(static_cast<std::size_t>(layout.batch) * size * 3);
    Parts(layout.batch * channels, layout.inner).each([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        add_products(g + i * layout.inner, one, x + i * layout.inner, means[static_cast<std::size_t>(i % channels)],
                     layout.inner, partial.data() + i * 3);
    });
  } else {
    const Parts parts = parts_of_rows(layout.rows(), channels);
    partial.resize(static_cast<std::size_t>(parts.count()) * size * 3);
    const Coefficients mean{means.data(), 1};
    parts.each([&](int64_t part, int64_t begin, int64_t end) {
      std::vector<float> sums(size), products(size), distances(size);
      for (int64_t row = begin; row < end; row += kRowsOfBlock) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        std::fill(products.begin(), products.end(), 0.0f);
        const int64_t count = std::min(kRowsOfBlock, end - row);
        norm_rows().column_products(g + row * channels, x + row * channels, {mean, Constant(0)}, 1, count, channels,
                                    sums.data(), products.data());
        norm_rows().column_sums(x + row * channels, mean, count, channels, distances.data());
        double* to = partial.data() + part * channels * 3;
        for (std::size_t c = 0; c < size; ++c)
          to[3 * c] += sums[c], to[3 * c + 1] += products[c], to[3 * c + 2] += distances[c];
      }
    });
  }
  for (std::size_t i = 0; i < partial.size() / 3; ++i) {
    result.g[i % size] += partial[3 * i];
    result.gx[i % size] += partial[3 * i + 1];
    result.x[i % size] += partial[3 * i + 2];
  }
  return result;
}

bool fits(const Layout& layout) { return layout.count() > 0 && (layout.by_rows || layout.inner >= kShortest); }

/// A layer norm of each channel, whose elements are brought together for it.
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
    std::vector<double> numbers(size), scale(size), shift(size);
    for (int64_t c = begin; c < end; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      std::fill(scale.begin(), scale.end(), weight[channel]);
      std::fill(shift.begin(), shift.end(), bias[channel]);
      for (int64_t i = 0; i < layout.batch; ++i)
        std::copy_n(x + i * step + c * inner, inner, numbers.data() + i * inner);
      const auto [mean, variance] =
          layer_norm_row(numbers.data(), {scale.data(), shift.data(), epsilon}, numbers.data(), layout.rows());
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
  std::vector<float> means(scale.size()), rests(scale.size()), variances(scale.size());
  const std::vector<Moments> moments = batch_moments(layout, x);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double variance = moments[c].squares / moments[c].count;
    means[c] = static_cast<float>(moments[c].mean);
    rests[c] = static_cast<float>(moments[c].mean - means[c]);
    variances[c] = static_cast<float>(variance);
    scale[c] *= static_cast<float>(1 / std::sqrt(variance + epsilon));
  }
  write(means, call.out[1]);
  write(variances, call.out[2]);

  const Array z = allocate(call.out[0], layout.strides);
  const FloatRows planes(x, z, layout.inner);
  const int64_t stretch = rows_of_stretch(layout);
  const Repeated mean(means, stretch), rest(rests, stretch), a(scale, stretch), c(shift, stretch);
  each_stretch(
      layout, stretch,
      [&](int64_t at, int64_t channel, int64_t count) {
        const auto i = static_cast<std::size_t>(channel);
        planes.row(at / count, [&](const float* from, float* to) {
          norm_rows().affine(from, {Constant(means[i]), Constant(rests[i])}, 1, Constant(scale[i]), Constant(shift[i]),
                             to, count);
        });
      },
      [&](int64_t at, int64_t count) {
        norm_rows().affine(x.as<float>() + at, {mean, rest}, 1, a, c, z.as<float>() + at, count);
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
  const ProductSums sums = batch_products(layout, g, x, means);
  // dx = weight / deviation * (g - mean(g) - (x - mean) * mean(g * (x - mean)) / deviation^2)
  std::vector<float> scale(weight.size()), rests(weight.size()), b(weight.size()), c(weight.size()),
      dweight(weight.size()), dbias(weight.size());
  const auto count = static_cast<double>(layout.rows());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double inverse = 1 / std::sqrt(variances[i] + epsilon), slope = weight[i] * inverse;
    const double rest = sums.x[i] / count, gx = sums.gx[i] - rest * sums.g[i];  // the mean came rounded
    rests[i] = static_cast<float>(rest);
    scale[i] = static_cast<float>(slope);
    b[i] = static_cast<float>(-slope * inverse * inverse * gx / count);
    c[i] = static_cast<float>(-slope * sums.g[i] / count);
    dweight[i] = static_cast<float>(gx * inverse);
    dbias[i] = static_cast<float>(sums.g[i]);
  }
  write(dweight, call.out[1]);
  write(dbias, call.out[2]);

  float* z = allocate(call.out[0], layout.strides).as<float>();
  const int64_t stretch = rows_of_stretch(layout);
  const Repeated mean(means, stretch), rest(rests, stretch), a_of(scale, stretch), b_of(b, stretch), c_of(c, stretch);
  each_stretch(
      layout, stretch,
      [&](int64_t at, int64_t channel, int64_t length) {
        const auto i = static_cast<std::size_t>(channel);
        norm_rows().combine(g + at, x + at, {Constant(means[i]), Constant(rests[i])}, 1, Constant(scale[i]),
                            Constant(b[i]), Constant(c[i]), z + at, length);
      },
      [&](int64_t at, int64_t length) {
        norm_rows().combine(g + at, x + at, {mean, rest}, 1, a_of, b_of, c_of, z + at, length);
      });
  return true;
}

}  // namespace kiln::cpu::simd
