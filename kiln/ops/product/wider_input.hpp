// A float64 input in a float32 model: everything computed from it is float64, which a program seldom wants.
#pragma once
#include <string_view>

#include "kiln/ops/value.hpp"

namespace kiln {

/// Says on the standard error that `x` makes the results of the layer `function` wider than its weight, with the place
/// of the call where the program has debug information (-g).
void say_input_is_wider(std::string_view function, const Value& x, const Value& weight);

/// Says it the first time in a program that a float64 input meets a float32 weight.
inline void watch_input(std::string_view function, const Value& x, const Value& weight) {
  if (x.dtype() != DType::F64 || weight.dtype() != DType::F32) [[likely]]
    return;
  [[maybe_unused]] static const bool once = (say_input_is_wider(function, x, weight), true);
}

}  // namespace kiln
