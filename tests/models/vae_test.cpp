#include <gtest/gtest.h>

#include <cmath>

#include "models/vae.hpp"
#include "tests/nn/differences.hpp"

#include "waves.hpp"

namespace kiln::models {
namespace {

using Numbers = std::vector<double>;

/// W x + b of one example.
Numbers linear(const nn::Linear& layer, const Numbers& x) {
  const Numbers weight = layer.weight.to_vector<double>();
  Numbers y = layer.bias.to_vector<double>();
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += weight[i * x.size() + j] * x[j];
  return y;
}

Numbers rectified(Numbers x) {
  for (double& each : x) each = std::max(each, 0.0);
  return x;
}

/// Kingma and Welling's bound, term by term: -log p(image | latent) by Bernoulli distributions, and the divergence of
/// normal distributions (their appendix B), both in float64.
double bound(const Vae& model, const Numbers& image, const Numbers& noise) {
  const Numbers hidden = rectified(linear(model.encoder, image));
  const Numbers mean = linear(model.mean, hidden), log_variance = linear(model.log_variance, hidden);
  double nats = 0;
  Numbers latent;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double variance = std::exp(log_variance[i]);
    latent.push_back(mean[i] + std::sqrt(variance) * noise[i]);
    nats -= 0.5 * (1 + std::log(variance) - mean[i] * mean[i] - variance);
  }
  const Numbers logits = linear(model.pixels, rectified(linear(model.decoder, latent)));
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double ink = 1 / (1 + std::exp(-logits[i]));
    nats -= image[i] * std::log(ink) + (1 - image[i]) * std::log(1 - ink);
  }
  return nats;
}

const VaeConfig kSmall{.height = 4, .width = 5, .hidden = 7, .latent = 3};

TEST(Vae, ItsBoundIsThatOfThePaper) {
  const auto model = filled(kSmall.init(Device::cpu().autodiff()));
  const Tensor<3> images = wave_tensor<3>("images", {6, 4, 5}, 0.5, 0.5);
  const Tensor<2> noise = wave_tensor<2>("noise", {6, 3}, 1.5);
  Numbers right;
  for (std::int64_t i = 0; i < 6; ++i)
    right.push_back(bound(model, images(i).flatten().to_vector<double>(), noise(i).to_vector<double>()));
  expect_figures(model.bound(images, noise).to_vector<double>(), right, 1e-5);
}

TEST(Vae, ItsGradientsAreDifferencesOfTheBound) {
  const auto model = filled(kSmall.init(Device::cpu().autodiff()));
  const Tensor<3> images = wave_tensor<3>("images", {2, 4, 5}, 0.5, 0.5).to(DType::F64);
  const Tensor<2> noise = wave_tensor<2>("noise", {2, 3}, 1.5).to(DType::F64);
  expect_right_gradients(model, [&](const Vae& m) { return m.bound(images, noise).sum(); });
}

}  // namespace
}  // namespace kiln::models
