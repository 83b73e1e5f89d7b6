// A file as torchvision writes it, loaded, used and trained for a step, against stored figures of PyTorch's
// (torch_figures.py). exchange.py compares the models in full size where Python has torchvision.
#pragma once
#include "kiln/tensor/loss.hpp"
#include "models/torchvision.hpp"
#include "tests/store/temporary.hpp"

#include "torch_figures.hpp"
#include "waves.hpp"

namespace kiln::models {

/// Tensors of these names and shapes.
inline TensorSource state_dict(const std::map<std::string, Shape>& shapes) {
  TensorSource source;
  for (const auto& [name, shape] : shapes) source.tensors.emplace(name, stored(parameter(name, shape)));
  return source;
}

/// `name` is that of the model in torch_figures.json.
template <class M>
void expect_agreement(M model, std::int64_t size, const std::string& name) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(torch_state(name)), file.path);
  EXPECT_TRUE(load_torchvision(model, file.path).complete());
  const Tensor<4> images = wave_tensor<4>("images", {4, 3, size, size});
  const Tensor<1, Int> targets = Tensor<1, Int>::of({0, 1, 2, 0}, images.device());
  model = valid(std::move(model));
  expect_figures(model.forward(images).template to_vector<double>(), torch_numbers(name + "Logits"));
  model = train(std::move(model));
  const double loss = step(model, [&](const M& m) { return cross_entropy(m.forward(images), targets); });
  expect_figures({loss}, torch_numbers(name + "Loss"));
  model = valid(std::move(model));
  expect_figures(model.forward(images).template to_vector<double>(), torch_numbers(name + "LogitsAfterStep"), 1e-3);
}

}  // namespace kiln::models
