// What a model says with weights of torchvision's: torchvision_logits MODEL WEIGHTS IMAGES LOGITS, of which IMAGES is a
// file with a tensor `images`, and LOGITS one to be written. exchange.py compares.
#include <cstdio>
#include <exception>
#include <string>

#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/store/save.hpp"
#include "models/torchvision.hpp"

namespace kiln::models {
namespace {

template <class Config>
Tensor<2> loaded_logits(const Config& config, const std::string& weights, const Tensor<4>& images) {
  const NoGrad pause;
  auto model = uninitialized(config, Device::cpu());
  load_torchvision(model, weights);
  return valid(std::move(model)).forward(images);
}

Tensor<2> logits(const std::string& model, const std::string& weights, const Tensor<4>& images) {
  if (model == "mobilenet_v2") return loaded_logits(MobileNetV2Config{}, weights, images);
  if (model == "vit_b_16") return loaded_logits(VisionTransformerConfig{}, weights, images);
  if (model == "vgg16") return loaded_logits(vgg(16), weights, images);
  if (model == "vgg19") return loaded_logits(vgg(19), weights, images);
  require<ArgumentError>(model.starts_with("resnet"), "there is no model '", model, "'");
  return loaded_logits(resnet(std::stoi(model.substr(6))), weights, images);
}

}  // namespace
}  // namespace kiln::models

int main(int argc, char** argv) {
  using namespace kiln;
  if (argc != 5) return std::fprintf(stderr, "usage: torchvision_logits MODEL WEIGHTS IMAGES LOGITS\n"), 2;
  try {
    const TensorFile file = load_tensors(argv[3]);
    const auto images = Tensor<4>::from_data(file.tensors.at("images"), Device::cpu());
    save_tensors({.tensors = {{"logits", models::logits(argv[1], argv[2], images).data()}}, .metadata = {}}, argv[4]);
  } catch (const std::exception& error) { return std::fprintf(stderr, "%s\n", error.what()), 1; }
}
