// Reading digits with the guide's model.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "examples/guide/model.hpp"
#include "kiln/data/image.hpp"

namespace digits {

struct Reading {
  std::optional<std::int64_t> digit;  // none where nothing was drawn
  std::vector<float> probabilities;   // of 0 to 9
  kiln::TensorData seen;              // float32 [28, 28]: the picture as the network saw it
};

/// A safetensors file of the guide's model, whose size its metadata says ("hidden_size"). Throws DataError or LoadError.
guide::Model model_from(std::span<const std::byte> file, const std::string& name, const kiln::Device& device);
/// The file's contents, in float16.
std::vector<std::byte> file_of(const guide::Model& model);

/// What the model, which is in Mode::Valid, says of images of 28 x 28: [count, 10] probabilities.
kiln::Tensor<2> probabilities(const guide::Model& model, std::span<const kiln::Image> images);
Reading read(const guide::Model& model, const kiln::TensorData& drawing);

}  // namespace digits
