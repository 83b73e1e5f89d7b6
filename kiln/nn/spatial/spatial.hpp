// Options with one entry for each spatial dimension, and padding.
#pragma once
#include <string_view>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/view/assemble.hpp"

namespace kiln::nn {

/// The entries for each of the spatial dimensions: a single one holds for all, none means `fallback`.
/// Throws ArgumentError naming the layer and the option for any other number.
Spatial per_dimension(std::string_view layer, std::string_view option, const Spatial& entries, int dimensions,
                      std::int64_t fallback);

/// What is added at either end of each size.
struct Border {
  Spatial before, after;
};
/// The least border under which windows of `kernel` elements, `dilation` apart, in steps of `stride` give
/// ceil(size / stride) results: what TensorFlow and ONNX (SAME_UPPER) call "same". Where it is odd there is one element
/// more behind than before. x [batch, channels, sizes...].
Border same_border(const Shape& x, const Spatial& kernel, const Spatial& stride, const Spatial& dilation);

/// x [batch, channels, sizes...] with the border added; `value` is that of PadMode::Constant.
Value with_border(const Value& x, const Border& border, PadMode mode, const Scalar& value = 0.0);

/// `options` with an entry for each of `dimensions`. Throws ArgumentError naming the layer.
UnfoldOptions windows(std::string_view layer, int dimensions, const UnfoldOptions& options);

}  // namespace kiln::nn
