// A variational autoencoder (Kingma, Welling, "Auto-encoding variational Bayes", 2014) of images whose pixels are the
// probabilities of ink.
#pragma once
#include "kiln/nn/linear.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::models {

/// The distribution of an image's latent variables: independent normal distributions.
struct Posterior {
  Tensor<2> mean, log_variance;  // [batch, latent]

  /// Draws a sample that is differentiable in the distribution: mean + deviation * noise, where noise [batch, latent]
  /// is from N(0, 1).
  Tensor<2> sample(const Tensor<2>& noise) const;
  /// Returns the KL divergence of each from N(0, 1), [batch], in nats.
  Tensor<1> divergence() const;
};

struct Vae {
  nn::Linear encoder, mean, log_variance;
  nn::Linear decoder, pixels;
  std::int64_t height = 28, width = 28;

  /// images [batch, height, width] of numbers from 0 to 1. Throws ShapeError.
  Posterior encode(const Tensor<3>& images) const;
  /// latent [batch, latent] -> logits of ink [batch, height, width]
  Tensor<3> decode(const Tensor<2>& latent) const;
  /// Returns the negative evidence lower bound of each image, [batch], in nats, estimated from one sample of its
  /// posterior. Its expectation is at least -log p(image).
  Tensor<1> bound(const Tensor<3>& images, const Tensor<2>& noise) const;

  std::int64_t latent() const { return decoder.weight.dim(1); }
};

struct VaeConfig {
  std::int64_t height = 28, width = 28;
  std::int64_t hidden = 400, latent = 20;

  /// Throws ArgumentError for a size below 1.
  Vae init(const Device& device) const;
};

}  // namespace kiln::models
