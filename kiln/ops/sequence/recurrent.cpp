#include "kiln/ops/sequence/recurrent.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"

namespace kiln {
namespace {

struct Layer {
  std::string_view name;
  RecurrentKind kind;
  const RecurrentWeights& weights;
  const RecurrentOptions& options;

  std::int64_t gates() const { return gates_of(kind); }
  std::int64_t hidden() const { return weights.hidden.dim(0) / gates(); }
  std::int64_t out() const { return weights.hidden.dim(1); }
};

void check(const Layer& layer, const Value& x, const RecurrentState& state, const Value& lengths) {
  const auto& [name, kind, weights, options] = layer;
  for (const Value& given : {x, weights.input, weights.hidden}) op::require_float(name, given);
  require<ShapeError>(x.rank() == 3, name, ": x must be [batch, time, in], got ", x.shape());
  const Shape& shape = weights.hidden.shape();
  const std::string rows = layer.gates() == 1 ? "hidden" : text(layer.gates(), " hidden");
  require<ArgumentError>(weights.projection.empty() || kind == RecurrentKind::Lstm, name,
                         ": only an LSTM has a projection");
  require<ShapeError>(shape.size() == 2 && shape[0] % layer.gates() == 0 &&
                          (weights.projection || shape[0] / layer.gates() == shape[1]),
                      name, ": the hidden weights ", shape, " are not [", rows,
                      weights.projection ? ", out]" : ", hidden]");
  require<ShapeError>(weights.input.shape() == Shape{shape[0], x.dim(2)}, name, ": the input weights ",
                      weights.input.shape(), " are not ", Shape{shape[0], x.dim(2)});
  for (const Value& bias : {weights.input_bias, weights.hidden_bias})
    require<ShapeError>(bias.empty() == weights.input_bias.empty() && (bias.empty() || bias.shape() == Shape{shape[0]}),
                        name, ": both biases must be ", Shape{shape[0]}, ", or absent");
  require<ShapeError>(weights.projection.empty() || weights.projection.shape() == Shape{shape[1], layer.hidden()}, name,
                      ": the projection ", weights.projection, " is not ", Shape{shape[1], layer.hidden()});
  require<ArgumentError>(state.cell.empty() || kind == RecurrentKind::Lstm, name, ": only an LSTM has a cell");
  for (const auto& [given, width] : {std::pair{&state.hidden, shape[1]}, std::pair{&state.cell, layer.hidden()}})
    require<ShapeError>(given->empty() || given->shape() == Shape{x.dim(0), width}, name, ": a state must be ",
                        Shape{x.dim(0), width}, ", got ", *given);
  require<ArgumentError>(!options.clip || *options.clip > 0, name, ": clip must be positive, got ",
                         options.clip.value_or(0));
  if (!lengths) return;
  op::require_index(name, lengths);
  require<ShapeError>(lengths.shape() == Shape{x.dim(0)}, name, ": lengths must be ", Shape{x.dim(0)}, ", got ",
                      lengths);
}

RecurrentPass pass(const Layer& layer, const Value& given_x, const RecurrentState& state, const Value& lengths) {
  check(layer, given_x, state, lengths);
  // Elements beyond the end of a row must reach neither results nor gradients; 0 times infinity would.
  const Value there = lengths ? lt(arange(0, given_x.dim(1), 1, given_x.device()), unsqueeze(lengths, 1)) : Value();
  const auto inside = [&](const Value& each) { return there ? where(unsqueeze(there, 2), each, 0.0) : each; };
  const Value x = inside(given_x);
  const auto& [name, kind, weights, options] = layer;
  const std::int64_t hidden = layer.hidden(), out = layer.out();
  const bool lstm = kind == RecurrentKind::Lstm, resets_after = kind == RecurrentKind::Gru && options.reset_after;
  // Both biases are added to every time step in advance, except the part that a reset gate scales.
  Value bias = weights.input_bias, candidate_bias;
  if (bias && resets_after) {
    candidate_bias = narrow(weights.hidden_bias, 0, 2 * hidden, hidden);
    bias = bias + pad(narrow(weights.hidden_bias, 0, 0, 2 * hidden), {0}, {hidden});
  } else if (bias) {
    bias = bias + weights.hidden_bias;
  }
  const Value inputs = linear(x, weights.input, bias);
  DType dtype = promote(promote(x.dtype(), weights.input.dtype()), weights.hidden.dtype());
  if (dtype == DType::F32) dtype = autocast_dtype();  // cast directly to `dtype`, not through float32
  const auto as_dtype = [&](const Value& value) { return value ? cast(value, dtype) : value; };
  const auto start = [&](const Value& given, std::int64_t width) {
    return given ? cast(given, dtype) : zeros({x.dim(0), width}, x.device(), dtype);
  };
  const Value first = start(state.hidden, out);
  Values in{cast(inputs, dtype),
            cast(weights.hidden, dtype),
            as_dtype(candidate_bias),
            as_dtype(weights.projection),
            lstm ? cat(Values{first, start(state.cell, hidden)}, 1) : first,
            lengths,
            options.clip ? Value(*options.clip) : Value()};
  const RecurrentCell cell{.kind = kind,
                           .gate = options.gate,
                           .candidate = options.candidate,
                           .output = options.output,
                           .reset_after = resets_after,
                           .reverse = options.reverse};
  const bool tracked = std::any_of(in.begin(), in.end(), [](const Value& value) { return value.tracked(); });
  const Values results = emit_all(op::RecurrentLayer{cell, tracked && grad_enabled()}, in);
  const Value outputs = inside(results[0]);
  if (!lstm) return {outputs, {results[1], {}}};
  return {outputs, {narrow(results[1], 1, 0, out), narrow(results[1], 1, out, hidden)}};
}

}  // namespace

Value activate(GateActivation activation, const Value& x) {
  switch (activation) {
    case GateActivation::Sigmoid: return sigmoid(x);
    case GateActivation::Tanh: return tanh(x);
    case GateActivation::Relu: return relu(x);
    case GateActivation::HardSigmoid: return hard_sigmoid(x);
    case GateActivation::Softsign: return softsign(x);
    case GateActivation::Identity: return x;
  }
  return x;
}

RecurrentPass rnn(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options,
                  const RecurrentState& state, const Value& lengths) {
  return pass({"rnn", RecurrentKind::Rnn, weights, options}, x, state, lengths);
}
RecurrentPass lstm(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options,
                   const RecurrentState& state, const Value& lengths) {
  return pass({"lstm", RecurrentKind::Lstm, weights, options}, x, state, lengths);
}
RecurrentPass gru(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options,
                  const RecurrentState& state, const Value& lengths) {
  return pass({"gru", RecurrentKind::Gru, weights, options}, x, state, lengths);
}

}  // namespace kiln
