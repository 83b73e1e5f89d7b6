// Compares the layer with its formula, and its gradients with finite differences. Prints what is wrong and returns 1.
#include <cmath>
#include <cstdio>
#include <vector>

#include "layer.hpp"

using namespace kiln;

namespace {

double snake(double x, double a) { return x + std::sin(a * x) * std::sin(a * x) / a; }

bool near(const char* what, double got, double expected) {
  if (std::abs(got - expected) <= 1e-3 * (1 + std::abs(expected))) return true;
  std::printf("%s: %g in place of %g\n", what, got, expected);
  return false;
}

}  // namespace

int main() {
  const Device device = Device::cpu().autodiff();
  const std::vector<float> inputs = {-1.5F, -0.2F, 0.0F, 0.7F, 2.0F, 3.1F};
  const double a = 1.3, h = 1e-5;
  const Snake layer = SnakeConfig{.channels = 1, .frequency = a}.init(device);
  const auto x = Tensor<2>::of(inputs, {6, 1}, device);

  const std::vector<float> outputs = layer.forward(x).to_vector();
  const auto [sum, gradients] = value_and_grad(layer, [&](const Snake& m) { return m.forward(x).sum(); });
  bool right = true;
  double slope = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    right = near("forward", outputs[i], snake(inputs[i], a)) && right;
    slope += (snake(inputs[i], a + h) - snake(inputs[i], a - h)) / (2 * h);
  }
  right = near("gradient of the frequency", gradients.find("frequency")->data().at(0), slope) && right;
  check_gradients(layer, [&](const Snake& m) { return m.forward(x).square().mean(); });
  if (right) std::printf("the layer and its gradient are right\n");
  return right ? 0 : 1;
}
