#include "kiln/ops/spatial/blend_ops.hpp"

#include <algorithm>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"

namespace kiln::cpu::reference {
namespace {

/// The sizes of a blend: x [batch, channels, size], index, weight [batch, points, taps], y [batch, channels, points].
struct Blending {
  std::int64_t batch, channels, size, points, taps;

  Blending(const Shape& x, const Shape& index)
      : batch(x[0]), channels(x[1]), size(x[2]), points(index[1]), taps(index[2]) {}

  /// Calls f(x, weight, y), flat indices, for every product of the three; y ascends slowest.
  template <class F>
  void each_product(const std::int64_t* index, F&& f) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t p = 0; p < points; ++p)
          for (std::int64_t t = 0; t < taps; ++t) {
            const std::int64_t w = (n * points + p) * taps + t;
            if (index[w] < 0 || index[w] >= size) continue;
            f((n * channels + c) * size + index[w], w, (n * channels + c) * points + p);
          }
  }
};

template <class C>
void finish(const std::vector<double>& sums, Result<C>& result) {
  for (std::size_t i = 0; i < sums.size(); ++i) result[static_cast<std::int64_t>(i)] = convert<C>(sums[i]);
  result.store();
}

}  // namespace

template <>
void run(const op::Blend&, Call call) {
  const Array x = read(call.in[op::Blend::x]), index = read(call.in[op::Blend::index]);
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x), weight(read(call.in[op::Blend::weight]));
    const RowMajor<std::int64_t> indices(index);
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(call.out[0].numel()));
    Blending(x.shape, index.shape).each_product(indices.data(), [&](std::int64_t i, std::int64_t w, std::int64_t o) {
      sums[static_cast<std::size_t>(o)] += static_cast<double>(weight[w]) * static_cast<double>(data[i]);
    });
    finish(sums, result);
  });
}

template <>
void run(const op::BlendTranspose&, Call call) {
  const Array y = read(call.in[op::BlendTranspose::y]), index = read(call.in[op::BlendTranspose::index]);
  visit_float(y.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(y), weight(read(call.in[op::BlendTranspose::weight]));
    const RowMajor<std::int64_t> indices(index);
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(call.out[0].numel()));
    Blending(call.out[0].shape(), index.shape)
        .each_product(indices.data(), [&](std::int64_t i, std::int64_t w, std::int64_t o) {
          sums[static_cast<std::size_t>(i)] += static_cast<double>(weight[w]) * static_cast<double>(data[o]);
        });
    finish(sums, result);
  });
}

template <>
void run(const op::BlendWeightGrad&, Call call) {
  const Array x = read(call.in[op::BlendWeightGrad::x]), index = read(call.in[op::BlendWeightGrad::index]);
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x), gradient(read(call.in[op::BlendWeightGrad::y]));
    const RowMajor<std::int64_t> indices(index);
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(call.out[0].numel()));
    Blending(x.shape, index.shape).each_product(indices.data(), [&](std::int64_t i, std::int64_t w, std::int64_t o) {
      sums[static_cast<std::size_t>(w)] += static_cast<double>(data[i]) * static_cast<double>(gradient[o]);
    });
    finish(sums, result);
  });
}

}  // namespace kiln::cpu::reference
