#include "models/wgan.hpp"

#include "kiln/nn/activation/activation.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/gradient.hpp"
#include "models/images.hpp"

namespace kiln::models {
namespace {

constexpr nn::LeakyRelu kLeaky{.slope = 0.2};

void require_side(std::string_view config, std::int64_t side) {
  require_size(config, "side", side);
  require<ArgumentError>(side % 4 == 0, config, ": side = ", side, " must be a multiple of 4");
}

}  // namespace

Tensor<4> Generator::forward(const Tensor<2>& noise) const {
  const Tensor<4> quarter = seed.forward(noise).reshape(noise.dim(0), -1, side / 4, side / 4);
  const Tensor<4> half = grow1.forward(norm1.forward(quarter).relu());
  return grow2.forward(norm2.forward(half).relu()).sigmoid();
}

Generator GeneratorConfig::init(const Device& device) const {
  require_side("GeneratorConfig", side);
  require_size("GeneratorConfig", "latent", latent);
  require_size("GeneratorConfig", "width", width);
  const auto grow = [&](std::int64_t in, std::int64_t out) {
    return nn::ConvTranspose2dConfig{.in = in, .out = out, .kernel = {4}, .stride = {2}, .padding = {1}}.init(device);
  };
  return {.seed = nn::LinearConfig{.in = latent, .out = 2 * width * (side / 4) * (side / 4)}.init(device),
          .norm1 = nn::BatchNormConfig{.channels = 2 * width}.init(device),
          .grow1 = grow(2 * width, width),
          .norm2 = nn::BatchNormConfig{.channels = width}.init(device),
          .grow2 = grow(width, 1),
          .side = side};
}

Tensor<1> Critic::forward(const Tensor<4>& images) const {
  require_images("Critic", images, 1);
  require<ShapeError>(images.dim(2) == side && images.dim(3) == side, "Critic: images must be ", side, " x ", side,
                      ", got ", images);
  const Tensor<4> x = kLeaky.forward(conv2.forward(kLeaky.forward(conv1.forward(images))));
  return head.forward(x.flatten<1>()).squeeze(1);
}

Critic CriticConfig::init(const Device& device) const {
  require_side("CriticConfig", side);
  require_size("CriticConfig", "width", width);
  const auto shrink = [&](std::int64_t in, std::int64_t out) {
    return nn::Conv2dConfig{.in = in, .out = out, .kernel = {4}, .stride = {2}, .padding = {1}}.init(device);
  };
  return {.conv1 = shrink(1, width),
          .conv2 = shrink(width, 2 * width),
          .head = nn::LinearConfig{.in = 2 * width * (side / 4) * (side / 4), .out = 1}.init(device),
          .side = side};
}

Tensor<0> critic_gap(const Critic& critic, const Tensor<4>& real, const Tensor<4>& fake) {
  return critic.forward(real).mean() - critic.forward(fake).mean();
}

Tensor<0> gradient_penalty(const Critic& critic, const Tensor<4>& real, const Tensor<4>& fake, const Tensor<1>& share) {
  const Tensor<4> t = share.reshape(-1, 1, 1, 1);
  const Tensor<4> between = (real * t + fake * (1 - t)).detach().require_grad();
  const Tensor<4> slope = grad(critic.forward(between), between, {.create_graph = true});
  const Tensor<1> length = (slope.square().sum(1, 2, 3) + 1e-12).sqrt();  // the root has no gradient at 0
  return (length - 1).square().mean();
}

}  // namespace kiln::models
