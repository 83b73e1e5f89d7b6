#include "kiln/nn/recurrent/gru.hpp"

namespace kiln::nn {

GruResult Gru::forward(const Tensor<3>& x, const Tensor<3>& start, const Tensor<1, Int>& lengths) const {
  const auto pass = forward_layers(RecurrentKind::Gru, {layers, reversed, dropout, options, batch_first}, x.value(),
                                   start.value(), {}, lengths.value());
  return {Typed{pass.outputs}, Typed{pass.hidden}};
}

Gru GruConfig::init(const Device& device) const {
  const RecurrentSizes sizes{"GruConfig", in, hidden, layers, 0, bidirectional, bias, dropout};
  const RecurrentOptions options{
      .gate = gate, .candidate = candidate, .reverse = reverse, .reset_after = reset_after, .clip = clip};
  return init_layers<Gru>(RecurrentKind::Gru, sizes, options, batch_first, initializer, device);
}

}  // namespace kiln::nn
