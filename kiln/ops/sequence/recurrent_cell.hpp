// The computation of a recurrent layer at each time step.
#pragma once
#include <cstdint>

namespace kiln {

/// The activation functions of recurrent layers: those whose derivative is a function of their value.
enum class GateActivation : std::uint8_t { Sigmoid, Tanh, Relu, HardSigmoid, Softsign, Identity };

enum class RecurrentKind : std::uint8_t { Rnn, Lstm, Gru };

/// The number of sums per element of the hidden state at each time step.
constexpr std::int64_t gates_of(RecurrentKind kind) {
  return kind == RecurrentKind::Lstm ? 4 : kind == RecurrentKind::Gru ? 3 : 1;
}

struct RecurrentCell {
  RecurrentKind kind = RecurrentKind::Lstm;
  GateActivation gate = GateActivation::Sigmoid, candidate = GateActivation::Tanh, output = GateActivation::Tanh;
  bool reset_after = false;  // GRU: the reset gate scales the product with the hidden state, not its operand
  bool reverse = false;      // from the last time step to the first
};

}  // namespace kiln
