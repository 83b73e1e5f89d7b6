// op::ConvInteger as products: a row of the left operand is the window of a pixel, channels side by side.
#include <algorithm>
#include <array>
#include <cstring>

#include "kiln/backend/cpu/conv/choose.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/integer/depthwise.hpp"
#include "kiln/backend/cpu/integer/integer.hpp"
#include "kiln/backend/cpu/integer/product.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"

namespace kiln::cpu::integer {
namespace {

using conv::Geometry;
using conv::Operand;
using std::int64_t;
using Axes = std::array<int64_t, 3>;

/// With leading axes of one place where there are fewer than three.
Axes lifted(const Spatial& list, int64_t fill) {
  Axes axes{fill, fill, fill};
  std::copy(list.begin(), list.end(), axes.end() - list.size());
  return axes;
}

/// Matrix i has the windows of all pixels, of group i's channels.
class WindowRows final : public LeftRows {
 public:
  WindowRows(const Geometry& g, const Array& x, bool is_signed, std::int32_t zero)
      : data_(x.as<std::uint8_t>()),
        channels_(g.in),
        inner_(g.in / g.groups),
        sizes_(lifted(g.sizes, 1)),
        result_(lifted(g.result, 1)),
        kernel_(lifted(g.kernel, 1)),
        stride_(lifted(g.stride, 1)),
        padding_(lifted(g.padding, 0)),
        dilation_(lifted(g.dilation, 1)),
        turn_(is_signed ? 0x80 : 0),
        zero_(static_cast<std::uint8_t>(zero)),
        is_pointwise_(kernel_ == Axes{1, 1, 1} && stride_ == Axes{1, 1, 1} && padding_ == Axes{} && sizes_ == result_),
        lies_(!is_signed && is_pointwise_),
        side_by_side_(dilation_[2] == 1 && g.groups == 1) {}

  const std::uint8_t* in_place(int64_t index, int64_t row) const override {
    return lies_ ? data_ + row * channels_ + index * inner_ : nullptr;
  }
  int64_t step() const override { return channels_; }
  void copy(int64_t index, int64_t row, int64_t count, std::uint8_t* to, int64_t step) const override {
    const int64_t bytes = kernel_[0] * kernel_[1] * kernel_[2] * inner_;
    Place place{row / (result_[2] * result_[1] * result_[0]), row / (result_[2] * result_[1]) % result_[0],
                row / result_[2] % result_[1], row % result_[2]};
    for (int64_t i = 0; i < count; ++i, to += step) {
      if (is_pointwise_)
        std::memcpy(to, data_ + (row + i) * channels_ + index * inner_, static_cast<std::size_t>(bytes));
      else window(place, index * inner_, to);
      if (turn_)
        for (int64_t j = 0; j < bytes; ++j) to[j] ^= turn_;
      next(place);
    }
  }

 private:
  /// Of a pixel of the result.
  struct Place {
    int64_t image, plane, row, column;
  };
  void next(Place& place) const {
    if (++place.column < result_[2]) return;
    place.column = 0;
    if (++place.row < result_[1]) return;
    place.row = 0;
    if (++place.plane < result_[0]) return;
    place.plane = 0, ++place.image;
  }
  void window(const Place& at, int64_t channel, std::uint8_t* to) const {
    const auto [image, plane, row, column] = at;
    const int64_t line = kernel_[2] * inner_;
    for (int64_t a = 0; a < kernel_[0]; ++a)
      for (int64_t b = 0; b < kernel_[1]; ++b, to += line) {
        const int64_t z = plane * stride_[0] - padding_[0] + a * dilation_[0],
                      y = row * stride_[1] - padding_[1] + b * dilation_[1], x = column * stride_[2] - padding_[2];
        if (z < 0 || z >= sizes_[0] || y < 0 || y >= sizes_[1]) {
          std::memset(to, zero_, static_cast<std::size_t>(line));
          continue;
        }
        const std::uint8_t* const from =
            data_ + ((image * sizes_[0] + z) * sizes_[1] + y) * sizes_[2] * channels_ + channel;
        if (side_by_side_) {
          const int64_t first = std::clamp<int64_t>(-x, 0, kernel_[2]),
                        last = std::clamp<int64_t>(sizes_[2] - x, first, kernel_[2]);
          std::memset(to, zero_, static_cast<std::size_t>(first * inner_));
          std::memcpy(to + first * inner_, from + (x + first) * channels_,
                      static_cast<std::size_t>((last - first) * inner_));
          std::memset(to + last * inner_, zero_, static_cast<std::size_t>((kernel_[2] - last) * inner_));
        } else {
          for (int64_t c = 0; c < kernel_[2]; ++c) {
            const int64_t under = x + c * dilation_[2];
            if (under < 0 || under >= sizes_[2]) std::memset(to + c * inner_, zero_, static_cast<std::size_t>(inner_));
            else std::memcpy(to + c * inner_, from + under * channels_, static_cast<std::size_t>(inner_));
          }
        }
      }
  }

