#include "kiln/nn/recurrent/layers.hpp"

#include <algorithm>

namespace kiln::nn {
namespace {

using Function = RecurrentPass (*)(const Value&, const RecurrentWeights&, const RecurrentOptions&,
                                   const RecurrentState&, const Value&);
Function function_of(RecurrentKind kind) {
  return kind == RecurrentKind::Lstm ? lstm : kind == RecurrentKind::Gru ? gru : rnn;
}

}  // namespace

RecurrentOutputs forward_layers(RecurrentKind kind, const RecurrentFields& fields, const Value& x, const Value& hidden,
                                const Value& cell, const Value& lengths) {
  const auto& [layers, reversed, dropout, options, batch_first] = fields;
  const std::string_view name = kind == RecurrentKind::Lstm ? "Lstm" : kind == RecurrentKind::Gru ? "Gru" : "Rnn";
  const auto count = static_cast<std::int64_t>(layers.size()), directions = std::int64_t{reversed.empty() ? 1 : 2};
  require<ArgumentError>(count > 0 && (reversed.empty() || reversed.size() == layers.size()), name, ": has ", count,
                         " layers and ", reversed.size(), " in the other direction");
  for (const Value* state : {&hidden, &cell})
    require<ShapeError>(state->empty() || state->dim(0) == count * directions, name, ": a state must have ",
                        count * directions, " layers in its first dimension, got ", *state);
  Value below = batch_first ? x : transpose(x, 0, 1);
  Values hiddens, cells;
  for (std::int64_t layer = 0; layer < count; ++layer) {
    Values outputs;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      RecurrentOptions own = options;
      own.reverse = options.reverse != (direction == 1);
      const auto start = [&](const Value& state) {
        return state ? at(state, 0, layer * directions + direction) : state;
      };
      const RecurrentLayer& parts = (direction == 0 ? layers : reversed)[static_cast<std::size_t>(layer)];
      const RecurrentPass pass = function_of(kind)(below, parts.weights(), own, {start(hidden), start(cell)}, lengths);
      outputs.push_back(pass.outputs);
      hiddens.push_back(pass.state.hidden);
      if (pass.state.cell) cells.push_back(pass.state.cell);
    }
    below = directions == 1 ? outputs[0] : cat(outputs, 2);
    if (layer + 1 < count && dropout.probability > 0) below = dropout.forward(Tensor<3>(below)).value();
  }
  return {batch_first ? below : transpose(below, 0, 1), stack(hiddens, 0), cells.empty() ? Value() : stack(cells, 0)};
}

RecurrentLayer init_layer(RecurrentKind kind, const RecurrentSizes& sizes, const RecurrentOptions& options,
                          const Initializer& initializer, const Device& device) {
  const auto& [config, in, hidden, layers, projection, bidirectional, with_bias, dropout] = sizes;
  require<ArgumentError>(in > 0 && hidden > 0 && layers > 0, config, ": in = ", in, ", hidden = ", hidden,
                         " and layers = ", layers, " must be positive");
  require<ArgumentError>(projection >= 0 && projection < hidden, config, ": a projection to ", projection,
                         " is not below hidden = ", hidden);
  require<ArgumentError>(dropout >= 0 && dropout <= 1, config, ": a dropout of ", dropout, " is not between 0 and 1");
  require<ArgumentError>(!options.clip || *options.clip > 0, config, ": clip must be positive, got ",
                         options.clip.value_or(0));
  const std::int64_t rows = gates_of(kind) * hidden, out = projection > 0 ? projection : hidden;
  const Fans fans{hidden, rows};  // the fan-in is the size of the hidden state
  RecurrentLayer layer;
  layer.weight_ih = Param<2>(initialize(initializer, {rows, in}, fans, device));
  layer.weight_hh = Param<2>(initialize(initializer, {rows, out}, fans, device));
  if (with_bias) {
    layer.bias_ih = Param<1>(initialize(kLayerDefault, {rows}, fans, device));
    layer.bias_hh = Param<1>(initialize(kLayerDefault, {rows}, fans, device));
  }
  if (projection > 0) layer.weight_hr = Param<2>(initialize(initializer, {projection, hidden}, fans, device));
  return layer;
}

PaddedSequences pad_sequences(const std::vector<Tensor<2>>& sequences) {
  require<ArgumentError>(!sequences.empty(), "pad_sequences: no sequences were given");
  std::int64_t longest = 0;
  for (const Tensor<2>& sequence : sequences) longest = std::max(longest, sequence.value().dim(0));
  Values padded;
  std::vector<std::int64_t> lengths;
  for (const Tensor<2>& sequence : sequences) {
    const Value& x = sequence.value();
    require<ShapeError>(x.dim(1) == sequences[0].value().dim(1), "pad_sequences: ", x.shape(), " and ",
                        sequences[0].value().shape(), " differ in width");
    lengths.push_back(x.dim(0));
    padded.push_back(pad(x, {0, 0}, {longest - x.dim(0), 0}));
  }
  const auto count = static_cast<std::int64_t>(lengths.size());
  return {Typed{stack(padded, 0)},
          Typed{from_data(TensorData::of<std::int64_t>({count}, lengths), sequences[0].device())}};
}

}  // namespace kiln::nn
