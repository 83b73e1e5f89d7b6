#include "kiln/nn/lstm.hpp"

#include "kiln/ops/sequence/recurrent.hpp"

namespace kiln::nn {

LstmResult Lstm::forward(const Tensor<3>& x, const LstmState& start) const {
  const auto [outputs, hidden, cell] =
      lstm(x.value(), {weight_ih.value(), weight_hh.value(), bias_ih.value(), bias_hh.value()}, start.hidden.value(),
           start.cell.value());
  return {Typed{outputs}, {Typed{hidden}, Typed{cell}}};
}

Lstm LstmConfig::init(const Device& device) const {
  require<ArgumentError>(in > 0 && hidden > 0, "LstmConfig: in = ", in, " and hidden = ", hidden, " must be positive");
  const Fans fans{hidden, 4 * hidden};
  Lstm layer;
  layer.weight_ih = Param<2>(initialize(initializer, {4 * hidden, in}, fans, device));
  layer.weight_hh = Param<2>(initialize(initializer, {4 * hidden, hidden}, fans, device));
  if (bias) {
    layer.bias_ih = Param<1>(initialize(kLayerDefault, {4 * hidden}, fans, device));
    layer.bias_hh = Param<1>(initialize(kLayerDefault, {4 * hidden}, fans, device));
  }
  return layer;
}

}  // namespace kiln::nn
