// A model with a layer of its own learns a wave.
#include "layer.hpp"

using namespace kiln;

struct Wave {
  nn::Linear hidden, output;
  Snake snake;

  Tensor<2> forward(const Tensor<2>& x) const { return output.forward(snake.forward(hidden.forward(x))); }
};

int main() {
  const Device device = Device::best().autodiff();
  device.seed(1);
  Wave wave{.hidden = nn::LinearConfig{.in = 1, .out = 32}.init(device),
            .output = nn::LinearConfig{.in = 32, .out = 1}.init(device),
            .snake = SnakeConfig{.channels = 32, .frequency = 2}.init(device)};
  Adam adam = AdamConfig{}.init(wave);

  const Tensor<2> x = linspace(-6, 0, 256, device).unsqueeze(1), y = (x * 2).sin();  // [256, 1]
  for (int step = 0; step <= 1000; ++step) {
    auto [loss, gradients] = value_and_grad(wave, [&](const Wave& w) { return mse_loss(w.forward(x), y); });
    wave = adam.step(0.01, std::move(wave), gradients);
    if (step % 250 == 0) print("step {:4}: loss {:.5f}\n", step, loss.item());
  }
  save(wave, "wave.safetensors");
  print("wrote wave.safetensors\n");
}
