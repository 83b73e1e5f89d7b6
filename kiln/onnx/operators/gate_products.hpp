// LSTM with other products than those of float weights: what com.microsoft's quantised one is made of.
#pragma once
#include <functional>
#include <span>

#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

/// How one direction multiplies by its weights.
struct GateProducts {
  std::function<Value(const Value& x)> input;  // [time, batch, in] -> [time, batch, gates * hidden], all at once
  std::function<Value(const Value& h)>
      recurrence;  // [batch, hidden] -> [batch, gates * hidden], one time step at a time
};

/// LSTM of the inputs of `c`, whose W [directions, 4 * hidden, in] and R [directions, 4 * hidden, hidden] say sizes alone.
Results lstm_with(Call& c, std::span<const GateProducts> directions);

}  // namespace kiln::onnx
