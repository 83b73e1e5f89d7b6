// Dropout: zeroes elements at random while training.
#pragma once
#include "kiln/nn/mode.hpp"
#include "kiln/tensor/normalization.hpp"

namespace kiln::nn {

/// In Mode::Train each element is zeroed with the probability given and the others are scaled by 1 / (1 - probability);
/// in Mode::Valid nothing happens. Draws from the device's stream. Throws ArgumentError outside [0, 1].
struct Dropout {
  double probability = 0.5;
  Mode mode = Mode::Train;

  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return mode == Mode::Train ? dropout(x, probability) : x;
  }
};

}  // namespace kiln::nn
