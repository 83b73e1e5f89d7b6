#include "examples/web/digits/reader.hpp"

#include <algorithm>
#include <charconv>

#include "examples/web/digits/drawing.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/store/record.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace digits {

using namespace kiln;

guide::Model model_from(std::span<const std::byte> file, const std::string& name, const Device& device) {
  const TensorFileView view = view_safetensors(file, name);
  guide::ModelConfig config;
  const auto size = view.metadata.find("hidden_size");
  if (size != view.metadata.end()) {
    const std::string& said = size->second;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), config.hidden_size);
    require<DataError>(error == std::errc() && end == said.data() + said.size() && config.hidden_size > 0 &&
                           config.hidden_size <= 1 << 16,
                       name, ": its hidden_size is no size");
  }
  return valid(from_record(view, config.init(device.inner()), name));
}

std::vector<std::byte> file_of(const guide::Model& model) {
  TensorFile file = record_of(model, {{"hidden_size", text(model.linear1.weight.value().dim(0))}});
  for (auto& [name, tensor] : file.tensors) tensor = tensor.to(DType::F16);
  return write_safetensors(file);
}

Tensor<2> probabilities(const guide::Model& model, std::span<const Image> images) {
  const NoGrad none;
  const Device device = model.linear2.weight.value().device().inner();
  return model.forward(Tensor<3>::from_data(ImageBatcher::normalized()(images).images, device)).softmax(1);
}

Reading read(const guide::Model& model, const TensorData& drawing) {
  const Image image = centred(drawing);
  Reading reading{.digit = {},
                  .probabilities = std::vector<float>(10, 0.1f),
                  .seen = TensorData::of<float>({image.height, image.width}, std::span<const float>(image.pixels))};
  if (std::all_of(image.pixels.begin(), image.pixels.end(), [](float pixel) { return pixel == 0; })) return reading;
  reading.probabilities = probabilities(model, {&image, 1}).to_vector();
  reading.digit =
      std::max_element(reading.probabilities.begin(), reading.probabilities.end()) - reading.probabilities.begin();
  return reading;
}

}  // namespace digits
