// Trains a model on kernels of one's own: ./dev run custom_kernel
//
//   custom_kernel          kernels in Kiln's language, on the best device that there is
//   custom_kernel --text   the same kernels as CUDA C++, where there is an NVIDIA GPU
//
// Where there is no GPU, what the kernels are made of runs.
#include "examples/custom_kernel/model.hpp"
#include "kiln/core/config/arguments.hpp"

using namespace kiln;

namespace {
constexpr std::string_view kHelp = R"(Trains a model on kernels of one's own: ./dev run custom_kernel

  custom_kernel          kernels in Kiln's language, on the best device that there is
  custom_kernel --text   the same kernels as CUDA C++, where there is an NVIDIA GPU

Where there is no GPU, what the kernels are made of runs.)";
}  // namespace

int main(int count, char** words) {
  if (const auto status = kiln::answered(count, words, kHelp, 1, {"--text"})) return *status;
  const bool as_text = count > 1 && std::string_view(words[1]) == "--text";
  const Device device = Device::best().autodiff();
  device.seed(1);
  StateModel model = make_model(32, as_text, device);
  Adam adam = AdamConfig{}.init(model);
  const auto loss = [](const StateModel& m, const Sums& drawn) {
    return nn::MseLoss{}.forward(m.forward(drawn.sequences), drawn.sums);
  };
  constexpr int kSteps = 600;
  for (int step = 0; step <= kSteps; ++step) {
    const Sums drawn = draw_sums(64, 50, device);
    auto [error, grads] = value_and_grad(model, [&](const StateModel& m) { return loss(m, drawn); });
    model = adam.step(0.003 * (1 - step / (kSteps + 1.0)), std::move(model), grads);
    if (step % 100 == 0) print("step {:4}: error {:.4f}\n", step, error.item());
  }
}
