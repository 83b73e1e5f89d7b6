// Recurrent layers over [batch, time, width].
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/sequence/recurrent_cell.hpp"

namespace kiln {

/// Applies the activation function elementwise.
Value activate(GateActivation activation, const Value& x);

/// The rows belong to an LSTM's input, forget, cell and output gate, or to a GRU's reset gate, update gate and
/// candidate, one below the other, in PyTorch's order. Both biases are given or none. Only an LSTM may have a
/// projection.
struct RecurrentWeights {
  Value input, hidden;            // [gates hidden, in], [gates hidden, out]; out is `hidden` without a projection
  Value input_bias, hidden_bias;  // [gates hidden], or empty
  Value projection = {};          // [out, hidden], or empty
};
struct RecurrentState {
  Value hidden = {}, cell = {};  // [batch, out], and [batch, hidden] for an LSTM; empty: zeros
};
struct RecurrentOptions {
  GateActivation gate = GateActivation::Sigmoid;    // for the gates of LSTM and GRU
  GateActivation candidate = GateActivation::Tanh;  // for the values behind the gates; for the sums of an RNN
  GateActivation output = GateActivation::Tanh;     // for an LSTM's cell, before the output gate
  bool reverse = false;                             // from the last time step to the first
  bool reset_after = true;                          // GRU: true as in PyTorch, false as in the paper
  std::optional<double> clip = {};                  // limits an LSTM's cell, or others' state, to [-clip, clip]
};
struct RecurrentPass {
  Value outputs;         // [batch, time, out]: the hidden state at each time step
  RecurrentState state;  // after the last time step
};

/// h = candidate(W x + U h + biases) at each time step (Elman, "Finding structure in time", 1990). x [batch, time, in];
/// lengths [batch], integers, or empty: row b has only the first lengths[b] time steps (all where that is more, none
/// where it is negative), later outputs are zeros, and the state is that after its last step. Throws ShapeError,
/// DTypeError, ArgumentError.
RecurrentPass rnn(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                  const RecurrentState& state = {}, const Value& lengths = {});
/// Long short-term memory (Hochreiter, Schmidhuber, 1997) with a forget gate. From i, f, g, o, the quarters of
/// W x + U h + biases, each time step computes the cell gate(f) c + gate(i) candidate(g) and the hidden state
/// gate(o) output(cell), or that times the projection (Sak, Senior, Beaufays, 2014). Shapes, lengths and errors are as
/// for rnn().
RecurrentPass lstm(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                   const RecurrentState& state = {}, const Value& lengths = {});
/// Gated recurrent unit (Cho et al., "Learning phrase representations", 2014): r = gate(.), z = gate(.) and
/// h = (1 - z) n + z h, where n = candidate(W_n x + b_n + r (U_n h + c_n)) if reset_after, otherwise
/// candidate(W_n x + b_n + U_n (r h) + c_n). Shapes, lengths and errors are as for rnn().
RecurrentPass gru(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options = {},
                  const RecurrentState& state = {}, const Value& lengths = {});

}  // namespace kiln
