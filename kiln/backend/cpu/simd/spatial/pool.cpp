// Pooling in single precision, of channels-last images or of separate planes.
#include <algorithm>
#include <limits>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/spatial/max_image.hpp"
#include "kiln/backend/cpu/simd/spatial/pool_image.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 16384;  // the minimum number of elements per thread

/// The windows of one image of a batch, and the lists to which `pool` points.
template <class Op>
struct Geometry {
  using Part = typename Op::WindowPart;
  ImageWindows<Part> pool;
  std::array<std::vector<Part>, 3> parts;

  Geometry(const Op& op, const Array& image, const Array& pooled) {
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

/// Call each(n) for the images of a batch, or each(plane, row) for its planes, where `row` is scratch memory for one
/// row. Both run on several threads.
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
    for (std::int64_t plane = begin; plane < end; ++plane) each(plane, row.data());
  });
}

/// Returns whether x is dense, channels-last and of more than one channel.
bool channels_last(const Array& x) { return x.shape[1] > 1 && has_strides(x, channels_last_strides(x.shape)); }

/// Returns an operand in channels-last order if `last`, otherwise in row-major order.
Array read_like(const Value& value, bool last, Value& held) {
  return read_in(value, last ? channels_last_strides(value.shape()) : contiguous_strides(value.shape()), held);
}
/// Allocates `result`, channels-last if `last`, otherwise row-major.
Array allocate_like(Value& result, bool last) {
  return last ? allocate(result, channels_last_strides(result.shape())) : allocate(result);
}

/// The images of an average, or of its adjoint: in place where the channels of a pixel, or the elements of a row, follow
/// one another, as in a part of a picture. `last` says which.
struct AverageOperand {
  Value held;
  Array array;
  bool last;

  explicit AverageOperand(const Value& value) : array(read(value)) {
    const bool rows = array.strides.back() == 1 || array.shape.back() == 1;
    last = channels_last(array) || (!rows && array.shape[1] > 1 && array.strides[1] == 1);
    if (!last && !rows) array = read_like(value, false, held);
  }
};

/// Returns the offset of plane `plane` of [batch, channels, ...].
std::int64_t plane_at(const Array& x, std::int64_t plane) {
  return plane / x.shape[1] * x.strides[0] + plane % x.shape[1] * x.strides[1];
}

std::int64_t grain(std::int64_t work) { return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work)); }

}  // namespace

bool run(const op::MaxPool& op, Call call) {
  const DType dtype = call.in[0].dtype();
  if (is_half(dtype) || (is_integer(dtype) && size_of(dtype) <= 2)) return through_float32(op, call, run);
  if (dtype != DType::F32) return false;
  Value& values = call.out[op::MaxPool::values];
  const Shape& shape = values.shape();
  const std::int64_t planes = shape[0] * shape[1];
  if (values.numel() == 0 || call.in[0].numel() / planes > std::numeric_limits<std::int32_t>::max()) return false;
  const bool last = channels_last(read(call.in[0]));
  Value held;
  const Array x = read_like(call.in[0], last, held), z = allocate_like(values, last);
  std::int64_t* indices = op.indexed ? allocate_like(call.out[op::MaxPool::indices], last).as<std::int64_t>() : nullptr;
  const Geometry geometry(op, x, z);
  const auto found = [&](std::int64_t at) { return MaxResult{z.as<float>() + at, indices ? indices + at : nullptr}; };
  if (last) {
    const std::int64_t rows = numel(shape) / (shape[0] * shape[1] * shape.back());
    parallel_for(shape[0] * rows, grain(x.numel() / (shape[0] * rows)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end;) {
        const std::int64_t n = row / rows, until = std::min(end, (n + 1) * rows);
        max_channels_last(geometry.pool, x.as<float>() + n * x.strides[0], found(n * z.strides[0]), row - n * rows,
                          until - n * rows);
        row = until;
      }
    });
  } else {
    parallel_for(planes, grain(x.strides[1]), [&](std::int64_t begin, std::int64_t end) {
      max_planes(geometry.pool, {end - begin, x.strides[1], z.strides[1]}, x.as<float>() + begin * x.strides[1],
                 found(begin * z.strides[1]));
    });
  }
  return true;
}

