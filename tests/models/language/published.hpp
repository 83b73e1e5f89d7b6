// Files as others publish them, made by a formula, and what PyTorch makes of their models.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/store/format/source.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/store/temporary.hpp"

namespace kiln::models {

/// The text of a config.json, which is an object of the data file.
struct ConfigText {
  std::string text;
  static ConfigText from_json(const Json& json, const config::ConfigPath&) { return {write_json(json)}; }
  Json to_json() const { return parse_json(text, "config.json"); }
};

struct PublishedLm {
  ConfigText config;
  std::map<std::string, Shape> weights;  // their shapes
  std::vector<std::int64_t> ids;
  std::vector<float> logits;
};

struct PublishedBert {
  ConfigText config;
  std::map<std::string, Shape> weights;
  std::vector<std::int64_t> ids, segments, there;
  std::vector<float> hidden, pooled;
};

struct LanguageFigures {
  std::string made_with;  // the library and its version
  PublishedLm gpt2, llama;
  PublishedBert bert;
};

/// language_figures.json. Throws IoError or ConfigError where it is missing or damaged.
const LanguageFigures& language_figures();

/// What language_figures.py fills tensors of these names and shapes with.
TensorSource weights_of(const std::map<std::string, Shape>& shapes);

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
