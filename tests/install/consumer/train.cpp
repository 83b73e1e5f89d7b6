// One step of gradient descent towards y = 2 x from y = x: the slope goes from 1 to 1.5, and the loss to
// ((1.5 - 2)^2 + (3 - 4)^2) / 2 = 0.625.
#include <kiln/kiln.hpp>
#include <kiln/version.hpp>

using namespace kiln;

struct Line {
  nn::Param<1> slope;
};

int main() {
  static_assert(KILN_VERSION_MAJOR * 10000 + KILN_VERSION_MINOR * 100 + KILN_VERSION_PATCH > 0);
  const Device device = Device::best().autodiff();
  const Tensor<1> x = arange(1.0, 3.0, 1.0, device), y = x * 2;
  const auto loss_of = [&](const Line& line) { return (line.slope * x - y).square().mean(); };
  Line line{nn::Param<1>(ones({1}, device))};
  Sgd sgd = SgdConfig{}.init(line);
  auto [loss, gradients] = value_and_grad(line, loss_of);
  line = sgd.step(0.1, std::move(line), gradients);
  print("{}\n", loss_of(line).item());
}