bool run(const op::MaxPoolGrad& op, Call call) {
  using Slot = op::MaxPoolGrad::Slot;
  const Value &grad = call.in[Slot::y], &where = call.in[Slot::indices];
  if (is_half(grad.dtype())) return through_float32(op, call, run);
  if (grad.dtype() != DType::F32 || where.dtype() != DType::I64) return false;
  const bool last = channels_last(read(where));
  const Shape &pooled = grad.shape(), &shape = call.out[0].shape();
  Value held, held_where;
  const auto* from = read_like(grad, last, held).as<float>();
  const auto* places = read_like(where, last, held_where).as<std::int64_t>();
  auto* to = allocate_like(call.out[0], last).as<float>();
  const std::int64_t planes = shape[0] * shape[1], channels = shape[1];
  if (planes == 0) return true;
  const std::int64_t inputs = numel(shape) / planes, results = numel(pooled) / planes;
  const auto place = [&](std::int64_t i) {
    const std::int64_t index = places[i];
    require<IndexError>(index >= 0 && index < inputs, "max_pool_grad: index ", index, " is out of range for ",
                        op.sizes);
    return index;
  };
  if (last) {
    // A task computes a cache line of channels, from the first pixel to the last.
    constexpr std::int64_t kChannels = 16;
    const std::int64_t blocks = (channels + kChannels - 1) / kChannels;
    parallel_for(shape[0] * blocks, grain(inputs * kChannels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t n = block / blocks, first = block % blocks * kChannels;
        const std::int64_t count = std::min(kChannels, channels - first);
        float* image = to + n * channels * inputs + first;
        for (std::int64_t i = 0; i < inputs; ++i) std::fill_n(image + i * channels, count, 0.0f);
        for (std::int64_t i = 0; i < results; ++i) {
          const std::int64_t pixel = (n * results + i) * channels + first;
          for (std::int64_t c = 0; c < count; ++c) image[place(pixel + c) * channels + c] += from[pixel + c];
        }
      }
    });
  } else {
    parallel_for(planes, grain(inputs), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane) {
        std::fill_n(to + plane * inputs, inputs, 0.0f);
        for (std::int64_t i = plane * results; i < (plane + 1) * results; ++i) to[plane * inputs + place(i)] += from[i];
      }
    });
  }
  return true;
}

bool run(const op::AvgPool& op, Call call) {
  if (is_half(call.in[0].dtype())) return through_float32(op, call, run);
  if (call.in[0].dtype() != DType::F32) return false;
  const AverageOperand images(call.in[0]);
  const Array &x = images.array, z = allocate_like(call.out[0], images.last);
  const Geometry geometry(op, x, z);
  const auto* from = x.as<float>();
  auto* to = z.as<float>();
  if (images.last)
    each_image(x.shape, [&](std::int64_t n) {
      average_kernels().average(geometry.pool, from + n * x.strides[0], to + n * z.strides[0]);
    });
  else
    each_plane(x.shape, [&](std::int64_t plane, float* row) {
      average_kernels().average_plane(geometry.pool, from + plane_at(x, plane), to + plane * z.strides[1], row);
    });
  return true;
}

bool run(const op::AvgPoolGrad& op, Call call) {
  if (is_half(call.in[0].dtype())) return through_float32(op, call, run);
  if (call.in[0].dtype() != DType::F32) return false;
  const AverageOperand results(call.in[0]);
  const Array &y = results.array, z = allocate_like(call.out[0], results.last);
  const Geometry geometry(op.pool, z, y);
  const auto* from = y.as<float>();
  auto* to = z.as<float>();
  if (results.last)
    each_image(z.shape, [&](std::int64_t n) {
      std::fill_n(to + n * z.strides[0], z.numel() / z.shape[0], 0.0f);
      average_kernels().spread(geometry.pool, from + n * y.strides[0], to + n * z.strides[0]);
    });
  else
    each_plane(z.shape, [&](std::int64_t plane, float* row) {
      std::fill_n(to + plane * z.strides[1], z.strides[1], 0.0f);
      average_kernels().spread_plane(geometry.pool, from + plane_at(y, plane), to + plane * z.strides[1], row);
    });
  return true;
}

}  // namespace kiln::cpu::simd
