#include "kiln/nn/linear.hpp"

namespace kiln::nn {

Linear LinearConfig::init(const Device& device) const {
  require<ArgumentError>(in > 0 && out > 0, "LinearConfig: in = ", in, " and out = ", out, " must be positive");
  const Fans fans{in, out};
  Linear layer;
  layer.weight = Param<2>(initialize(initializer, {out, in}, fans, device));
  if (bias) layer.bias = Param<1>(initialize(kLayerDefault, {out}, fans, device));
  return layer;
}

}  // namespace kiln::nn
