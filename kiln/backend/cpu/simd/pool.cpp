// Average pooling in single precision, of channels-last images or of planes.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/order.hpp"
#include "kiln/backend/cpu/simd/pool_image.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/pool.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements worth a thread's while

/// The pool of one image of a batch, and the lists that it points into.
struct Geometry {
  ImagePool pool;
  std::array<std::vector<ImagePool::Part>, 3> parts;

  Geometry(const op::AvgPool& op, const Array& image, const Array& pooled) {
    const int axes = image.shape.size() - 2;
    pool.channels = image.shape[1];
    for (int i = 0; i < 3; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      const int axis = i - (3 - axes);
      pool.sizes[slot] = axis < 0 ? 1 : image.shape[axis + 2];
      pool.image_strides[slot] = axis < 0 ? 0 : image.strides[axis + 2];
      pool.pooled_strides[slot] = axis < 0 ? 0 : pooled.strides[axis + 2];
      if (axis < 0) parts[slot] = {{0, 1, 1}};
      else
        for (std::int64_t k = 0; k < pooled.shape[axis + 2]; ++k)
          parts[slot].push_back(op.part(axis, k, pool.sizes[slot]));
      pool.parts[slot] = parts[slot];
    }
  }
  Geometry(const Geometry&) = delete;
};

/// The memory order of a result: channels-last where the operand is (images of one element could be either).
struct Layout {
  Dims strides;
  bool channels_last;
  Layout(const Shape& result, const Array& x) : strides(dense_like(result, x)) {
    channels_last = x.shape[1] > 1 && x.strides[1] == 1 && strides[1] == 1;
    if (!channels_last) strides = contiguous_strides(result);
  }
};

/// Calls each(n) for the images, or each(n, channel, row) for the planes of a batch, with room for one row.
template <class F>
void each_image(const Shape& images, F&& each) {
  const std::int64_t work = std::max<std::int64_t>(1, numel(images) / std::max<std::int64_t>(1, images[0]));
  parallel_for(images[0], std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) each(n);
  });
}
template <class F>
void each_plane(const Shape& images, F&& each) {
  const std::int64_t planes = images[0] * images[1];
  const std::int64_t work = std::max<std::int64_t>(1, numel(images) / std::max<std::int64_t>(1, planes));
  parallel_for(planes, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> row(static_cast<std::size_t>(images.back()));
    for (std::int64_t plane = begin; plane < end; ++plane) each(plane / images[1], plane % images[1], row.data());
  });
}

}  // namespace

bool run(const op::AvgPool& op, Call call) {
  if (call.in[0].dtype() != DType::F32) return false;
  const Array x = read(call.in[0]);
  const Layout layout(call.out[0].shape(), x);
  if (!layout.channels_last && x.strides.back() != 1 && x.shape.back() != 1) return false;
  const Array z = allocate(call.out[0], layout.strides);
  const Geometry geometry(op, x, z);
  const auto* from = x.as<float>();
  auto* to = z.as<float>();
  if (layout.channels_last)
    each_image(x.shape, [&](std::int64_t n) {
      average_channels_last(geometry.pool, from + n * x.strides[0], to + n * z.strides[0]);
    });
  else
    each_plane(x.shape, [&](std::int64_t n, std::int64_t c, float* row) {
      average_plane(geometry.pool, from + n * x.strides[0] + c * x.strides[1], to + n * z.strides[0] + c * z.strides[1],
                    row);
    });
  return true;
}

bool run(const op::AvgPoolGrad& op, Call call) {
  if (call.in[0].dtype() != DType::F32) return false;
  const Array y = read(call.in[0]);
  const Layout layout(call.out[0].shape(), y);
  const Array z = allocate(call.out[0], layout.strides);
  const Geometry geometry(op.pool, z, y);
  const auto* from = y.as<float>();
  auto* to = z.as<float>();
  if (layout.channels_last)
    each_image(z.shape, [&](std::int64_t n) {
      std::fill_n(to + n * z.strides[0], z.numel() / z.shape[0], 0.0f);
      spread_channels_last(geometry.pool, from + n * y.strides[0], to + n * z.strides[0]);
    });
  else
    each_plane(z.shape, [&](std::int64_t n, std::int64_t c, float* row) {
      float* plane = to + n * z.strides[0] + c * z.strides[1];
      std::fill_n(plane, z.strides[1], 0.0f);
      spread_plane(geometry.pool, from + n * y.strides[0] + c * y.strides[1], plane, row);
    });
  return true;
}

}  // namespace kiln::cpu::simd
