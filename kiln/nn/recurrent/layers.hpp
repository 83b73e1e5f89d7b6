// Stacked recurrent layers: what Rnn, Lstm and Gru have in common.
#pragma once
#include <vector>

#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/ops/sequence/recurrent.hpp"

namespace kiln::nn {

/// One layer in one direction. The rows of weights and biases belong to an LSTM's input, forget, cell and output gates,
/// or to a GRU's reset gate, update gate and candidate, as in PyTorch.
struct RecurrentLayer {
  Param<2> weight_ih, weight_hh;  // [gates hidden, in], [gates hidden, out]; out is `hidden` without a projection
  Param<1> bias_ih, bias_hh;      // [gates hidden], or absent
  Param<2> weight_hr;             // an LSTM's projection [out, hidden], or absent

  RecurrentWeights weights() const {
    return {weight_ih.value(), weight_hh.value(), bias_ih.value(), bias_hh.value(), weight_hr.value()};
  }
};

/// The fields of Rnn, Lstm and Gru: layers, each of which reads the outputs of the one below, after dropout.
struct RecurrentFields {
  const std::vector<RecurrentLayer>&layers, &reversed;
  const Dropout& dropout;
  const RecurrentOptions& options;
  bool batch_first;
};
struct RecurrentOutputs {
  Value outputs, hidden, cell;
};
/// `hidden` and `cell` are [layers directions, batch, ...], with the directions of a layer adjacent; lengths [batch].
/// Any of them may be empty.
RecurrentOutputs forward_layers(RecurrentKind kind, const RecurrentFields& fields, const Value& x, const Value& hidden,
                                const Value& cell, const Value& lengths);

/// What the configs have in common.
struct RecurrentSizes {
  std::string_view config;                      // its name, for errors
  std::int64_t in, hidden, layers, projection;  // projection: 0: none
  bool bidirectional, bias;
  double dropout;
};
/// Throws ArgumentError if a size is below 1, dropout not in [0, 1], or clip not positive.
RecurrentLayer init_layer(RecurrentKind kind, const RecurrentSizes& sizes, const RecurrentOptions& options,
                          const Initializer& initializer, const Device& device);

/// The layers of an Rnn, Lstm or Gru. Throws like init_layer().
template <class Module>
Module init_layers(RecurrentKind kind, const RecurrentSizes& sizes, const RecurrentOptions& options, bool batch_first,
                   const Initializer& initializer, const Device& device) {
  Module all{.layers = {},
             .reversed = {},
             .dropout = {.probability = sizes.dropout},
             .options = options,
             .batch_first = batch_first};
  RecurrentSizes own = sizes;
  do {
    all.layers.push_back(init_layer(kind, own, options, initializer, device));
    if (sizes.bidirectional) all.reversed.push_back(init_layer(kind, own, options, initializer, device));
    own.in = (sizes.projection > 0 ? sizes.projection : sizes.hidden) * (sizes.bidirectional ? 2 : 1);
  } while (static_cast<std::int64_t>(all.layers.size()) < sizes.layers);
  return all;
}

/// Sequences of different lengths in one tensor.
struct PaddedSequences {
  Tensor<3> values;        // [batch, longest, width], padded with zeros
  Tensor<1, Int> lengths;  // [batch]
};
/// Pads tensors [time, width]. Throws ArgumentError for an empty list, ShapeError if widths differ.
PaddedSequences pad_sequences(const std::vector<Tensor<2>>& sequences);

}  // namespace kiln::nn
