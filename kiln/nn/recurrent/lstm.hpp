// Long short-term memory.
#pragma once
#include "kiln/nn/recurrent/layers.hpp"

namespace kiln::nn {

/// The state of an LSTM between time steps; absent tensors are zeros.
struct LstmState {
  Tensor<3> hidden, cell;  // [layers directions, batch, out], [layers directions, batch, hidden]
};

struct LstmResult {
  Tensor<3> outputs;  // [batch, time, directions out]: the hidden state of the last layer at each time step
  LstmState state;    // states of each layer and direction after its last time step
};

/// Like PyTorch's, but with batch_first by default; see lstm() in ops/sequence/recurrent.hpp.
struct Lstm {
  std::vector<RecurrentLayer> layers;  // layers of the first direction
  // Layers of the other direction, whose outputs follow the first's; or none.
  std::vector<RecurrentLayer> reversed = {};
  Dropout dropout = {.probability = 0};  // applied between layers
  RecurrentOptions options = {};
  bool batch_first = true;  // x and outputs are [batch, time, width]; false: [time, batch, width]

  /// x [batch, time, in]; lengths [batch] or absent: row b only has its first lengths[b] time steps, outputs of later
  /// ones are zeros. Throws ShapeError.
  LstmResult forward(const Tensor<3>& x, const LstmState& start = {}, const Tensor<1, Int>& lengths = {}) const;
};

struct LstmConfig {
  std::int64_t in, hidden, layers = 1;
  bool bidirectional = false;
  bool bias = true;
  double dropout = 0;           // applied between layers, in training
  bool batch_first = true;      // x is [batch, time, in]; false: [time, batch, in]
  std::int64_t projection = 0;  // the outputs' width (Sak, Senior, Beaufays, 2014); 0: `hidden`, without a projection
  bool reverse = false;         // from the last time step to the first
  std::optional<double> clip = {};  // limits cells to [-clip, clip]
  GateActivation gate = GateActivation::Sigmoid, candidate = GateActivation::Tanh, output = GateActivation::Tanh;
  Initializer initializer = kLayerDefault;  // initializes the weights; the fan-in is the size of the hidden state

  /// Throws ArgumentError if a size is below 1, the projection not below `hidden`, or an option out of range.
  Lstm init(const Device& device) const;
};

}  // namespace kiln::nn
