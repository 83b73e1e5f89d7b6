// The model learns the rule of the drawn rows, and its file gives the same numbers. Prints what is wrong and returns 1.
#include <filesystem>

#include "model.hpp"

using namespace kiln;

int main() {
  const Device device = Device::cpu().autodiff();
  device.seed(2);
  const Table table = to_tensors(draw_rows(256), device);
  Model model = ModelConfig{}.init(table, device);
  Adam adam = AdamConfig{}.init(model);
  const auto error_of = [&](const Model& m) { return mse_loss(m.forward(table.inputs), table.targets); };
  const float before = error_of(model).item();
  for (int step = 0; step < 200; ++step) {
    auto [loss, gradients] = value_and_grad(model, [&](const Model& m) { return loss_of(m, table); });
    model = adam.step(0.02, std::move(model), gradients);
  }
  const float after = error_of(model).item();

  const auto file = std::filesystem::temp_directory_path() / "kiln_project_test.safetensors";
  save(model, file.string());
  const Model loaded = load(file.string(), ModelConfig{}.init({table.inputs * 2, table.targets * 3}, device));
  std::filesystem::remove(file);
  const float difference = error_of(loaded).item() - after;

  print("loss {:.4f} before, {:.4f} after 200 steps; loaded: {:+.1e}\n", before, after, difference);
  return after < 0.05F && after < before / 10 && difference == 0 ? 0 : 1;
}
