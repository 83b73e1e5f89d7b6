#include "kiln/nn/recurrent/lstm.hpp"

namespace kiln::nn {

LstmResult Lstm::forward(const Tensor<3>& x, const LstmState& start, const Tensor<1, Int>& lengths) const {
  const auto [outputs, hidden, cell] =
      forward_layers(RecurrentKind::Lstm, {layers, reversed, dropout, options, batch_first}, x.value(),
                     start.hidden.value(), start.cell.value(), lengths.value());
  return {Typed{outputs}, {Typed{hidden}, Typed{cell}}};
}

Lstm LstmConfig::init(const Device& device) const {
  const RecurrentSizes sizes{"LstmConfig", in, hidden, layers, projection, bidirectional, bias, dropout};
  const RecurrentOptions options{
      .gate = gate, .candidate = candidate, .output = output, .reverse = reverse, .clip = clip};
  return init_layers<Lstm>(RecurrentKind::Lstm, sizes, options, batch_first, initializer, device);
}

}  // namespace kiln::nn
