#include "kiln/nn/recurrent/cell.hpp"

namespace kiln::nn {
namespace {

/// x [batch, in] as a sequence of one time step.
Value moment(const Tensor<2>& x) { return unsqueeze(x.value(), 1); }

RecurrentLayer init_cell(RecurrentKind kind, std::string_view config, std::int64_t in, std::int64_t hidden,
                         std::int64_t projection, bool bias, const RecurrentOptions& options,
                         const Initializer& initializer, const Device& device) {
  return init_layer(kind, {config, in, hidden, 1, projection, false, bias, 0}, options, initializer, device);
}

}  // namespace

LstmCellState LstmCell::forward(const Tensor<2>& x, const LstmCellState& state) const {
  const RecurrentPass pass = lstm(moment(x), layer.weights(), options, {state.hidden.value(), state.cell.value()});
  return {Typed{pass.state.hidden}, Typed{pass.state.cell}};
}
Tensor<2> GruCell::forward(const Tensor<2>& x, const Tensor<2>& state) const {
  return Typed{gru(moment(x), layer.weights(), options, {state.value(), {}}).state.hidden};
}
Tensor<2> RnnCell::forward(const Tensor<2>& x, const Tensor<2>& state) const {
  return Typed{rnn(moment(x), layer.weights(), options, {state.value(), {}}).state.hidden};
}

LstmCell LstmCellConfig::init(const Device& device) const {
  return {init_cell(RecurrentKind::Lstm, "LstmCellConfig", in, hidden, projection, bias, options, initializer, device),
          options};
}
GruCell GruCellConfig::init(const Device& device) const {
  return {init_cell(RecurrentKind::Gru, "GruCellConfig", in, hidden, 0, bias, options, initializer, device), options};
}
RnnCell RnnCellConfig::init(const Device& device) const {
  return {init_cell(RecurrentKind::Rnn, "RnnCellConfig", in, hidden, 0, bias, options, initializer, device), options};
}

Tensor<2> GateController::forward(const Tensor<2>& x, const Tensor<2>& h) const {
  return Typed{activate(activation, (input.forward(x) + hidden.forward(h)).value())};
}
GateController GateControllerConfig::init(const Device& device) const {
  const auto linear = [&](std::int64_t from) {
    return LinearConfig{.in = from, .out = out, .bias = bias, .initializer = initializer}.init(device);
  };
  return {linear(in), linear(out), activation};
}

}  // namespace kiln::nn
