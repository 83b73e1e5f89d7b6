// Long short-term memory.
#pragma once
#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"

namespace kiln::nn {

/// What an LSTM hands from one moment to the next; absent tensors are zeros.
struct LstmState {
  Tensor<2> hidden, cell;  // [batch, hidden]
};

struct LstmResult {
  Tensor<3> outputs;  // [batch, time, hidden]: the hidden state of each moment
  LstmState state;    // after the last
};

/// One layer in one direction, as PyTorch's with batch_first; see ops/sequence/recurrent.hpp.
struct Lstm {
  Param<2> weight_ih;         // [4 hidden, in]: the rows of the input, forget, cell and output gate
  Param<2> weight_hh;         // [4 hidden, hidden]
  Param<1> bias_ih, bias_hh;  // [4 hidden], or absent

  /// x [batch, time, in], time being at least 1. Throws ShapeError.
  LstmResult forward(const Tensor<3>& x, const LstmState& start = {}) const;
};

struct LstmConfig {
  std::int64_t in, hidden;
  bool bias = true;
  Initializer initializer = kLayerDefault;  // of the weights; an output counts as made of the hidden state's elements

  /// Throws ArgumentError where a size is below 1.
  Lstm init(const Device& device) const;
};

}  // namespace kiln::nn
