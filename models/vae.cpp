#include "models/vae.hpp"

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/loss.hpp"
#include "models/images.hpp"

namespace kiln::models {

Tensor<2> Posterior::sample(const Tensor<2>& noise) const { return mean + (log_variance * 0.5).exp() * noise; }

Tensor<1> Posterior::divergence() const {
  return ((mean.square() + log_variance.exp() - log_variance - 1) * 0.5).sum(1);
}

Posterior Vae::encode(const Tensor<3>& images) const {
  require<ShapeError>(images.dim(1) == height && images.dim(2) == width, "Vae: images must be [batch, ", height, ", ",
                      width, "], got ", images);
  const Tensor<2> hidden = encoder.forward(images.flatten<1>()).relu();
  return {.mean = mean.forward(hidden), .log_variance = log_variance.forward(hidden)};
}

Tensor<3> Vae::decode(const Tensor<2>& latent) const {
  return pixels.forward(decoder.forward(latent).relu()).reshape(latent.dim(0), height, width);
}

Tensor<1> Vae::bound(const Tensor<3>& images, const Tensor<2>& noise) const {
  const Posterior posterior = encode(images);
  const Tensor<3> logits = decode(posterior.sample(noise));
  return binary_cross_entropy_with_logits<Reduction::None>(logits, images).sum(1, 2) + posterior.divergence();
}

Vae VaeConfig::init(const Device& device) const {
  require_size("VaeConfig", "height", height);
  require_size("VaeConfig", "width", width);
  require_size("VaeConfig", "hidden", hidden);
  require_size("VaeConfig", "latent", latent);
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return nn::LinearConfig{.in = in, .out = out}.init(device);
  };
  return {.encoder = layer(height * width, hidden),
          .mean = layer(hidden, latent),
          .log_variance = layer(hidden, latent),
          .decoder = layer(latent, hidden),
          .pixels = layer(hidden, height * width),
          .height = height,
          .width = width};
}

}  // namespace kiln::models
