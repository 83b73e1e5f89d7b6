// Linear sampling of two-dimensional images in single precision. The taps of a block of points are computed and used
// while the block is in the cache. Images are read as channels-last, or as separate planes if they have few channels.
#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/simd/spatial/blend_points.hpp"
#include "kiln/backend/cpu/simd/spatial/grid_points.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/spatial/sample_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;    // the minimum number of products per thread
constexpr std::int64_t kFewChannels = 4;  // up to so many channels stay planes

GridAxis axis_of(std::int64_t size, const GridSampleOptions& options) {
  const auto extent = static_cast<double>(size);
  const double scale = options.align_corners ? (extent - 1) / 2 : extent / 2;
  const bool zeros = options.padding == SamplePadding::Zeros;
  return {static_cast<float>(scale), static_cast<float>((extent - 1) / 2), zeros ? -2.0f : 0.0f,
          static_cast<float>(zeros ? extent + 1 : extent - 1), static_cast<std::int32_t>(size)};
}

/// Images [batch, channels, height, width] and the grid that samples them.
struct Sampling {
  std::int64_t batch, channels, size, points;
  bool planes;
  GridAxis across, down;
  Value held_grid;
  const float* grid;

  Sampling(const GridSampleOptions& options, const Shape& x, const Value& grid_value)
      : batch(x[0]),
        channels(x[1]),
        size(x[2] * x[3]),
        points(grid_value.dim(1) * grid_value.dim(2)),
        planes(channels <= kFewChannels),
        across(axis_of(x[3], options)),
        down(axis_of(x[2], options)),
        grid(read_contiguous(grid_value, held_grid).as<const float>()) {}
  Sampling(const Sampling&) = delete;

  static bool takes(const GridSampleOptions& options, const Value& x, const Shape& image) {
    return image.size() == 4 && x.dtype() == DType::F32 && options.mode == Interpolation::Linear &&
           options.padding != SamplePadding::Reflection && numel(image) > 0 &&
           image[2] * image[3] < std::numeric_limits<std::int32_t>::max();
  }

  /// Returns the strides in which images, or the samples, are read or written.
  Dims order(const Shape& shape) const { return planes ? contiguous_strides(shape) : channels_last_strides(shape); }
  GridPlanes all_planes() const { return {channels, size}; }

  /// Calls f(first point, count, taps) for blocks of the points [begin, end) of an image, in order.
  template <class F>
  void each_block(std::int64_t image, std::int64_t begin, std::int64_t end, F&& f) const {
    GridTaps taps;
    for (std::int64_t p = begin; p < end; p += GridTaps::kMost) {
      const std::int64_t count = std::min(GridTaps::kMost, end - p);
      grid_kernels().find_taps(across, down, grid + 2 * (image * points + p), count, taps);
      f(p, count, taps);
    }
  }
  /// Calls f(image, first point, count, taps) for the blocks of all images, on several threads.
  template <class F>
  void each_block_of_all(F&& f) const {
    const std::int64_t blocks = (points + GridTaps::kMost - 1) / GridTaps::kMost;
    const std::int64_t work = GridTaps::kMost * GridTaps::kTaps * channels;
    parallel_for(batch * blocks, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {  // the blocks of one image
        const std::int64_t image = begin / blocks, last = std::min(end, (image + 1) * blocks);
        const std::int64_t first = (begin - image * blocks) * GridTaps::kMost;
        each_block(image, first, std::min(points, (last - image * blocks) * GridTaps::kMost),
                   [&](std::int64_t p, std::int64_t count, const GridTaps& taps) { f(image, p, count, taps); });
        begin = last;
      }
    });
  }
  /// Calls f(point, taps of the point) for each point of a block of a channels-last image.
  template <class F>
  void each_pixel(const GridTaps& taps, std::int64_t count, F&& f) const {
    for (std::int64_t p = 0; p < count; ++p) {
      std::int64_t index[GridTaps::kTaps];
      std::copy_n(taps.index + p * GridTaps::kTaps, GridTaps::kTaps, index);
      f(p, PointTaps{index, taps.weight + p * GridTaps::kTaps, GridTaps::kTaps, size});
    }
  }
};

}  // namespace

