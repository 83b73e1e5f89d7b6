#include "kiln/train/metric/perceptual.hpp"

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/arithmetic.hpp"

namespace kiln::metric {
namespace {

void require_fit(std::string_view name, const FeatureMaps& a, const FeatureMaps& b, const ChannelWeights& weights) {
  require<ShapeError>(!a.empty() && a.size() == b.size() && a.size() == weights.size(), name, ": ", a.size(), " and ",
                      b.size(), " layers, and weights of ", weights.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    require<ShapeError>(a[i].shape() == b[i].shape() && a[i].dim(1) == weights[i].dim(0), name, ": layer ", i,
                        " has maps ", a[i].shape(), " and ", b[i].shape(), ", and weights ", weights[i].shape());
}

/// Scales the vector of each pixel to length 1.
Tensor<4> unit(const Tensor<4>& map) { return map / (map.square().sum(keep, 1) + 1e-8).sqrt(); }

/// The mean over pixels [batch, channels] of a map.
Tensor<2> pixel_mean(const Tensor<4>& map) { return map.flatten<2>().mean(2); }

/// The sum over channels of x [batch, channels] times weights [channels].
Tensor<1> weighted(const Tensor<2>& x, const Tensor<1>& weights) { return (x * weights.unsqueeze(0)).sum(1); }

void add_images(const Tensor<1>& distances, Total& sum, Total& count) {
  sum += distances.sum().item<double>();
  count += static_cast<double>(distances.numel());
}

}  // namespace

Tensor<1> lpips(const FeatureMaps& a, const FeatureMaps& b, const ChannelWeights& weights) {
  require_fit("lpips", a, b, weights);
  Tensor<1> sum = Tensor<1>::zeros({a[0].dim(0)}, a[0].device());
  for (std::size_t i = 0; i < a.size(); ++i)
    sum = sum + weighted(pixel_mean((unit(a[i]) - unit(b[i])).square()), weights[i]);
  return sum;
}

Tensor<1> dists(const FeatureMaps& a, const FeatureMaps& b, const ChannelWeights& alpha, const ChannelWeights& beta) {
  require_fit("dists", a, b, alpha);
  require_fit("dists", a, b, beta);
  constexpr double kSmall = 1e-6;
  Tensor<1> similar = Tensor<1>::zeros({a[0].dim(0)}, a[0].device());
  Tensor<0> weights = Tensor<0>::zeros({}, a[0].device());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Tensor<2> ma = pixel_mean(a[i]), mb = pixel_mean(b[i]);
    const Tensor<2> texture = (ma * mb * 2 + kSmall) / (ma.square() + mb.square() + kSmall);
    const auto apart = [](const Tensor<4>& map, const Tensor<2>& mean) { return map - mean.unsqueeze(2, 3); };
    const Tensor<4> da = apart(a[i], ma), db = apart(b[i], mb);
    const Tensor<2> structure =
        (pixel_mean(da * db) * 2 + kSmall) / (pixel_mean(da.square()) + pixel_mean(db.square()) + kSmall);
    similar = similar + weighted(texture, alpha[i]) + weighted(structure, beta[i]);
    weights = weights + alpha[i].sum() + beta[i].sum();
  }
  return 1 - similar / weights.unsqueeze(0);
}

void Lpips::update(const FeatureMaps& made, const FeatureMaps& right, const ChannelWeights& weights) {
  const NoGrad pause;
  add_images(lpips(made, right, weights), sum, count);
}

void Dists::update(const FeatureMaps& made, const FeatureMaps& right, const ChannelWeights& alpha,
                   const ChannelWeights& beta) {
  const NoGrad pause;
  add_images(dists(made, right, alpha, beta), sum, count);
}

}  // namespace kiln::metric
