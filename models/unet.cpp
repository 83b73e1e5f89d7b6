#include "models/unet.hpp"

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

UNet::Block block_of(std::int64_t in, std::int64_t out, const Device& device) {
  return {.conv1 = NormedConvConfig{.in = in, .out = out}.init(device),
          .conv2 = NormedConvConfig{.in = out, .out = out}.init(device)};
}

}  // namespace

Tensor<4> UNet::Block::forward(const Tensor<4>& x) const { return conv2.forward(conv1.forward(x).relu()).relu(); }

Tensor<4> UNet::forward(const Tensor<4>& images) const {
  require_images("UNet", images, down.at(0).conv1.conv.weight.dim(1));
  const std::int64_t step = std::int64_t{1} << up.size();
  require<ShapeError>(images.dim(2) % step == 0 && images.dim(3) % step == 0, "UNet: height and width of ", images,
                      " must be multiples of ", step, ", as they are halved ", up.size(), " times");
  std::vector<Tensor<4>> skips;  // the outputs of `down`, at each size
  Tensor<4> x = down[0].forward(images);
  for (std::size_t i = 0; i < up.size(); ++i) {
    skips.push_back(x);
    x = down[i + 1].forward(max_pool(x, {.kernel = {2, 2}, .stride = {2, 2}}));
  }
  for (std::size_t i = up.size(); i-- > 0;) x = merge[i].forward(cat({skips[i], up[i].forward(x)}, 1));
  return head.forward(x);
}

UNet UNetConfig::init(const Device& device) const {
  require_size("UNetConfig", "channels", channels);
  require_size("UNetConfig", "classes", classes);
  require_size("UNetConfig", "width", width);
  require<ArgumentError>(depth > 0 && depth <= 10, "UNetConfig: depth = ", depth, " must lie between 1 and 10");
  UNet net;
  net.down.push_back(block_of(channels, width, device));
  for (std::int64_t i = 0, at = width; i < depth; ++i, at *= 2) {
    net.down.push_back(block_of(at, 2 * at, device));
    net.up.push_back(nn::ConvTranspose2dConfig{.in = 2 * at, .out = at, .kernel = {2}, .stride = {2}}.init(device));
    net.merge.push_back(block_of(2 * at, at, device));
  }
  net.head = nn::Conv2dConfig{.in = width, .out = classes, .kernel = {1}}.init(device);
  return net;
}

}  // namespace kiln::models
