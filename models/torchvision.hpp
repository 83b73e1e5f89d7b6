// Weights that torchvision's models of the same name saved: model.state_dict() by torch.save() or safetensors.
#pragma once
#include <string>

#include "kiln/store/load/options.hpp"
#include "models/mobilenet_v2.hpp"
#include "models/resnet.hpp"
#include "models/vgg.hpp"
#include "models/vision_transformer.hpp"

namespace kiln::models {

// Each takes the file over into the model, whose config says the same sizes. `options` are as of load(); its rules of
// names come behind torchvision's, so that they see the model's: {.except = {"head.*"}} keeps a head for other classes.
// Throws IoError, DataError, or a LoadError that names every misfit; the model is as before
// then.

/// torchvision.models.resnet18, resnet34 and resnet50, and others of their kind.
LoadReport load_torchvision(ResNet& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.mobilenet_v2
LoadReport load_torchvision(MobileNetV2& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.vgg19 and others of its kind, those with batch norm left aside.
LoadReport load_torchvision(Vgg& model, const std::string& path, LoadOptions options = {});
/// Its convolutions alone.
LoadReport load_torchvision(VggFeatures& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.vit_b_16 and others of its kind; those of timm, vit_base_patch16_224, as well.
LoadReport load_torchvision(VisionTransformer& model, const std::string& path, LoadOptions options = {});

}  // namespace kiln::models
