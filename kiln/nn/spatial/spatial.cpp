#include "kiln/nn/spatial/spatial.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"

namespace kiln::nn {

Spatial per_dimension(std::string_view layer, std::string_view option, const Spatial& entries, int dimensions,
                      std::int64_t fallback) {
  if (entries.empty()) return Spatial::filled(dimensions, fallback);
  if (entries.size() == 1) return Spatial::filled(dimensions, entries[0]);
  require<ArgumentError>(entries.size() == dimensions, layer, ": ", option, " ", entries, " needs ", dimensions,
                         " entries, or one for all");
  return entries;
}

Border same_border(const Shape& x, const Spatial& kernel, const Spatial& stride, const Spatial& dilation) {
  op::require_reasonable("same_border", {kernel, stride, dilation});
  Border border;
  for (int i = 0; i < kernel.size(); ++i) {
    const std::int64_t size = x[i + 2], reach = (kernel[i] - 1) * dilation[i] + 1;
    const std::int64_t results = (size + stride[i] - 1) / stride[i];
    const std::int64_t total = std::max<std::int64_t>((results - 1) * stride[i] + reach - size, 0);
    border.before.push_back(total / 2);
    border.after.push_back(total - total / 2);
  }
  return border;
}

Value with_border(const Value& x, const Border& border, PadMode mode, const Scalar& value) {
  Dims before{0, 0}, after{0, 0};
  for (const auto count : border.before) before.push_back(count);
  for (const auto count : border.after) after.push_back(count);
  return mode == PadMode::Constant ? pad(x, before, after, value) : pad(x, before, after, mode);
}

UnfoldOptions windows(std::string_view layer, int dimensions, const UnfoldOptions& options) {
  require<ArgumentError>(!options.kernel.empty(), layer, ": the kernel's size is missing");
  return {per_dimension(layer, "kernel", options.kernel, dimensions, 1),
          per_dimension(layer, "stride", options.stride, dimensions, 1),
          per_dimension(layer, "padding", options.padding, dimensions, 0),
          per_dimension(layer, "dilation", options.dilation, dimensions, 1)};
}

}  // namespace kiln::nn
