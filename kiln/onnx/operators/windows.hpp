// The windows of convolutions and pools: attributes kernel_shape, strides, dilations, pads and auto_pad.
#pragma once
#include "kiln/core/size.hpp"
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

struct Windows {
  Spatial kernel, stride, dilation, before, after;
  int dims() const { return kernel.size(); }
  /// The distance from the first to the last element of a window, both included.
  std::int64_t reach(int d) const {
    return add_sizes("a window", multiply_sizes("a window", kernel[d] - 1, dilation[d]), 1);
  }
};

/// The windows over an operand [batch, channels, sizes...], of size `kernel` unless the attribute says another. Throws ArgumentError where
/// there are more than three sizes, or attributes of another number.
Windows windows_of(const Call& c, const Shape& x, const Ints& kernel);

/// Integers as spatial sizes, `otherwise` for each where there are none.
Spatial spatial_of(const Call& c, const Ints& list, int dims, std::int64_t otherwise, std::string_view what);

/// conv_integer of x and a weight as the node's attributes say.
Value integer_convolution(const Call& c, const Value& x, const Value& weight, const Value& x_zero,
                          const Value& weight_zero);

}  // namespace kiln::onnx