bool run(const op::GridSample& op, Call call) {
  using Slot = op::GridSample::Slot;
  const Value& image = call.in[Slot::x];
  if (!Sampling::takes(op.options, image, image.shape())) return false;
  const Sampling s(op.options, image.shape(), call.in[Slot::grid]);
  Value held;
  const auto* x = read_in(image, s.order(image.shape()), held).as<float>();
  auto* y = allocate(call.out[0], s.order(call.out[0].shape())).as<float>();
  s.each_block_of_all([&](std::int64_t n, std::int64_t first, std::int64_t count, const GridTaps& taps) {
    const float* from = x + n * s.channels * s.size;
    if (s.planes) {
      grid_kernels().blend(taps, count, s.all_planes(), from, y + n * s.channels * s.points + first, s.points);
      return;
    }
    float* to = y + (n * s.points + first) * s.channels;
    s.each_pixel(taps, count, [&](std::int64_t p, const PointTaps& point) {
      point_kernels().blend(point, from, s.channels, s.channels, to + p * s.channels);
    });
  });
  return true;
}

bool run(const op::GridSampleTranspose& op, Call call) {
  using Slot = op::GridSampleTranspose::Slot;
  const Value& read = call.in[Slot::y];
  const Shape& image = call.out[0].shape();
  if (!Sampling::takes(op.options, read, image)) return false;
  const Sampling s(op.options, image, call.in[Slot::grid]);
  Value held;
  const auto* y = read_in(read, s.order(read.shape()), held).as<float>();
  auto* x = allocate(call.out[0], s.order(image)).as<float>();
  // A task computes some channels of an image: it adds all points to them in order. If there are enough images for all
  // threads, few channels are faster in one task.
  const std::int64_t channels_per_task = s.planes && s.batch < num_threads() ? 1 : 32;
  const std::int64_t blocks = (s.channels + channels_per_task - 1) / channels_per_task;
  const std::int64_t work =
      std::max<std::int64_t>(1, s.points * GridTaps::kTaps * std::min(channels_per_task, s.channels));
  parallel_for(s.batch * blocks, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t n = block / blocks, channel = block % blocks * channels_per_task;
      const std::int64_t own = std::min(channels_per_task, s.channels - channel);
      if (s.planes) {
        const std::int64_t first_plane = n * s.channels + channel;
        float* to = x + first_plane * s.size;
        std::fill_n(to, own * s.size, 0.0f);
        s.each_block(n, 0, s.points, [&](std::int64_t first, std::int64_t count, const GridTaps& taps) {
          grid_kernels().spread(taps, count, {own, s.size}, y + first_plane * s.points + first, s.points, to);
        });
        continue;
      }
      float* to = x + n * s.channels * s.size + channel;
      for (std::int64_t i = 0; i < s.size; ++i) std::fill_n(to + i * s.channels, own, 0.0f);
      s.each_block(n, 0, s.points, [&](std::int64_t first, std::int64_t count, const GridTaps& taps) {
        const float* from = y + (n * s.points + first) * s.channels + channel;
        s.each_pixel(taps, count, [&](std::int64_t p, const PointTaps& point) {
          point_kernels().spread(point, from + p * s.channels, s.channels, own, to);
        });
      });
    }
  });
  return true;
}

bool run(const op::GridSampleGridGrad& op, Call call) {
  using Slot = op::GridSampleGridGrad::Slot;
  const Value& image = call.in[Slot::x];
  if (!Sampling::takes(op.options, image, image.shape())) return false;
  const Sampling s(op.options, image.shape(), call.in[Slot::grid]);
  Value held_x, held_y;
  const auto* x = read_in(image, s.order(image.shape()), held_x).as<float>();
  const auto* y = read_in(call.in[Slot::grad], s.order(call.in[Slot::grad].shape()), held_y).as<float>();
  auto* grid = allocate(call.out[0]).as<float>();
  s.each_block_of_all([&](std::int64_t n, std::int64_t first, std::int64_t count, const GridTaps& taps) {
    float by_weight[GridTaps::kTaps * GridTaps::kMost];
    const float* from = x + n * s.channels * s.size;
    if (s.planes) {
      grid_kernels().weigh(taps, count, s.all_planes(), from, y + n * s.channels * s.points + first, s.points,
                           by_weight);
    } else {
      const float* gradient = y + (n * s.points + first) * s.channels;
      s.each_pixel(taps, count, [&](std::int64_t p, const PointTaps& point) {
        point_kernels().weigh(point, from, gradient + p * s.channels, s.channels, by_weight + p * GridTaps::kTaps);
      });
    }
    grid_kernels().find_slopes(taps, count, by_weight, grid + 2 * (n * s.points + first));
  });
  return true;
}

}  // namespace kiln::cpu::simd
