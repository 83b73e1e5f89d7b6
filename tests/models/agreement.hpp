// A file as torchvision writes it, loaded, used and trained for a step, against stored figures of PyTorch's
// (torch_figures.py). exchange.py compares the models in full size where Python has torchvision.
#pragma once
#include <sstream>

#include "kiln/tensor/loss.hpp"
#include "models/torchvision.hpp"
#include "tests/store/temporary.hpp"

#include "torch_figures.hpp"
#include "waves.hpp"

namespace kiln::models {

/// Rows of a name and its sizes.
inline TensorSource state_dict(std::string_view rows) {
  TensorSource source;
  std::istringstream lines{std::string(rows)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Shape shape;
    for (std::int64_t size; words >> size;) shape.push_back(size);
    source.tensors.emplace(name, stored(parameter(name, shape)));
  }
  return source;
}

struct Figures {
  std::string_view state;
  std::span<const double> logits, loss, after_step;
};

template <class M>
void expect_agreement(M model, std::int64_t size, const Figures& figures) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(figures.state), file.path);
  EXPECT_TRUE(load_torchvision(model, file.path).complete());
  const Tensor<4> images = wave_tensor<4>("images", {4, 3, size, size});
  const Tensor<1, Int> targets = Tensor<1, Int>::of({0, 1, 2, 0}, images.device());
  model = valid(std::move(model));
  expect_figures(model.forward(images).template to_vector<double>(), figures.logits);
  model = train(std::move(model));
  const double loss = step(model, [&](const M& m) { return cross_entropy(m.forward(images), targets); });
  expect_figures({loss}, figures.loss);
  model = valid(std::move(model));
  expect_figures(model.forward(images).template to_vector<double>(), figures.after_step, 1e-3);
}

}  // namespace kiln::models
