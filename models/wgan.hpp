// Wasserstein GAN with gradient penalty (Gulrajani, Ahmed, Arjovsky, Dumoulin, Courville, "Improved training of
// Wasserstein GANs", 2017): a critic, the norm of whose gradient is kept near 1, estimates the distance between a
// generator's images and real ones.
#pragma once
#include "kiln/nn/linear.hpp"
#include "kiln/nn/norm/batch_norm.hpp"
#include "kiln/nn/spatial/conv.hpp"

namespace kiln::models {

struct Generator {
  nn::Linear seed;
  nn::BatchNorm norm1;
  nn::ConvTranspose2d grow1;
  nn::BatchNorm norm2;
  nn::ConvTranspose2d grow2;
  std::int64_t side = 28;  // height and width of the images

  /// noise [batch, latent] from N(0, 1) -> images [batch, 1, side, side] of numbers from 0 to 1
  Tensor<4> forward(const Tensor<2>& noise) const;
  std::int64_t latent() const { return seed.weight.dim(1); }
};

struct GeneratorConfig {
  std::int64_t side = 28;    // a multiple of 4
  std::int64_t latent = 64;  // number of inputs of the generator
  std::int64_t width = 64;   // channels at half the size; there are twice as many at a quarter

  /// Throws ArgumentError for sizes below 1, or a side that cannot be halved twice.
  Generator init(const Device& device) const;
};

/// It has no batch norm, because the penalty applies to each image separately.
struct Critic {
  nn::Conv2d conv1, conv2;
  nn::Linear head;
  std::int64_t side = 28;

  /// images [batch, 1, side, side] -> [batch], which is greater for images that seem real. Throws ShapeError.
  Tensor<1> forward(const Tensor<4>& images) const;
};

struct CriticConfig {
  std::int64_t side = 28;  // a multiple of 4
  std::int64_t width = 64;

  /// Throws ArgumentError like GeneratorConfig.
  Critic init(const Device& device) const;
};

/// Returns the mean of the critic's output for `real` minus that for `fake`. It grows as the critic learns, up to the
/// Wasserstein distance.
Tensor<0> critic_gap(const Critic& critic, const Tensor<4>& real, const Tensor<4>& fake);

/// Returns the mean of (|slope| - 1)^2, where slope is the critic's gradient with respect to the image at a point
/// between a generated image and a real one: `share` [batch] of the way from the generated image to the real one. It is
/// differentiable in the critic's parameters. Throws AutodiffError if the images are not on an autodiff device.
Tensor<0> gradient_penalty(const Critic& critic, const Tensor<4>& real, const Tensor<4>& fake, const Tensor<1>& share);

}  // namespace kiln::models
