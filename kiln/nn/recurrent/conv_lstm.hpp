// Long short-term memory whose gates are convolutions, for sequences of images (Shi et al., "Convolutional LSTM
// network", 2015; without the weights from cells to gates, whose shape would depend on that of the images).
#pragma once
#include "kiln/core/function_ref.hpp"
#include "kiln/nn/spatial/conv.hpp"

namespace kiln::nn {

/// The state of a ConvLstm between time steps; absent tensors are zeros.
template <int N>
struct ConvLstmState {
  Tensor<N + 2> hidden, cell;  // [batch, hidden, sizes...]
};

template <int N>
struct ConvLstmResult {
  Tensor<N + 3> outputs;   // [batch, time, hidden, sizes...]: the hidden state at each time step
  ConvLstmState<N> state;  // after the last
};

struct ConvLstmPass {
  Value outputs, hidden, cell;
};
/// Runs the time steps of x [batch, time, in, sizes...]; the gates are sums of one function of x and one of the hidden
/// state. `hidden` and `cell` may be empty.
ConvLstmPass conv_lstm(const Value& x, FunctionRef<Value(const Value&)> of_input,
                       FunctionRef<Value(const Value&)> of_hidden, Value hidden, Value cell);

template <int N>
struct ConvLstm {
  static constexpr std::string_view kName = std::array{"ConvLstm1d", "ConvLstm2d", "ConvLstm3d"}[N - 1];
  // The convolutions give 4 * hidden channels: those of the input, forget, cell and output gate, as in an Lstm.
  Conv<N> input;
  Conv<N> hidden;  // without a bias; keeps the sizes

  /// x [batch, time, in, sizes...]. Throws ShapeError.
  ConvLstmResult<N> forward(const Tensor<N + 3>& x, const ConvLstmState<N>& start = {}) const {
    const auto by = [](const Conv<N>& conv) {
      return [&conv](const Value& pictures) { return conv.forward(Typed{pictures}).value(); };
    };
    const auto [outputs, last, cell] =
        conv_lstm(x.value(), by(input), by(hidden), start.hidden.value(), start.cell.value());
    return {Typed{outputs}, {Typed{last}, Typed{cell}}};
  }
};

template <int N>
struct ConvLstmConfig {
  std::int64_t in, hidden;
  Spatial kernel = {3};         // kernel size for x
  Spatial hidden_kernel = {3};  // kernel size for the hidden state
  Spatial stride = {};          // stride for x
  bool bias = true;
  Initializer initializer = kLayerDefault;

  /// Both convolutions are padded so that sizes are kept, or divided by the stride and rounded up. Throws like
  /// ConvConfig.
  ConvLstm<N> init(const Device& device) const {
    require<ArgumentError>(in > 0 && hidden > 0, "ConvLstmConfig: in = ", in, " and hidden = ", hidden,
                           " must be positive");
    for (const std::int64_t size : hidden_kernel)
      require<ArgumentError>(size > 0, "ConvLstmConfig: hidden_kernel = ", size, " must be positive");
    const auto conv = [&](std::int64_t from, const Spatial& sizes) {
      return ConvConfig<N>{.in = from, .out = 4 * hidden, .kernel = sizes, .same = true, .initializer = initializer};
    };
    ConvConfig<N> of_input = conv(in, kernel), of_hidden = conv(hidden, hidden_kernel);
    of_input.stride = stride;
    of_input.bias = bias;
    of_hidden.bias = false;
    return {of_input.init(device), of_hidden.init(device)};
  }
};

using ConvLstm1d = ConvLstm<1>;
using ConvLstm2d = ConvLstm<2>;
using ConvLstm3d = ConvLstm<3>;
using ConvLstm1dConfig = ConvLstmConfig<1>;
using ConvLstm2dConfig = ConvLstmConfig<2>;
using ConvLstm3dConfig = ConvLstmConfig<3>;

}  // namespace kiln::nn
