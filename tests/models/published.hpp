// Files as others publish them, made by a formula.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kiln/core/tensor_data.hpp"
#include "kiln/store/format/source.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/models/language_figures.hpp"
#include "tests/store/temporary.hpp"

namespace kiln::models {

/// What language_figures.py fills tensors with.
TensorSource weights_of(std::span<const Published> tensors);

/// A folder with config.json and weights.
struct PublishedModel {
  PublishedModel(std::string_view config, const TensorSource& weights, const std::string& file = "model.safetensors");
  TemporaryFile config_file;
  std::string folder, weights_file;
};
PublishedModel gpt2_files();
PublishedModel llama_files();

/// Tokens [batch, time].
Tensor<2, Int> batch_of(const std::vector<std::int64_t>& ids, std::int64_t batch);

/// The largest difference relative to 1 + |expected|; infinite where there are not as many.
double worst_difference(const std::vector<float>& actual, const std::vector<float>& expected);

}  // namespace kiln::models
