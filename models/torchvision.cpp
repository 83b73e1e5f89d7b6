#include "models/torchvision.hpp"

#include <utility>
#include <vector>

#include "kiln/store/save.hpp"

namespace kiln::models {
namespace {

std::vector<Rename> resnet_names() {
  return {{R"(^conv1\.)", "stem.conv."},
          {R"(^bn1\.)", "stem.norm."},
          {R"(^layer1\.)", "stages.0."},
          {R"(^layer2\.)", "stages.1."},
          {R"(^layer3\.)", "stages.2."},
          {R"(^layer4\.)", "stages.3."},
          {R"(\.conv(\d)\.)", ".conv$1.conv."},
          {R"(\.bn(\d)\.)", ".conv$1.norm."},
          {R"(\.downsample\.0\.)", ".shortcut.conv."},
          {R"(\.downsample\.1\.)", ".shortcut.norm."},
          {R"(^fc\.)", "head."}};
}

/// torchvision numbers the stem and the last convolution together with the blocks, and does not name the parts of a
/// block.
std::vector<Rename> mobilenet_v2_names(const std::vector<InvertedResidual>& blocks) {
  std::vector<Rename> names = {{R"(^features\.0\.)", "stem."},
                               {text(R"(^features\.)", blocks.size() + 1, R"(\.)"), "last."},
                               {R"(^classifier\.1\.)", "head."}};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string theirs = text(R"(^features\.)", i + 1, R"(\.conv\.)"), ours = text("blocks.", i, '.');
    int part = 0;
    if (blocks[i].expand) names.push_back({text(theirs, part++, R"(\.(\d)\.)"), ours + "expand.$1."});
    names.push_back({text(theirs, part++, R"(\.(\d)\.)"), ours + "depthwise.$1."});
    names.push_back({text(theirs, part++, R"(\.)"), ours + "project.0."});
    names.push_back({text(theirs, part, R"(\.)"), ours + "project.1."});
  }
  names.push_back({R"(\.0\.(\w+)$)", ".conv.$1"});
  names.push_back({R"(\.1\.(\w+)$)", ".norm.$1"});
  return names;
}

/// torchvision numbers convolutions, relus and poolings in one list; `theirs` is the name before the number.
std::vector<Rename> vgg_names(const VggFeatures& features, std::string_view theirs, std::string_view ours) {
  std::vector<Rename> names;
  std::size_t place = 0;
  for (std::size_t i = 0; i < features.stages.size(); ++i, ++place)
    for (std::size_t j = 0; j < features.stages[i].size(); ++j, place += 2)
      names.push_back({text('^', theirs, place, R"(\.)"), text(ours, "stages.", i, '.', j, '.')});
  return names;
}

/// The places of AlexNet's convolutions in torchvision's list.
std::vector<Rename> alexnet_names(std::string_view theirs, std::string_view ours) {
  std::vector<Rename> names;
  int i = 0;
  for (const int place : {0, 3, 6, 8, 10})
    names.push_back({text('^', theirs, place, R"(\.)"), text(ours, "convolutions.", i++, '.')});
  return names;
}

/// torchvision numbers the stem, its relu, the poolings and the fires in one list.
std::vector<Rename> squeezenet_names(const SqueezeNetFeatures& features, std::string_view theirs,
                                     std::string_view ours) {
  std::vector<Rename> names = {{text('^', theirs, R"(0\.)"), text(ours, "stem.")}};
  std::size_t place = 2;
  for (std::size_t i = 0; i < features.fires.size(); ++i, ++place) {
    if (features.pooled.at(i)) ++place;
    names.push_back({text('^', theirs, place, R"(\.)"), text(ours, "fires.", i, '.')});
  }
  return names;
}

std::vector<Rename> inception_v3_names() {
  std::vector<Rename> names = {{R"(^Mixed_6a\.)", "reduce6."}, {R"(^Mixed_7a\.)", "reduce7."}, {R"(^fc\.)", "head."}};
  const auto list = [&](std::string_view ours, std::initializer_list<std::string_view> theirs) {
    int i = 0;
    for (const std::string_view name : theirs) names.push_back({text('^', name, R"(\.)"), text(ours, i++, '.')});
  };
  list("stem.", {"Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "Conv2d_3b_1x1", "Conv2d_4a_3x3"});
  list("mixed5.", {"Mixed_5b", "Mixed_5c", "Mixed_5d"});
  list("mixed6.", {"Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"});
  list("mixed7.", {"Mixed_7b", "Mixed_7c"});
  names.push_back({R"(\.bn\.)", ".norm."});
  return names;
}

std::vector<TensorSplit> vision_transformer_parts() {
  return {{R"(self_attention\.in_proj_)", {"attention.query.", "attention.key.", "attention.value."}},
          {R"(\.attn\.qkv\.)", {".attention.query.", ".attention.key.", ".attention.value."}}};
}

std::vector<Rename> vision_transformer_names() {
  return {{R"(^class_token$)", "token"},
          {R"(^conv_proj\.)", "patches."},
          {R"(^encoder\.pos_embedding$)", "positions"},
          {R"(^encoder\.layers\.encoder_layer_)", "encoder.blocks."},
          {R"(^encoder\.ln\.)", "encoder.norm."},
          {R"(\.ln_1\.)", ".attention_norm."},
          {R"(\.ln_2\.)", ".feed_forward_norm."},
          {R"(\.self_attention\.out_proj\.)", ".attention.output."},
          {R"(\.mlp\.(0|linear_1)\.)", ".feed_forward.inner."},
          {R"(\.mlp\.(3|linear_2)\.)", ".feed_forward.outer."},
          {R"(^heads\.head\.)", "head."},
          // These are timm's names.
          {R"(^cls_token$)", "token"},
          {R"(^patch_embed\.proj\.)", "patches."},
          {R"(^pos_embed$)", "positions"},
          {R"(^blocks\.)", "encoder.blocks."},
          {R"(^norm\.)", "encoder.norm."},
          {R"(\.norm1\.)", ".attention_norm."},
          {R"(\.norm2\.)", ".feed_forward_norm."},
          {R"(\.attn\.proj\.)", ".attention.output."},
          {R"(\.mlp\.fc1\.)", ".feed_forward.inner."},
          {R"(\.mlp\.fc2\.)", ".feed_forward.outer."}};
}

template <class Model>
LoadReport load_renamed(Model& model, const std::string& path, std::vector<Rename> names, LoadOptions& options) {
  options.rename.insert(options.rename.begin(), std::make_move_iterator(names.begin()),
                        std::make_move_iterator(names.end()));
  options.except = options.except || "**.num_batches_tracked";  // PyTorch's batch norms count these
  return load(model, path, options);
}

}  // namespace

LoadReport load_torchvision(ResNet& model, const std::string& path, LoadOptions options) {
  return load_renamed(model, path, resnet_names(), options);
}

LoadReport load_torchvision(MobileNetV2& model, const std::string& path, LoadOptions options) {
  return load_renamed(model, path, mobilenet_v2_names(model.blocks), options);
}

LoadReport load_torchvision(Vgg& model, const std::string& path, LoadOptions options) {
  std::vector<Rename> names = vgg_names(model.features, R"(features\.)", "features.");
  names.push_back({R"(^classifier\.0\.)", "hidden1."});
  names.push_back({R"(^classifier\.3\.)", "hidden2."});
  names.push_back({R"(^classifier\.6\.)", "head."});
  return load_renamed(model, path, std::move(names), options);
}

LoadReport load_torchvision(VggFeatures& model, const std::string& path, LoadOptions options) {
  options.under += options.under.empty() ? "features" : ".features";
  return load_renamed(model, path, vgg_names(model, "", ""), options);
}

LoadReport load_torchvision(VisionTransformer& model, const std::string& path, LoadOptions options) {
  const std::vector<TensorSplit> parts = vision_transformer_parts();
  options.split.insert(options.split.begin(), parts.begin(), parts.end());
  return load_renamed(model, path, vision_transformer_names(), options);
}

LoadReport load_torchvision(AlexNet& model, const std::string& path, LoadOptions options) {
  std::vector<Rename> names = alexnet_names(R"(features\.)", "features.");
  names.push_back({R"(^classifier\.1\.)", "hidden1."});
  names.push_back({R"(^classifier\.4\.)", "hidden2."});
  names.push_back({R"(^classifier\.6\.)", "head."});
  return load_renamed(model, path, std::move(names), options);
}

LoadReport load_torchvision(AlexNetFeatures& model, const std::string& path, LoadOptions options) {
  options.under += options.under.empty() ? "features" : ".features";
  return load_renamed(model, path, alexnet_names("", ""), options);
}

LoadReport load_torchvision(SqueezeNet& model, const std::string& path, LoadOptions options) {
  std::vector<Rename> names = squeezenet_names(model.features, R"(features\.)", "features.");
  names.push_back({R"(^classifier\.1\.)", "head."});
  return load_renamed(model, path, std::move(names), options);
}

LoadReport load_torchvision(SqueezeNetFeatures& model, const std::string& path, LoadOptions options) {
  options.under += options.under.empty() ? "features" : ".features";
  return load_renamed(model, path, squeezenet_names(model, "", ""), options);
}

LoadReport load_torchvision(InceptionV3& model, const std::string& path, LoadOptions options) {
  options.except = options.except || "AuxLogits.**";
  return load_renamed(model, path, inception_v3_names(), options);
}

}  // namespace kiln::models
