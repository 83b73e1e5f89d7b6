// Loads weights that torchvision's models of the same name saved: model.state_dict() by torch.save() or safetensors.
#pragma once
#include <string>

#include "kiln/store/load/options.hpp"
#include "models/alexnet.hpp"
#include "models/inception_v3.hpp"
#include "models/mobilenet_v2.hpp"
#include "models/resnet.hpp"
#include "models/squeezenet.hpp"
#include "models/vgg.hpp"
#include "models/vision_transformer.hpp"

namespace kiln::models {

// Each function loads the file into the model, whose config must have the same sizes. `options` are those of load().
// Its renaming rules are applied after torchvision's, so that they see the model's names: {.except = {"head.*"}} keeps
// a head for other classes. Throws IoError, DataError, or a LoadError that names every mismatch; the model is unchanged
// then.

/// torchvision.models.resnet18, resnet34, resnet50 and their variants
LoadReport load_torchvision(ResNet& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.mobilenet_v2
LoadReport load_torchvision(MobileNetV2& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.vgg19 and its variants without batch norm
LoadReport load_torchvision(Vgg& model, const std::string& path, LoadOptions options = {});
/// Loads only the convolutions of the file.
LoadReport load_torchvision(VggFeatures& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.vit_b_16 and its variants, and those of timm, such as vit_base_patch16_224
LoadReport load_torchvision(VisionTransformer& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.alexnet; or only the convolutions of the file
LoadReport load_torchvision(AlexNet& model, const std::string& path, LoadOptions options = {});
LoadReport load_torchvision(AlexNetFeatures& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.squeezenet1_1; or all but the head
LoadReport load_torchvision(SqueezeNet& model, const std::string& path, LoadOptions options = {});
LoadReport load_torchvision(SqueezeNetFeatures& model, const std::string& path, LoadOptions options = {});
/// torchvision.models.inception_v3, whose auxiliary classifier is left out, and FID's weights, which have the same names
LoadReport load_torchvision(InceptionV3& model, const std::string& path, LoadOptions options = {});

}  // namespace kiln::models
