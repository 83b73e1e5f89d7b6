// A layer of one's own: Snake, x + sin(a x)^2 / a, an activation with a frequency for each channel that is learned with the
// weights (Liu, Hartwig and Ueda, "Neural networks fail to learn periodic functions and how to fix it", NeurIPS 2020).
#pragma once
#include <cstdint>

#include <kiln/kiln.hpp>

struct Snake {
  kiln::nn::Param<1> frequency;  // [channels]

  /// x [..., channels] -> [..., channels]
  template <int D>
  kiln::Tensor<D> forward(const kiln::Tensor<D>& x) const {
    return x + (x * frequency).sin().square() / frequency;
  }
};

struct SnakeConfig {
  std::int64_t channels;
  double frequency = 1;  // at the start

  Snake init(const kiln::Device& device) const {
    return {.frequency = kiln::nn::Param<1>(kiln::full({channels}, frequency, device))};
  }
};
