#include "examples/pico/reader.hpp"

#include "kiln/data/image_tensors.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/optim/rules/adam.hpp"

namespace pico {

guide::Model trained(const guide::Source& source, std::int64_t images, std::uint64_t seed) {
  constexpr std::int64_t kBatch = 64;
  const Device device = Device::cpu().autodiff();
  device.seed(seed);
  // The hidden values are few: none of them is dropped.
  guide::Model model = guide::ModelConfig{.hidden_size = 32, .dropout = 0}.init(device);
  auto optimizer = AdamConfig{}.init(model);
  for (std::int64_t first = 0; first + kBatch <= images; first += kBatch) {
    std::vector<Image> batch;
    for (std::int64_t i = 0; i < kBatch; ++i) batch.push_back(source.train->get((first + i) % source.train->size()));
    const auto [x, y] = to_tensors(ImageBatcher::normalized()(batch), device.inner());
    auto [loss, gradients] = value_and_grad(
        model, [&](const guide::Model& each) { return nn::CrossEntropyLoss{}.forward(each.forward(x), y); });
    model = optimizer.step(2e-3, std::move(model), gradients);
  }
  return valid(model);
}

std::int64_t digit_in(const guide::Model& model, const Image& image) {
  const NoGrad pause;
  const ImageBatch batch = ImageBatcher::normalized()({&image, 1});
  return model.forward(Tensor<3>::from_data(batch.images, Device::cpu())).argmax(1).to_vector().front();
}

compile::CompiledCode compiled(const guide::Model& model, const std::string& target) {
  const NoGrad pause;
  const Value x = zeros(Shape{1, 28, 28}, Device::cpu());
  const compile::Source source{
      .graph = capture_graph(
          [&](const Values& in) { return Values{model.forward(Tensor<3>(in[0])).softmax(1).value().detach()}; },
          {&x, 1}),
      .inputs = {"image"},
      .outputs = {"chances"}};
  return compile::compile(source, {.name = "digits", .target = target});
}

}  // namespace pico
