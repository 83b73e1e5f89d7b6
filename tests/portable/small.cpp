// A model is trained where there is little memory: on the microcontroller, the program's data, heap and stack have 256 KB
// together. It learns which points lie within a circle, and what it says of points that it never saw is counted.
#include <cmath>
#include <vector>

#include "kiln/nn.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "tests/portable/expect.hpp"

namespace kiln::test {
namespace {

struct Network {
  nn::Linear hidden, out;

  /// points [batch, 2] -> logits [batch, 2]
  Tensor<2> forward(const Tensor<2>& points) const { return out.forward(hidden.forward(points).tanh()); }
};

struct Points {
  std::vector<float> places;
  std::vector<std::int64_t> inside;
};
/// Points of the square from -1 to 1, those within the circle of radius 0.7 marked: as many as lie without.
Points points(int count, unsigned int seed) {
  const auto next = [&] {
    seed = seed * 1664525u + 1013904223u;  // Numerical Recipes, 7.1
    return static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0f;
  };
  Points all;
  int within = 0;
  while (static_cast<int>(all.inside.size()) < count) {
    const float x = next(), y = next(), radius = std::hypot(x, y);
    const bool inside = radius < 0.7f;
    if (std::abs(radius - 0.7f) < 0.1f || (inside ? within >= count / 2 : false)) continue;
    within += inside;
    all.places.insert(all.places.end(), {x, y});
    all.inside.push_back(inside);
  }
  return all;
}

double share_right(const Network& network, const Points& known, const Device& device) {
  const auto count = static_cast<std::int64_t>(known.inside.size());
  const auto said = network.forward(Tensor<2>::of(known.places, {count, 2}, device)).argmax(1).to_vector();
  int right = 0;
  for (std::size_t i = 0; i < said.size(); ++i) right += said[i] == known.inside[i];
  return static_cast<double>(right) / static_cast<double>(count);
}

void learns_a_circle() {
  const Device device = Device::cpu().autodiff(), plain = device.inner();
  device.seed(5);
  Network network{.hidden = nn::LinearConfig{.in = 2, .out = 16}.init(device),
                  .out = nn::LinearConfig{.in = 16, .out = 2}.init(device)};
  const Points known = points(64, 1), others = points(200, 2);
  const auto x = Tensor<2>::of(known.places, {64, 2}, plain);
  const auto y = Tensor<1, Int>::of(known.inside, {64}, plain);
  auto sgd = SgdConfig{.momentum = 0.9}.init(network);
  const double before = share_right(network, others, plain);
  for (int step = 0; step < 150; ++step) {
    auto [loss, gradients] = value_and_grad(
        network, [&](const Network& each) { return nn::CrossEntropyLoss{}.forward(each.forward(x), y); });
    network = sgd.step(0.2, std::move(network), gradients);
  }
  const double after = share_right(network, others, plain);
  std::printf("right: %d %% of points that it never saw, %d %% before; tensors took at most %d bytes\n",
              static_cast<int>(100 * after), static_cast<int>(100 * before), static_cast<int>(plain.memory().peak));
  expect(before < 0.8, "it knows little before it learns");
  expect(after > 0.93, "it has learned the circle");
}

}  // namespace
}  // namespace kiln::test

int main() {
  kiln::test::learns_a_circle();
  return kiln::test::wrong ? 1 : 0;
}
