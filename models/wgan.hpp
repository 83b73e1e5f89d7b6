// Wasserstein GAN with gradient penalty (Gulrajani, Ahmed, Arjovsky, Dumoulin, Courville, "Improved training of
// Wasserstein GANs", 2017): a critic whose slope is held near 1 says how far what a generator makes lies from real
// images.
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
  std::int64_t latent = 64;  // how many numbers an image is made of
  std::int64_t width = 64;   // channels at half the size; at a quarter there are twice as many

  /// Throws ArgumentError for sizes below 1, or a side that is not halved twice.
  Generator init(const Device& device) const;
};

/// Without batch norm, since the penalty is of each image by itself.
struct Critic {
  nn::Conv2d conv1, conv2;
  nn::Linear head;
  std::int64_t side = 28;

  /// images [batch, 1, side, side] -> [batch], greater for those that seem real. Throws ShapeError.
  Tensor<1> forward(const Tensor<4>& images) const;
};

struct CriticConfig {
  std::int64_t side = 28;  // a multiple of 4
  std::int64_t width = 64;

  /// Throws ArgumentError as GeneratorConfig does.
  Critic init(const Device& device) const;
};

/// How far the critic holds the two apart, which grows as it learns, at most to the Wasserstein distance: the mean of
/// what it says of `real` less that of `fake`.
Tensor<0> critic_gap(const Critic& critic, const Tensor<4>& real, const Tensor<4>& fake);

/// The mean square of |slope| - 1, the slope being the critic's gradient by the image at a point between a real and a
/// made one, `share` [batch] of the way from the made one to the real one. Differentiable in the critic's parameters.
/// The images must be of an autodiff device: AutodiffError.
Tensor<0> gradient_penalty(const Critic& critic, const Tensor<4>& real, const Tensor<4>& fake, const Tensor<1>& share);

}  // namespace kiln::models
