// Options with one entry for each spatial dimension, and padding.
#pragma once
#include <string_view>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/view/assemble.hpp"

namespace kiln::nn {

/// An entry for each of the spatial dimensions: a single entry holds for all, an empty list means `fallback`. Throws
/// ArgumentError, which names the layer and the option, for any other number.
Spatial per_dimension(std::string_view layer, std::string_view option, const Spatial& entries, int dimensions,
                      std::int64_t fallback);

/// The elements added at both ends of each size.
struct Border {
  Spatial before, after;
};
/// The smallest border with which windows of `kernel` elements, `dilation` apart, in steps of `stride` give ceil(size /
/// stride) results: what TensorFlow and ONNX (SAME_UPPER) call "same". An odd border has one more element at the end
/// than at the beginning. x [batch, channels, sizes...].
Border same_border(const Shape& x, const Spatial& kernel, const Spatial& stride, const Spatial& dilation);

/// x [batch, channels, sizes...] with the border added; `value` is for PadMode::Constant.
Value with_border(const Value& x, const Border& border, PadMode mode, const Scalar& value = 0.0);

/// `options` with an entry for each of `dimensions`. Throws ArgumentError, which names the layer.
UnfoldOptions windows(std::string_view layer, int dimensions, const UnfoldOptions& options);

}  // namespace kiln::nn