  const std::uint8_t* const data_;
  const int64_t channels_, inner_;
  const Axes sizes_, result_, kernel_, stride_, padding_, dilation_;
  const std::uint8_t turn_, zero_;
  const bool is_pointwise_, lies_, side_by_side_;
};

}  // namespace

bool convolve(const op::ConvInteger& op, Call call, const Epilogue* epilogue) {
  using Slot = op::ConvInteger::Slot;
  const Value &x = call.in[Slot::x], &filter = call.in[Slot::weight];
  const Geometry g = Geometry::of(op.conv, x.shape(), call.out[0].shape(), Geometry::spatial(filter.shape()));
  if (g.empty()) return false;
  const Value x_zero = call.in.size() > Slot::x_zero ? call.in[Slot::x_zero] : Value(),
              weight_zero = call.in.size() > Slot::weight_zero ? call.in[Slot::weight_zero] : Value();
  const bool is_signed = x.dtype() == DType::I8, is_unsigned = filter.dtype() == DType::U8;
  const Operand images = Operand::channels_last(x), weight = Operand::contiguous(filter);
  const std::int32_t zero = number_of(x_zero);
  std::int32_t* result = nullptr;
  if (!epilogue)
    result = reinterpret_cast<std::int32_t*>(allocate(call.out[0], channels_last_strides(call.out[0].shape())).data);
  if (conv::choose({conv::Pass::Forward, g, x.dtype()}).algorithm == Algorithm::IntegerDepthwise) {
    depthwise(g, images.array, zero, weight, weight_zero, epilogue, result);
    return true;
  }
  const int64_t taps = Geometry::product(g.kernel), inner = g.in / g.groups, out = g.out / g.groups;
  const WindowRows left(g, images.array, is_signed, zero);
  const PackPanels packer{.n = out,
                          .taps = taps,
                          .inner = inner,
                          .column_step = taps * inner,
                          .tap_step = 1,
                          .inner_step = taps,
                          .is_unsigned = is_unsigned,
                          .batch = Shape{g.groups},
                          .steps = Dims{out * taps * inner}};
  const Ref<Memory> right = packed(weight.value, packer);
  const Product product{.matrices = g.groups,
                        .m = g.batch * Geometry::product(g.result),
                        .n = out,
                        .k = taps * inner,
                        .matrix_step = out,
                        .row_step = g.out,
                        .left = &left,
                        .a_zero = zero + (is_signed ? 128 : 0),
                        .packer = &packer,
                        .right = right->bytes(),
                        .rights = {},
                        .b_zeros = zeros_of(weight_zero, is_unsigned ? 128 : 0, g.out)};
  multiply(product, tiles_for(product.m), epilogue, result);
  return true;
}

bool run(const op::ConvInteger& op, Call call) { return convolve(op, call, nullptr); }

}  // namespace kiln::cpu::integer
