// A tensor as an option of a function.
#pragma once
#include <concepts>

#include "kiln/ops/value.hpp"

namespace kiln {

/// A Value, empty by default, to which a typed tensor converts implicitly: {.window = hann_window(512, device)}.
class TensorOption : public Value {
 public:
  TensorOption() = default;
  TensorOption(const Value& value) : Value(value) {}
  template <class T>
  requires requires(const T& tensor) {
    { tensor.value() } -> std::same_as<const Value&>;
  } TensorOption(const T& tensor) : Value(tensor.value()) {}
};

}  // namespace kiln
