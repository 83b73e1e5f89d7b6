#include "tests/models/published.hpp"

#include <cmath>
#include <limits>

namespace kiln::models {

TensorSource weights_of(std::span<const Published> tensors) {
  TensorSource source;
  double k = 0;
  for (const auto& [name, shape] : tensors) {
    ++k;
    std::vector<float> numbers(static_cast<std::size_t>(numel(shape)));
    const double shift = shape.size() == 1 && name.ends_with("weight") ? 1 : 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double x = (static_cast<double>(i) + 1) * 0.7548776662466927 + k * 0.5698402909980532;
      numbers[i] = static_cast<float>(x - std::floor(x) - 0.5 + shift);
    }
    source.tensors.emplace(name, stored(TensorData::of<float>(shape, numbers)));
  }
  return source;
}

PublishedModel::PublishedModel(std::string_view config, const TensorSource& weights, const std::string& file)
    : config_file("config.json"), folder(config_file.directory), weights_file(folder + "/" + file) {
  write_text(config_file.path, config);
  write_tensors(weights, weights_file);
}

PublishedModel gpt2_files() { return {kGpt2Config, weights_of(kGpt2Weights)}; }
PublishedModel llama_files() { return {kLlamaConfig, weights_of(kLlamaWeights)}; }

Tensor<2, Int> batch_of(const std::vector<std::int64_t>& ids, std::int64_t batch) {
  return Tensor<2, Int>::of(ids, {batch, static_cast<std::int64_t>(ids.size()) / batch}, Device::cpu());
}

double worst_difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  double worst = actual.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    const double off = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    worst = std::max(worst, off / (1 + std::abs(static_cast<double>(expected[i]))));
    if (std::isnan(off)) return off;
  }
  return worst;
}

}  // namespace kiln::models
