#include "kiln/nn/recurrent/cell.hpp"

namespace kiln::nn {
namespace {

/// x [batch, in] as one time step.
Value time_step(const Tensor<2>& x) { return unsqueeze(x.value(), 1); }

template <class Config>
RecurrentLayer init_cell(RecurrentKind kind, std::string_view name, const Config& config, std::int64_t projection,
                         const Device& device) {
  return init_layer(kind, {name, config.in, config.hidden, 1, projection, false, config.bias, 0}, config.options,
                    config.initializer, device);
}

}  // namespace

LstmCellState LstmCell::forward(const Tensor<2>& x, const LstmCellState& state) const {
  const RecurrentPass pass = lstm(time_step(x), layer.weights(), options, {state.hidden.value(), state.cell.value()});
  return {Typed{pass.state.hidden}, Typed{pass.state.cell}};
}
Tensor<2> GruCell::forward(const Tensor<2>& x, const Tensor<2>& state) const {
  return Typed{gru(time_step(x), layer.weights(), options, {state.value(), {}}).state.hidden};
}
Tensor<2> RnnCell::forward(const Tensor<2>& x, const Tensor<2>& state) const {
  return Typed{rnn(time_step(x), layer.weights(), options, {state.value(), {}}).state.hidden};
}

LstmCell LstmCellConfig::init(const Device& device) const {
  return {init_cell(RecurrentKind::Lstm, "LstmCellConfig", *this, projection, device), options};
}
GruCell GruCellConfig::init(const Device& device) const {
  return {init_cell(RecurrentKind::Gru, "GruCellConfig", *this, 0, device), options};
}
RnnCell RnnCellConfig::init(const Device& device) const {
  return {init_cell(RecurrentKind::Rnn, "RnnCellConfig", *this, 0, device), options};
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
