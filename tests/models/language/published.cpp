#include "tests/models/language/published.hpp"

#include <cmath>
#include <limits>

namespace kiln::models {

const LanguageFigures& language_figures() {
  static const auto figures =
      load_config<LanguageFigures>(KILN_SOURCE_DIR "/tests/models/language/language_figures.json");
  return figures;
}

TensorSource weights_of(const std::map<std::string, Shape>& shapes) {
  TensorSource source;
  double k = 0;
  for (const auto& [name, shape] : shapes) {
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

PublishedModel gpt2_files() {
  const PublishedLm& gpt2 = language_figures().gpt2;
  return {gpt2.config.text, weights_of(gpt2.weights)};
}
PublishedModel llama_files() {
  const PublishedLm& llama = language_figures().llama;
  return {llama.config.text, weights_of(llama.weights)};
}

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
