// A rehearsal, where the program is given neither pictures nor weights: it draws digits, and has a small network, which it
// teaches to read five of them. The transfer is then to the other five.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kiln/data.hpp>
#include <kiln/kiln.hpp>
#include <models/resnet.hpp>

namespace rehearsal {

using namespace kiln;

/// Digits in colours of one kind, grey, whose labels 0 to 4 stand for `first` to `first` + 4.
inline DatasetPtr<LabelledPicture> draw(std::int64_t count, std::int64_t first, std::int64_t side, std::uint64_t seed) {
  const Digits digits({.count = 2 * count, .seed = seed, .side = side});
  std::vector<LabelledPicture> found;
  for (std::int64_t i = 0; i < digits.size(); ++i) {
    const Image image = digits.get(i);
    if (image.label < first || image.label >= first + 5) continue;
    Picture picture = blank(side, side, 3);
    for (std::size_t pixel = 0; pixel < image.pixels.size(); ++pixel)
      for (std::size_t channel = 0; channel < 3; ++channel)
        picture.pixels[3 * pixel + channel] = byte_of(image.pixels[pixel]);
    found.push_back({std::move(picture), image.label - first});
  }
  return in_memory(std::move(found));
}

inline std::vector<std::string> classes(std::int64_t first) {
  std::vector<std::string> names;
  for (std::int64_t digit = first; digit < first + 5; ++digit) names.push_back(text(digit));
  return names;
}

/// The network after it has learned to read the digits 0 to 4.
inline models::ResNet learned(models::ResNet network, std::int64_t side, std::int64_t count, std::uint64_t seed,
                              const Device& device) {
  DataLoader loader(draw(count, 0, side, seed), PictureBatcher::image_net(),
                    {.batch_size = 32, .shuffle = true, .seed = seed});
  network = train(std::move(network));
  Adam adam = AdamConfig{}.init(network);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (PictureBatch batch : loader) {
      const auto images = Tensor<4>::from_data(std::move(batch.images), device);
      const auto targets = Tensor<1, Int>::from_data(std::move(batch.targets), device);
      auto [loss, gradients] =
          value_and_grad(network, [&](const models::ResNet& m) { return cross_entropy(m.forward(images), targets); });
      network = adam.step(2e-3, std::move(network), gradients);
    }
  }
  return network;
}

}  // namespace rehearsal
