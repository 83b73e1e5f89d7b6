#include "kiln/backend/cpu/conv/algorithms.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

/// Packs a weight [channels, 1, kernel...] of float32 as [kernel..., channels]. For the adjoint in x the kernel is
/// flipped.
struct PackPlaces {
  int64_t channels, places;
  bool flipped;

  std::size_t bytes() const { return static_cast<std::size_t>(channels * places) * sizeof(float); }
  void pack(const std::byte* from, std::byte* to) const {
    const auto* const plain = reinterpret_cast<const float*>(from);
    auto* const packed = reinterpret_cast<float*>(to);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < places; ++k)
        packed[(flipped ? places - 1 - k : k) * channels + c] = plain[c * places + k];
  }
};

Ref<Memory> packed_places(const Geometry& g, const ConvOperand& weight, bool flipped) {
  return packed(weight.value, PackPlaces{g.in, Geometry::product(g.kernel), flipped});
}

void convolve(const Geometry& g, const Array& x, const ConvOperand& plain, bool flipped, const float* bias,
              const ConvResult& y) {
  const Ref<Memory> packed = packed_places(g, plain, flipped);
  const auto* const weight = reinterpret_cast<const float*>(packed->bytes());
  const std::vector<float> none(static_cast<std::size_t>(bias ? 0 : g.in), 0.0f);
  const DepthwiseShape shape(g);
  const int64_t x_image = Geometry::product(g.sizes) * g.in, rows = shape.result[0] * shape.result[1];
  const int64_t row_numbers = shape.result[2] * g.in;
  // Each number is read for a single product, so a product takes so many times as long as in other convolutions.
  constexpr int64_t kSlower = 4;  // bench: sweep conv2d_depthwise, ONNX MobileNetV2
  const int64_t wanted = pieces(kSlower * g.batch * g.cost());
  parallel_for(g.batch * rows, divide_up(g.batch * rows, wanted), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / rows, first = begin % rows, last = std::min(rows, first + end - begin);
      y.piece(begin * row_numbers, (last - first) * row_numbers, [&](std::byte* to) {
        // This would be the start of the image.
        auto* const target = reinterpret_cast<float*>(to) - first * row_numbers;
        for (int64_t row = first; row < last; ++row)
          depthwise_kernels().row(shape, x.as<float>() + image * x_image, weight, bias ? bias : none.data(), target,
                                  y.finish(), row / shape.result[1], row % shape.result[1]);
      });
      begin += last - first;
    }
  });
}

PlaneShape plane_shape(const Geometry& g) {
  const int axes = g.kernel.size();
  const auto axis = [&](int i) {
    return PlaneShape::Axis{g.sizes[i], g.result[i], g.kernel[i], g.stride[i], g.padding[i], g.dilation[i]};
  };
  return {axes == 2 ? axis(0) : PlaneShape::Axis{1, 1, 1, 1, 0, 1}, axis(axes - 1)};
}
/// Computes the adjoint in x: a convolution of y, whose elements are spread by the strides, with the flipped kernel.
PlaneShape flipped_shape(const Geometry& g) {
  PlaneShape shape = plane_shape(g);
  for (PlaneShape::Axis* const axis : {&shape.down, &shape.across}) {
    std::swap(axis->size, axis->result);
    std::swap(axis->stride, axis->spacing);
    axis->padding = axis->dilation * (axis->kernel - 1) - axis->padding;
  }
  return shape;
}

void convolve_planes(const Geometry& g, const PlaneShape& shape, const Array& x, const float* weight, Value& result) {
  const int64_t x_plane = shape.down.size * shape.across.size, y_plane = shape.down.result * shape.across.result,
                places = Geometry::product(g.kernel);
  auto* const y = allocate(result).as<float>();
  const int64_t wanted = pieces(g.batch * g.cost());
  parallel_for(g.batch * g.in, divide_up(g.batch * g.in, wanted), [&](int64_t begin, int64_t end) {
    std::vector<float> room(static_cast<std::size_t>(shape.room()), 0.0f);
    for (int64_t plane = begin; plane < end; ++plane)
      plane_kernels().plane(shape, x.as<const float>() + plane * x_plane, weight + plane % g.in * places, room.data(),
                            y + plane * y_plane);
  });
}

}  // namespace

PlaneShape plane_shape(Pass pass, const Geometry& g) { return pass == Pass::Data ? flipped_shape(g) : plane_shape(g); }

void depthwise_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const Array* bias,
                    const ConvResult& y) {
  convolve(g, x, weight, false, bias ? bias->as<float>() : nullptr, y);
}

void depthwise_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x) {
  convolve(g.flipped(), y, weight, true, nullptr, x);
}

void depthwise_planes(const Geometry& g, const Value& x, const ConvOperand& weight, Value& y) {
  convolve_planes(g, plane_shape(g), read(x), weight.array.as<const float>(), y);
}

void depthwise_planes_data(const Geometry& g, const Value& y, const ConvOperand& weight, Value& x) {
  const auto* const plain = weight.array.as<const float>();
  const int64_t places = Geometry::product(g.kernel);
  std::vector<float> around(static_cast<std::size_t>(g.in * places));
  for (int64_t first = 0; first < g.in * places; first += places)
    std::reverse_copy(plain + first, plain + first + places, around.begin() + first);
  convolve_planes(g, flipped_shape(g), read(y), around.data(), x);
}

void depthwise_planes_weight(const Geometry& g, const Array& x, const Array& y, float* weight) {
  const PlaneShape shape = plane_shape(g);
  const int64_t x_plane = Geometry::product(g.sizes), y_plane = Geometry::product(g.result),
                places = Geometry::product(g.kernel);
  std::vector<float> room(static_cast<std::size_t>(shape.room()), 0.0f);
  std::fill_n(weight, g.in * places, 0.0f);
  for (int64_t plane = 0; plane < g.batch * g.in; ++plane)
    plane_kernels().weight(shape, x.as<const float>() + plane * x_plane, y.as<const float>() + plane * y_plane,
                           room.data(), weight + plane % g.in * places);
}

void depthwise_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight) {
  const DepthwiseShape shape(g);
  const int64_t places = Geometry::product(g.kernel), x_image = Geometry::product(g.sizes) * g.in,
                y_image = Geometry::product(g.result) * g.in;
  std::vector<float> sums(static_cast<std::size_t>(places * g.in), 0.0f);
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t row = 0; row < shape.result[0] * shape.result[1]; ++row)
      depthwise_kernels().weight_row(shape, x.as<float>() + image * x_image, y.as<float>() + image * y_image,
                                     sums.data(), row / shape.result[1], row % shape.result[1]);
  for (int64_t c = 0; c < g.in; ++c)
    for (int64_t k = 0; k < places; ++k) weight[c * places + k] = sums[static_cast<std::size_t>(k * g.in + c)];
}

}  // namespace kiln::cpu::conv
