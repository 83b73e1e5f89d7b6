// Learns a wave from the left half of the picture and continues it to the right: ./dev run custom_op
#include "examples/custom_op/snake.hpp"
#include "kiln/core/config/arguments.hpp"

using namespace kiln;

struct Wave {
  nn::Linear hidden, output;
  nn::Param<0> frequency;

  Tensor<2> forward(const Tensor<2>& x) const { return output.forward(custom(Snake{}, hidden.forward(x), frequency)); }
};

namespace {
constexpr std::string_view kHelp =
    R"(Learns a wave from the left half of the picture and continues it to the right: ./dev run custom_op)";
}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 0)) return *status;
  const Device device = Device::best().autodiff();
  device.seed(1);
  Wave wave{.hidden = nn::LinearConfig{.in = 1, .out = 32}.init(device),
            .output = nn::LinearConfig{.in = 32, .out = 1}.init(device),
            .frequency = nn::Param<0>(full({}, 2.0, device))};
  Adam adam = AdamConfig{}.init(wave);

  const auto target = [](const Tensor<2>& x) { return (x * 2).sin(); };
  const auto loss = [&](const Wave& w, const Tensor<2>& x) { return nn::MseLoss{}.forward(w.forward(x), target(x)); };
  const Tensor<2> seen = linspace(-6, 0, 256, device).unsqueeze(1), ahead = linspace(0, 3, 128, device).unsqueeze(1);
  for (int step = 0; step <= 2000; ++step) {
    auto [error, grads] = value_and_grad(wave, [&](const Wave& w) { return loss(w, seen); });
    wave = adam.step(0.01, std::move(wave), grads);
    if (step % 500 == 0)
      print("step {:4}: error {:.4f} where it learned, {:.4f} beyond, frequency {:.3f}\n", step, error.item(),
            loss(wave, ahead).item(), wave.frequency.item());
  }
}
