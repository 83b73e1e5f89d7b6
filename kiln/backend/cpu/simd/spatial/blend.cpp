// Weighted sums of scattered elements in single precision. Tensors are converted to channels-last, so that a point
// reads and writes whole vectors of channels. If there are few channels, each stays a separate plane.
#include "kiln/ops/spatial/blend_ops.hpp"

#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/simd/spatial/blend_points.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;    // the minimum number of products per thread
constexpr std::int64_t kFewChannels = 4;  // up to so many channels stay planes

bool takes(Call call) { return call.out[0].dtype() == DType::F32 && call.out[0].numel() > 0; }

std::int64_t grain(std::int64_t work) { return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work)); }

/// The sizes, indices and weights of a blend from x [batch, channels, size] to y [batch, channels, points].
struct Blending {
  std::int64_t batch, channels, size, points, taps;
  bool planes;
  Value held_index, held_weight;
  const std::int64_t* index;
  const float* weight = nullptr;

  Blending(const Shape& x, const Value& index_value, const Value* weight_value)
      : batch(x[0]),
        channels(x[1]),
        size(x[2]),
        points(index_value.dim(1)),
        taps(index_value.dim(2)),
        planes(channels <= kFewChannels),
        index(read_contiguous(index_value, held_index).as<const std::int64_t>()) {
    if (weight_value) weight = read_contiguous(*weight_value, held_weight).as<const float>();
  }
  Blending(const Blending&) = delete;

  /// Returns the strides in which x or y is read or written.
  Dims order(const Shape& shape) const { return planes ? contiguous_strides(shape) : channels_last_strides(shape); }
  /// Returns the taps of point p, counted over all images.
  PointTaps at(std::int64_t p) const { return {index + p * taps, weight ? weight + p * taps : nullptr, taps, size}; }
  std::int64_t work() const { return channels * taps; }
};

/// Calls f(index, position of the weight) for the taps of point p that are inside the image.
template <class F>
void each_tap(const Blending& blending, std::int64_t p, F&& f) {
  for (std::int64_t t = p * blending.taps; t < (p + 1) * blending.taps; ++t)
    if (blending.index[t] >= 0 && blending.index[t] < blending.size) f(blending.index[t], t);
}

}  // namespace

bool run(const op::Blend&, Call call) {
  using Slot = op::Blend::Slot;
  if (!takes(call)) return false;
  const Blending b(call.in[Slot::x].shape(), call.in[Slot::index], &call.in[Slot::weight]);
  Value held;
  const auto* x = read_in(call.in[Slot::x], b.order(call.in[Slot::x].shape()), held).as<float>();
  auto* y = allocate(call.out[0], b.order(call.out[0].shape())).as<float>();
  parallel_for(b.batch * b.points, grain(b.work()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t n = p / b.points;
      const float* image = x + n * b.channels * b.size;
      if (!b.planes) {
        point_kernels().blend(b.at(p), image, b.channels, b.channels, y + p * b.channels);
        continue;
      }
      float sums[kFewChannels] = {};
      each_tap(b, p, [&](std::int64_t i, std::int64_t t) {
        for (std::int64_t c = 0; c < b.channels; ++c) sums[c] += b.weight[t] * image[c * b.size + i];
      });
      for (std::int64_t c = 0; c < b.channels; ++c) y[(n * b.channels + c) * b.points + p - n * b.points] = sums[c];
    }
  });
  return true;
}

bool run(const op::BlendTranspose&, Call call) {
  using Slot = op::BlendTranspose::Slot;
  if (!takes(call)) return false;
  const Blending b(call.out[0].shape(), call.in[Slot::index], &call.in[Slot::weight]);
  Value held;
  const auto* y = read_in(call.in[Slot::y], b.order(call.in[Slot::y].shape()), held).as<float>();
  auto* x = allocate(call.out[0], b.order(call.out[0].shape())).as<float>();
  // A task computes some channels of an image: it adds all points to them in order.
  const std::int64_t channels_per_task = b.planes ? 1 : 32,
                     blocks = (b.channels + channels_per_task - 1) / channels_per_task;
  parallel_for(
      b.batch * blocks, grain(b.points * b.taps * channels_per_task), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block) {
          const std::int64_t n = block / blocks, first = block % blocks * channels_per_task;
          const std::int64_t count = std::min(channels_per_task, b.channels - first);
          if (b.planes) {
            float* plane = x + block * b.size;
            std::fill_n(plane, b.size, 0.0f);
            for (std::int64_t p = 0; p < b.points; ++p)
              each_tap(b, n * b.points + p,
                       [&](std::int64_t i, std::int64_t t) { plane[i] += b.weight[t] * y[block * b.points + p]; });
            continue;
          }
          float* image = x + n * b.channels * b.size + first;
          for (std::int64_t i = 0; i < b.size; ++i) std::fill_n(image + i * b.channels, count, 0.0f);
          for (std::int64_t p = n * b.points; p < (n + 1) * b.points; ++p)
            point_kernels().spread(b.at(p), y + p * b.channels + first, b.channels, count, image);
        }
      });
  return true;
}

bool run(const op::BlendWeightGrad&, Call call) {
  using Slot = op::BlendWeightGrad::Slot;
  if (!takes(call)) return false;
  const Blending b(call.in[Slot::x].shape(), call.in[Slot::index], nullptr);
  Value held_x, held_y;
  const auto* x = read_in(call.in[Slot::x], b.order(call.in[Slot::x].shape()), held_x).as<float>();
  const auto* y = read_in(call.in[Slot::y], b.order(call.in[Slot::y].shape()), held_y).as<float>();
  auto* weight = allocate(call.out[0]).as<float>();
  parallel_for(b.batch * b.points, grain(b.work()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t n = p / b.points;
      const float* image = x + n * b.channels * b.size;
      if (!b.planes) {
        point_kernels().weigh(b.at(p), image, y + p * b.channels, b.channels, weight + p * b.taps);
        continue;
      }
      std::fill_n(weight + p * b.taps, b.taps, 0.0f);
      const float* gradient = y + (n * b.channels - n) * b.points + p;
      each_tap(b, p, [&](std::int64_t i, std::int64_t t) {
        for (std::int64_t c = 0; c < b.channels; ++c) weight[t] += image[c * b.size + i] * gradient[c * b.points];
      });
    }
  });
  return true;
}

}  // namespace kiln::cpu::simd
