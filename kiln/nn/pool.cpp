#include "kiln/nn/pool.hpp"

#include "kiln/nn/spatial.hpp"

namespace kiln::nn {

PoolOptions complete(std::string_view layer, int dimensions, const PoolOptions& options) {
  require<ArgumentError>(!options.kernel.empty(), layer, ": the kernel's size is missing");
  PoolOptions result = options;
  result.kernel = per_dimension(layer, "kernel", options.kernel, dimensions, 1);
  if (!options.stride.empty()) result.stride = per_dimension(layer, "stride", options.stride, dimensions, 1);
  if (!options.padding.empty()) result.padding = per_dimension(layer, "padding", options.padding, dimensions, 0);
  if (!options.dilation.empty()) result.dilation = per_dimension(layer, "dilation", options.dilation, dimensions, 1);
  return result;
}

}  // namespace kiln::nn
