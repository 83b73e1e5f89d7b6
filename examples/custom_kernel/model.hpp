// A model on two kernels of one's own, and the problem that it learns.
#pragma once
#include "examples/custom_kernel/linear_gelu.hpp"
#include "examples/custom_kernel/state_scan.hpp"
#include "kiln/nn.hpp"

/// Sequences of numbers, two of which are marked: the answer is their sum (Hochreiter and Schmidhuber, "Long short-term
/// memory", 1997, the adding problem).
struct Sums {
  kiln::Tensor<3> sequences;  // [batch, time, 2]: a number, and whether it is marked
  kiln::Tensor<1> sums;       // [batch]
};

inline Sums draw_sums(std::int64_t batch, std::int64_t time, const kiln::Device& device) {
  using namespace kiln;
  const Tensor<2> numbers = rand({batch, time}, device) - 0.5, order = rand({batch, time}, device);
  // The largest of each half of a random order are marked.
  const auto marked = [&](const Tensor<2>& half) { return (half == half.max(keep, 1)).to_float(); };
  const std::int64_t half = time / 2;
  const Tensor<2> marks = cat({marked(order.narrow(1, 0, half)), marked(order.narrow(1, half, time - half))}, 1);
  return {stack({numbers, marks}, 2), (numbers * marks).sum(1)};
}

struct StateModel {
  kiln::nn::Linear features;
  kiln::nn::Linear gate, input, output;
  bool as_text = false;

  /// x [batch, time, 2] -> [batch]
  kiln::Tensor<1> forward(const kiln::Tensor<3>& x) const {
    using namespace kiln;
    const std::int64_t batch = x.dim(0), time = x.dim(1);
    const Tensor<2> seen(custom_all(LinearGelu{as_text}, x.reshape(batch * time, x.dim(2)),
                                    transpose(features.weight.value(), 0, 1), features.bias.value())[0]);
    const auto over_time = [&](const Tensor<2>& y) { return y.reshape(batch, time, y.dim(1)); };
    // What is kept of the state, mostly all.
    const Tensor<3> kept = over_time((gate.forward(seen) + 6).sigmoid());
    const Tensor<3> states = custom(StateScan{.as_text = as_text}, kept, over_time(input.forward(seen)));
    return output.forward(states.narrow(1, time - 1, 1).squeeze(1)).squeeze(1);
  }
};

inline StateModel make_model(std::int64_t width, bool as_text, const kiln::Device& device) {
  const auto linear = [&](std::int64_t in, std::int64_t out) {
    return kiln::nn::LinearConfig{.in = in, .out = out}.init(device);
  };
  return {linear(2, width), linear(width, width), linear(width, width), linear(width, 1), as_text};
}
