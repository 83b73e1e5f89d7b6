// One time step of a recurrent layer, for custom loops.
#pragma once
#include "kiln/nn/linear.hpp"
#include "kiln/nn/recurrent/layers.hpp"

namespace kiln::nn {

/// The state of an LstmCell; absent tensors are zeros.
struct LstmCellState {
  Tensor<2> hidden, cell;  // [batch, out], [batch, hidden]
};

/// A time step of an Lstm.
struct LstmCell {
  RecurrentLayer layer;
  RecurrentOptions options;

  /// x [batch, in]. Throws ShapeError.
  LstmCellState forward(const Tensor<2>& x, const LstmCellState& state = {}) const;
};
struct LstmCellConfig {
  std::int64_t in, hidden;
  bool bias = true;
  std::int64_t projection = 0;  // see LstmConfig; 0: none
  RecurrentOptions options = {};
  Initializer initializer = kLayerDefault;

  LstmCell init(const Device& device) const;
};

/// A time step of a Gru.
struct GruCell {
  RecurrentLayer layer;
  RecurrentOptions options;

  /// x [batch, in], state [batch, hidden] or absent -> the next state. Throws ShapeError.
  Tensor<2> forward(const Tensor<2>& x, const Tensor<2>& state = {}) const;
};
struct GruCellConfig {
  std::int64_t in, hidden;
  bool bias = true;
  RecurrentOptions options = {};
  Initializer initializer = kLayerDefault;

  GruCell init(const Device& device) const;
};

/// A time step of an Rnn.
struct RnnCell {
  RecurrentLayer layer;
  RecurrentOptions options;

  /// x [batch, in], state [batch, hidden] or absent -> the next state. Throws ShapeError.
  Tensor<2> forward(const Tensor<2>& x, const Tensor<2>& state = {}) const;
};
struct RnnCellConfig {
  std::int64_t in, hidden;
  bool bias = true;
  RecurrentOptions options = {};
  Initializer initializer = kLayerDefault;

  RnnCell init(const Device& device) const;
};

/// One gate, for custom cells: activation(input x + hidden h).
struct GateController {
  Linear input, hidden;
  GateActivation activation = GateActivation::Sigmoid;

  /// x [batch, in], h [batch, out] -> [batch, out]. Throws ShapeError.
  Tensor<2> forward(const Tensor<2>& x, const Tensor<2>& h) const;
};
struct GateControllerConfig {
  std::int64_t in, out;
  bool bias = true;
  GateActivation activation = GateActivation::Sigmoid;
  Initializer initializer = kLayerDefault;

  /// Throws ArgumentError if a size is below 1.
  GateController init(const Device& device) const;
};

}  // namespace kiln::nn
