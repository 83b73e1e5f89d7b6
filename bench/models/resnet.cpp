#include "bench/models/resnet.hpp"

namespace models {
namespace {

struct NormedConvConfig {
  std::int64_t in, out, kernel, stride = 1;

  NormedConv init(const Device& device) const {
    return {nn::Conv2dConfig{
                .in = in, .out = out, .kernel = {kernel}, .stride = {stride}, .padding = {kernel / 2}, .bias = false}
                .init(device),
            nn::BatchNormConfig{.channels = out}.init(device)};
  }
};

struct BottleneckConfig {
  std::int64_t in, width, stride;

  Bottleneck init(const Device& device) const {
    const std::int64_t out = 4 * width;
    Bottleneck block{.reduce = NormedConvConfig{in, width, 1}.init(device),
                     .spatial = NormedConvConfig{width, width, 3, stride}.init(device),
                     .restore = NormedConvConfig{width, out, 1}.init(device),
                     .shortcut = {}};
    if (stride > 1 || in != out) block.shortcut = NormedConvConfig{in, out, 1, stride}.init(device);
    return block;
  }
};

}  // namespace

Tensor<4> Bottleneck::forward(const Tensor<4>& x) const {
  const Tensor<4> y = restore.forward(spatial.forward(reduce.forward(x).relu()).relu());
  return (y + (shortcut ? shortcut->forward(x) : x)).relu();
}

Tensor<2> ResNet::forward(const Tensor<4>& images) const {
  Tensor<4> x = pool.forward(stem.forward(images).relu());
  for (const Bottleneck& block : blocks) x = block.forward(x);
  return head.forward(average.forward(x).flatten<1>());
}

ResNet ResNet50Config::init(const Device& device) const {
  ResNet net{.stem = NormedConvConfig{3, 64, 7, 2}.init(device),
             .pool = {.kernel = {3}, .stride = {2}, .padding = {1}},
             .blocks = {},
             .average = {.sizes = {1}},
             .head = nn::LinearConfig{.in = 2048, .out = classes}.init(device)};
  struct Stage {
    std::int64_t width, blocks, stride;
  };
  std::int64_t channels = 64;
  for (const auto& [width, blocks, stride] : {Stage{64, 3, 1}, Stage{128, 4, 2}, Stage{256, 6, 2}, Stage{512, 3, 2}})
    for (std::int64_t i = 0; i < blocks; ++i) {
      net.blocks.push_back(BottleneckConfig{channels, width, i == 0 ? stride : 1}.init(device));
      channels = 4 * width;
    }
  return net;
}

}  // namespace models
