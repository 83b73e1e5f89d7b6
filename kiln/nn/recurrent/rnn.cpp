#include "kiln/nn/recurrent/rnn.hpp"

namespace kiln::nn {

RnnResult Rnn::forward(const Tensor<3>& x, const Tensor<3>& start, const Tensor<1, Int>& lengths) const {
  const auto pass = forward_layers(RecurrentKind::Rnn, {layers, reversed, dropout, options, batch_first}, x.value(),
                                   start.value(), {}, lengths.value());
  return {Typed{pass.outputs}, Typed{pass.hidden}};
}

Rnn RnnConfig::init(const Device& device) const {
  const RecurrentSizes sizes{"RnnConfig", in, hidden, layers, 0, bidirectional, bias, dropout};
  const RecurrentOptions options{.candidate = activation, .reverse = reverse, .clip = clip};
  return init_layers<Rnn>(RecurrentKind::Rnn, sizes, options, batch_first, initializer, device);
}

}  // namespace kiln::nn
