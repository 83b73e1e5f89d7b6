// What a recurrent layer does at each moment.
#pragma once
#include <cstdint>

namespace kiln {

/// The functions of sums that a recurrent layer knows: those whose slopes their values tell.
enum class GateActivation : std::uint8_t { Sigmoid, Tanh, Relu, HardSigmoid, Softsign, Identity };

enum class RecurrentKind : std::uint8_t { Rnn, Lstm, Gru };

/// How many sums a moment makes for each element of the hidden state.
constexpr std::int64_t gates_of(RecurrentKind kind) {
  return kind == RecurrentKind::Lstm ? 4 : kind == RecurrentKind::Gru ? 3 : 1;
}

struct RecurrentCell {
  RecurrentKind kind = RecurrentKind::Lstm;
  GateActivation gate = GateActivation::Sigmoid, candidate = GateActivation::Tanh, output = GateActivation::Tanh;
  bool reset_after = false;  // of a GRU: the reset gate scales the product with the hidden state, not what goes into it
  bool reverse = false;      // from the last moment to the first
};

}  // namespace kiln
