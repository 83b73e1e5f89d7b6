// Plain recurrent layers.
#pragma once
#include "kiln/nn/recurrent/layers.hpp"

namespace kiln::nn {

struct RnnResult {
  Tensor<3> outputs;  // [batch, time, directions hidden]: the hidden state of the last layer at each time step
  Tensor<3> state;    // [layers directions, batch, hidden]: of each layer and direction after its last time step
};

/// Like PyTorch's, but with batch_first by default; see rnn() in ops/sequence/recurrent.hpp.
struct Rnn {
  std::vector<RecurrentLayer> layers;  // layers of the first direction
  // Layers of the other direction, whose outputs follow the first's; or none.
  std::vector<RecurrentLayer> reversed = {};
  Dropout dropout = {.probability = 0};  // applied between layers
  RecurrentOptions options = {};
  bool batch_first = true;  // x and outputs are [batch, time, width]; false: [time, batch, width]

  /// x [batch, time, in], start like RnnResult::state or absent; lengths [batch] or absent: row b only has its first
  /// lengths[b] time steps, outputs of later ones are zeros. Throws ShapeError.
  RnnResult forward(const Tensor<3>& x, const Tensor<3>& start = {}, const Tensor<1, Int>& lengths = {}) const;
};

struct RnnConfig {
  std::int64_t in, hidden, layers = 1;
  bool bidirectional = false;
  bool bias = true;
  double dropout = 0;               // applied between layers, in training
  bool batch_first = true;          // x is [batch, time, in]; false: [time, batch, in]
  bool reverse = false;             // from the last time step to the first
  std::optional<double> clip = {};  // limits states to [-clip, clip]
  GateActivation activation = GateActivation::Tanh;
  Initializer initializer = kLayerDefault;  // initializes the weights; the fan-in is the size of the hidden state

  /// Throws ArgumentError if a size is below 1, or an option out of range.
  Rnn init(const Device& device) const;
};

}  // namespace kiln::nn
