#include "models/resnet.hpp"

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

struct BlockConfig {
  std::int64_t in, width, stride;
  bool bottleneck;

  std::int64_t out() const { return bottleneck ? 4 * width : width; }

  ResNetBlock init(const Device& device) const {
    ResNetBlock block;
    if (bottleneck) {
      block.conv1 = NormedConvConfig{.in = in, .out = width, .kernel = 1}.init(device);
      block.conv2 = NormedConvConfig{.in = width, .out = width, .stride = stride}.init(device);
      block.conv3 = NormedConvConfig{.in = width, .out = out(), .kernel = 1}.init(device);
    } else {
      block.conv1 = NormedConvConfig{.in = in, .out = width, .stride = stride}.init(device);
      block.conv2 = NormedConvConfig{.in = width, .out = width}.init(device);
    }
    if (stride != 1 || in != out())
      block.shortcut = NormedConvConfig{.in = in, .out = out(), .kernel = 1, .stride = stride}.init(device);
    return block;
  }
};

}  // namespace

Tensor<4> ResNetBlock::forward(const Tensor<4>& x) const {
  Tensor<4> y = conv2.forward(conv1.forward(x).relu());
  if (conv3) y = conv3->forward(y.relu());
  return (y + (shortcut ? shortcut->forward(x) : x)).relu();
}

Tensor<4> ResNet::features(const Tensor<4>& images) const {
  require_images("ResNet", images, stem.conv.weight.dim(1));
  Tensor<4> x = max_pool(stem.forward(images).relu(), {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  for (const auto& stage : stages)
    for (const ResNetBlock& block : stage) x = block.forward(x);
  return x;
}

Tensor<2> ResNet::forward(const Tensor<4>& images) const { return head.forward(features(images).mean(2, 3)); }

ResNet ResNetConfig::init(const Device& device) const {
  require_size("ResNetConfig", "classes", classes);
  require_size("ResNetConfig", "channels", channels);
  require_size("ResNetConfig", "width", width);
  require<ArgumentError>(!blocks.empty() && blocks.size() <= 16, "ResNetConfig: ", blocks.size(),
                         " stages of blocks; there must be 1 to 16");
  ResNet net;
  net.stem = NormedConvConfig{.in = channels, .out = width, .kernel = 7, .stride = 2}.init(device);
  BlockConfig block{.in = width, .width = width, .stride = 1, .bottleneck = bottleneck};
  for (const std::int64_t count : blocks) {
    require_size("ResNetConfig", "blocks of a stage", count);
    auto& stage = net.stages.emplace_back();
    for (std::int64_t i = 0; i < count; ++i) {
      stage.push_back(block.init(device));
      block.in = block.out();
      block.stride = 1;
    }
    block.width *= 2;
    block.stride = 2;
  }
  net.head = nn::LinearConfig{.in = block.in, .out = classes}.init(device);
  return net;
}

ResNetConfig resnet(int depth) {
  switch (depth) {
    case 18: return {.blocks = {2, 2, 2, 2}};
    case 34: return {.blocks = {3, 4, 6, 3}};
    case 50: return {.blocks = {3, 4, 6, 3}, .bottleneck = true};
    default: fail<ArgumentError>("resnet: there is no ResNet-", depth, " here; there are ResNet-18, -34 and -50");
  }
}

}  // namespace kiln::models
