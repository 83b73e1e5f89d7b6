// Perceptual distances of images, by the features of a network. The network is the user's: comparable figures need the
// published one with its weights. The functions work on tensors, so they can be losses as well.
#pragma once
#include <vector>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The features of a batch of images in the layers of a network: [batch, channels, height, width] each.
using FeatureMaps = std::vector<Tensor<4>>;
/// A number for each channel of each layer.
using ChannelWeights = std::vector<Tensor<1>>;

/// Zhang, Isola, Efros, Shechtman, Wang, "The unreasonable effectiveness of deep features as a perceptual metric",
/// 2018: each pixel of the maps is scaled to a unit vector; squared differences are weighted by channel, averaged over
/// the pixels and summed over the layers. -> [batch]. Throws ShapeError.
Tensor<1> lpips(const FeatureMaps& a, const FeatureMaps& b, const ChannelWeights& weights);

/// Ding, Ma, Wang, Simoncelli, "Image quality assessment: unifying structure and texture similarity", 2020: 1 minus the
/// weighted similarities of the channels' means (alpha) and deviations (beta), with weights that are scaled to sum to
/// 1. The first map is the image itself. -> [batch]. Throws ShapeError.
Tensor<1> dists(const FeatureMaps& a, const FeatureMaps& b, const ChannelWeights& alpha, const ChannelWeights& beta);

/// The mean over images. In a Learner it is fed by a function: metric(Lpips{}, "lpips", [net](Lpips& m, const Output&
/// o) { m.update(net(o.predictions), net(o.targets), weights); }).
struct Lpips {
  Total sum{}, count{};
  void update(const FeatureMaps& made, const FeatureMaps& right, const ChannelWeights& weights);
  double value() const { return mean("lpips", sum, count); }
};
struct Dists {
  Total sum{}, count{};
  void update(const FeatureMaps& made, const FeatureMaps& right, const ChannelWeights& alpha,
              const ChannelWeights& beta);
  double value() const { return mean("dists", sum, count); }
};

}  // namespace kiln::metric
