// op::ConvInteger as products: a row of the left operand is the window of a pixel, with its channels side by side.
#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/conv/choose.hpp"
#include "kiln/backend/cpu/integer/integer.hpp"
#include "kiln/backend/cpu/integer/product.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"

namespace kiln::cpu::integer {
namespace {

using conv::ConvOperand;
using conv::Geometry;
using std::int64_t;

/// The rows of the left operands: matrix i has the windows of all pixels, for the channels of group i.
class WindowRows final : public LeftRows {
 public:
  WindowRows(const Geometry& g, const Array& x, bool is_signed, std::int32_t zero)
      : data_(x.as<std::uint8_t>()),
        channels_(g.in),
        inner_(g.in / g.groups),
        axes_(g),
        turn_(is_signed ? 0x80 : 0),
        zero_(static_cast<std::uint8_t>(zero)),
        is_pointwise_(axes_.kernel == List{1, 1, 1} && axes_.stride == List{1, 1, 1} && axes_.padding == List{} &&
                      axes_.sizes == axes_.result),
        lies_(!is_signed && is_pointwise_),
        side_by_side_(axes_.dilation[2] == 1 && g.groups == 1) {}

  const std::uint8_t* in_place(int64_t index, int64_t row) const override {
    return lies_ ? data_ + row * channels_ + index * inner_ : nullptr;
  }
  int64_t step() const override { return channels_; }
  void copy(int64_t index, int64_t row, int64_t count, std::uint8_t* to, int64_t step) const override {
    const List &kernel = axes_.kernel, &result = axes_.result;
    const int64_t bytes = kernel[0] * kernel[1] * kernel[2] * inner_;
    OutputPosition position{row / (result[2] * result[1] * result[0]), row / (result[2] * result[1]) % result[0],
                            row / result[2] % result[1], row % result[2]};
    for (int64_t i = 0; i < count; ++i, to += step) {
      if (is_pointwise_)
        std::memcpy(to, data_ + (row + i) * channels_ + index * inner_, static_cast<std::size_t>(bytes));
      else window(position, index * inner_, to);
      if (turn_)
        for (int64_t j = 0; j < bytes; ++j) to[j] ^= turn_;
      next(position);
    }
  }

 private:
  using List = conv::ThreeAxes::List;

  /// The position of a pixel of the result.
  struct OutputPosition {
    int64_t image, plane, row, column;
  };
  void next(OutputPosition& position) const {
    const List& result = axes_.result;
    if (++position.column < result[2]) return;
    position.column = 0;
    if (++position.row < result[1]) return;
    position.row = 0;
    if (++position.plane < result[0]) return;
    position.plane = 0, ++position.image;
  }
  void window(const OutputPosition& at, int64_t channel, std::uint8_t* to) const {
    const auto [image, plane, row, column] = at;
    const List &sizes = axes_.sizes, &kernel = axes_.kernel, &stride = axes_.stride, &padding = axes_.padding,
               &dilation = axes_.dilation;
    const int64_t line = kernel[2] * inner_;
    for (int64_t a = 0; a < kernel[0]; ++a)
      for (int64_t b = 0; b < kernel[1]; ++b, to += line) {
        const int64_t z = plane * stride[0] - padding[0] + a * dilation[0],
                      y = row * stride[1] - padding[1] + b * dilation[1], x = column * stride[2] - padding[2];
        if (z < 0 || z >= sizes[0] || y < 0 || y >= sizes[1]) {
          std::memset(to, zero_, static_cast<std::size_t>(line));
          continue;
        }
        const std::uint8_t* const from =
            data_ + ((image * sizes[0] + z) * sizes[1] + y) * sizes[2] * channels_ + channel;
        if (side_by_side_) {
          const int64_t first = std::clamp<int64_t>(-x, 0, kernel[2]),
                        last = std::clamp<int64_t>(sizes[2] - x, first, kernel[2]);
          std::memset(to, zero_, static_cast<std::size_t>(first * inner_));
          std::memcpy(to + first * inner_, from + (x + first) * channels_,
                      static_cast<std::size_t>((last - first) * inner_));
          std::memset(to + last * inner_, zero_, static_cast<std::size_t>((kernel[2] - last) * inner_));
        } else {
          for (int64_t c = 0; c < kernel[2]; ++c) {
            const int64_t under = x + c * dilation[2];
            if (under < 0 || under >= sizes[2]) std::memset(to + c * inner_, zero_, static_cast<std::size_t>(inner_));
            else std::memcpy(to + c * inner_, from + under * channels_, static_cast<std::size_t>(inner_));
          }
        }
      }
  }

  const std::uint8_t* const data_;
  const int64_t channels_, inner_;
  const conv::ThreeAxes axes_;
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
  const ConvOperand images = ConvOperand::channels_last(x), weight = ConvOperand::contiguous(filter);
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
