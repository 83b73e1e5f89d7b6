// Only the head learns, and the file tells the same classes. Prints what is wrong and returns 1.
#include <filesystem>
#include <string>

#include "model.hpp"
#include "rehearsal.hpp"

using namespace kiln;

int main() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  const ModelConfig config{.width = 8, .side = 32, .classes = 5};
  const models::ResNet network = config.network(device);  // stands for a published one
  Model model = begin_with(network, rehearsal::classes(5), device);

  const auto digits = rehearsal::draw(20, 5, config.side, 1);
  std::vector<LabelledPicture> pictures;
  for (std::int64_t i = 0; i < digits->size(); ++i) pictures.push_back(digits->get(i));
  PictureBatch batch = PictureBatcher::image_net()(pictures);
  const auto images = Tensor<4>::from_data(std::move(batch.images), device);
  const auto targets = Tensor<1, Int>::from_data(std::move(batch.targets), device);

  Adam adam = AdamConfig{}.init(model);
  const auto loss_of = [&](const Model& m) { return cross_entropy(m.forward(images), targets); };
  const float before = loss_of(model).item();
  for (int step = 0; step < 60; ++step) {
    auto [loss, gradients] = value_and_grad(model, loss_of);
    model = adam.step(0.01, std::move(model), gradients);
  }
  const float after = loss_of(model).item();
  const double moved = (model.network.features(images) - valid(network).features(images)).abs().max().item();

  const auto file = std::filesystem::temp_directory_path() / "kiln_project_test.safetensors";
  save(model, file.string());
  const Model loaded = valid(load(file.string(), config.init(device)));
  std::filesystem::remove(file);
  const bool same = loaded.classes.names() == rehearsal::classes(5) && loss_of(loaded).item() == after;

  print("loss {:.4f} before, {:.4f} after 60 steps; the body moved by {}; loaded: {}\n", before, after, moved,
        same ? "the same" : "something else");
  return after < before / 2 && moved == 0 && same ? 0 : 1;
}
