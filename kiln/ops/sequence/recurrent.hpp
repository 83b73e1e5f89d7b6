// Recurrent layers over [batch, time, width].
#pragma once
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The rows are those of the input, forget, cell and output gate, one below the other, in PyTorch's order. Either both
/// biases are there or none.
struct LstmWeights {
  Value input, hidden;            // [4 hidden, in], [4 hidden, hidden]
  Value input_bias, hidden_bias;  // [4 hidden], or empty
};
struct LstmPass {
  Value outputs;       // [batch, time, hidden]: the hidden state of each moment
  Value hidden, cell;  // [batch, hidden]: after the last
};
/// Long short-term memory (Hochreiter, Schmidhuber, 1997) with a forget gate. From i, f, g, o, the quarters of
/// input x + input_bias + hidden h + hidden_bias, each moment makes the cell sigmoid(f) c + sigmoid(i) tanh(g) and the
/// hidden state sigmoid(o) tanh(cell). x [batch, time, in], time being at least 1; h and c are zeros at first unless
/// given. Throws ShapeError.
LstmPass lstm(const Value& x, const LstmWeights& weights, const Value& hidden = {}, const Value& cell = {});
namespace op {
/// The operation that a tracked pass is recorded as: one object for all of them, by which whoever sends it knows it.
const Ref<const CustomOp>& lstm_recurrence();
}  // namespace op

}  // namespace kiln
