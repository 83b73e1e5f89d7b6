// A model of Kiln, by its component.
#include <kiln/kiln.hpp>
#include <models/regressor.hpp>

using namespace kiln;

int main() {
  const Device device = Device::best();
  const models::Regressor model = models::RegressorConfig{.features = 2, .hidden = {3}}.init(device);
  const Tensor<1> y = model.forward(ones({4, 2}, device));
  print("{} {}\n", model.hidden.size(), y.numel());
}
