#include "kiln/nn/activation/learned.hpp"

#include "kiln/ops/create/random.hpp"
#include "kiln/ops/elementwise/activation.hpp"

namespace kiln::nn {

Value PRelu::apply(const Value& x) const { return prelu(x, weight.value()); }

PRelu PReluConfig::init(const Device& device) const {
  require<ArgumentError>(count > 0, "PReluConfig: count = ", count, " must be positive");
  return {.weight = Param<1>(full({count}, start, device))};
}

Value RRelu::apply(const Value& x) const {
  require<ArgumentError>(low <= high, "RRelu: low = ", low, " is above high = ", high);
  return leaky_relu(x, mode == Mode::Train ? uniform_like(x, low, high) : Value((low + high) / 2));
}

Value SwiGlu::apply(const Value& x) const {
  return silu(linear(x, gate.weight.value(), gate.bias.value())) * linear(x, value.weight.value(), value.bias.value());
}

SwiGlu SwiGluConfig::init(const Device& device) const {
  const LinearConfig half{.in = in, .out = out, .bias = bias, .initializer = initializer};
  return {.gate = half.init(device), .value = half.init(device)};
}

}  // namespace kiln::nn
