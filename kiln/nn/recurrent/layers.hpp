// Recurrent layers over one another: what Rnn, Lstm and Gru have in common.
#pragma once
#include <vector>

#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/sequence/recurrent.hpp"

namespace kiln::nn {

/// One layer in one direction. The rows of weights and biases belong to an LSTM's input, forget, cell and output gate, or
/// to a GRU's reset gate, update gate and candidate, as in PyTorch.
struct RecurrentLayer {
  Param<2> weight_ih, weight_hh;  // [gates hidden, in], [gates hidden, out]; out is `hidden` without a projection
  Param<1> bias_ih, bias_hh;      // [gates hidden], or absent
  Param<2> weight_hr;             // an LSTM's projection [out, hidden], or absent

  RecurrentWeights weights() const {
    return {weight_ih.value(), weight_hh.value(), bias_ih.value(), bias_hh.value(), weight_hr.value()};
  }
};

/// Layers, each of which reads the outputs of the one below, after dropout.
struct RecurrentLayers {
  std::vector<RecurrentLayer> layers;  // of the first direction
  std::vector<RecurrentLayer> reversed =
      {};                             // of the other, whose outputs stand behind the first's; none in one direction
  Dropout dropout{.probability = 0};  // of what goes from a layer to the next
  RecurrentOptions options = {};
  bool batch_first = true;  // x and outputs are [batch, time, width]; false: [time, batch, width]

  struct Pass {
    Value outputs, hidden, cell;
  };
  /// `hidden` and `cell` [layers directions, batch, ...], the directions of a layer side by side.
  Pass forward(RecurrentKind kind, const Value& x, const Value& hidden, const Value& cell, const Value& lengths) const;
};

/// What configs have in common.
struct RecurrentSizes {
  std::string_view config;                      // its name, for errors
  std::int64_t in, hidden, layers, projection;  // projection: 0: none
  bool bidirectional, bias;
  double dropout;
};
RecurrentLayers init_layers(RecurrentKind kind, const RecurrentSizes& sizes, const RecurrentOptions& options,
                            bool batch_first, const Initializer& initializer, const Device& device);
/// Throws ArgumentError where a size is below 1, dropout not in [0, 1], or clip not positive.
RecurrentLayer init_layer(RecurrentKind kind, const RecurrentSizes& sizes, const Initializer& initializer,
                          const Device& device);

/// Sequences of different lengths in one tensor.
struct PaddedSequences {
  Tensor<3> values;        // [batch, longest, width], zeros behind the shorter
  Tensor<1, Int> lengths;  // [batch]
};
/// Each [time, width]. Throws ArgumentError for none, ShapeError where widths differ.
PaddedSequences pad_sequences(const std::vector<Tensor<2>>& sequences);

}  // namespace kiln::nn
