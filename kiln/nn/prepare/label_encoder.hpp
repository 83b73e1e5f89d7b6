// The names of classes and their numbers, saved, loaded and moved with the model:
//
//   struct Model {
//     nn::LabelEncoder labels;
//     nn::Linear linear;
//   };
//   model.labels = nn::LabelEncoderConfig{.classes = 3}.fit(names, device);   // "cat", "dog", "owl": 0, 1, 2
//   const Tensor<1, Int> targets = model.labels.encode(words, device);
//   const std::vector<std::string> said = model.labels.decode(scores.argmax(1));
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kiln/nn/param.hpp"

namespace kiln::nn {

/// The names are a buffer of their UTF-8 bytes, filled up with zeros. Its size belongs to the config, so that a model
/// that is made of the same config can load it from any file of tensors.
struct LabelEncoder {
  Buffer<2, Int> letters;  // [classes, bytes], unsigned bytes

  /// The names in the order of their numbers. Waits for the device, like the functions below. Throws ArgumentError if
  /// there are none yet.
  std::vector<std::string> names() const;
  /// The numbers of these names, [names]. Throws DataError for one that is unknown, with the most similar.
  Tensor<1, Int> encode(std::span<const std::string> words, const Device& device) const;
  /// The names of these numbers. Throws DataError for one that no class has.
  std::vector<std::string> decode(const Tensor<1, Int>& numbers) const;
};

struct LabelEncoderConfig {
  std::int64_t classes;
  std::int64_t bytes = 64;  // of the longest name

  /// An encoder without names, to load a saved one into. Throws ArgumentError for sizes below 1.
  LabelEncoder init(const Device& device) const;
  /// Gives numbers to the distinct words, in the order of their bytes. Throws DataError unless there are as many as
  /// classes, or for a word that is empty, too long or contains a zero byte.
  [[nodiscard("fit() keeps nothing: it returns an encoder")]] LabelEncoder fit(std::span<const std::string> words,
                                                                               const Device& device) const;
};

}  // namespace kiln::nn
