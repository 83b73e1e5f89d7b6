#include "kiln/nn/spatial/pool.hpp"

namespace kiln::nn {

PoolOptions complete(std::string_view layer, const Value& x, const PoolOptions& options, bool same) {
  const int dimensions = x.rank() - 2;
  require<ArgumentError>(!options.kernel.empty(), layer, ": the kernel's size is missing");
  PoolOptions result = options;
  const auto fill = [&](std::string_view name, Spatial& entries, std::int64_t fallback) {
    if (!entries.empty()) entries = per_dimension(layer, name, entries, dimensions, fallback);
  };
  fill("kernel", result.kernel, 1);
  fill("stride", result.stride, 1);
  fill("padding", result.padding, 0);
  fill("padding_after", result.padding_after, 0);
  fill("dilation", result.dilation, 1);
  if (!same) return result;
  require<ArgumentError>(options.padding.empty() && options.padding_after.empty(), layer,
                         ": same = true excludes other padding");
  const Spatial stride = result.stride.empty() ? result.kernel : result.stride;
  for (const auto step : stride) require<ArgumentError>(step > 0, layer, ": stride ", stride, " must be positive");
  const Border border =
      same_border(x.shape(), result.kernel, stride, per_dimension(layer, "dilation", result.dilation, dimensions, 1));
  result.padding = border.before;
  result.padding_after = border.after;
  return result;
}

}  // namespace kiln::nn
