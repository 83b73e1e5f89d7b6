// The networks of the metrics that compare images by what a network sees in them: kiln::metric::Lpips, Dists and
// FrechetDistance. Published weights are the user's to bring: load_torchvision() for the networks, load_lpips() and
// load_dists() for what is weighed; without them the figures compare with nobody's.
#pragma once
#include <string>
#include <vector>

#include "kiln/train/metric/frechet.hpp"
#include "kiln/train/metric/perceptual.hpp"
#include "models/alexnet.hpp"
#include "models/inception_v3.hpp"
#include "models/squeezenet.hpp"
#include "models/torchvision.hpp"

namespace kiln::models {

// The maps that LPIPS compares: the five relus of AlexNet, relu1_2, 2_2, 3_3, 4_3 and 5_3 of VGG-16, the stem and fires
// 3, 5, 6, 7, 8 and 9 of SqueezeNet 1.1, which are counted from 2. images [batch, 3, height, width] from -1 to 1.
metric::FeatureMaps lpips_maps(const AlexNetFeatures& network, const Tensor<4>& images);
metric::FeatureMaps lpips_maps(const VggFeatures& network, const Tensor<4>& images);
metric::FeatureMaps lpips_maps(const SqueezeNetFeatures& network, const Tensor<4>& images);

/// The published linear layers' weights, each [1, channels, 1, 1].
using LpipsWeights = std::vector<nn::Param<4>>;
metric::ChannelWeights channel_weights(const LpipsWeights& weights);

/// Zhang et al. 2018, with Network AlexNetFeatures, VggFeatures or SqueezeNetFeatures; frozen.
template <class Network>
struct LpipsNet {
  Network network;
  LpipsWeights weights;  // 1 until load_lpips()

  /// a, b [batch, 3, height, width] of numbers from -1 to 1 -> [batch]; gradients flow to the images. Throws ShapeError.
  Tensor<1> forward_each(const Tensor<4>& a, const Tensor<4>& b) const {
    return metric::lpips(lpips_maps(network, a), lpips_maps(network, b), channel_weights(weights));
  }
  /// metric(metric::Lpips{}, "lpips", [net](metric::Lpips& m, const Output& o) { net.add(m, o.images, o.targets); })
  void add(metric::Lpips& to, const Tensor<4>& made, const Tensor<4>& right) const {
    to.update(lpips_maps(network, made), lpips_maps(network, right), channel_weights(weights));
  }
};

LpipsNet<AlexNetFeatures> lpips_alexnet(const Device& device, const AlexNetFeaturesConfig& config = {});
LpipsNet<SqueezeNetFeatures> lpips_squeezenet(const Device& device, const SqueezeNetFeaturesConfig& config = {});
LpipsNet<VggFeatures> lpips_vgg(const Device& device, const VggFeaturesConfig& config = vgg(16).features);

/// Loads the linear layers by their published names, `lin0.model.1.weight` of [1, 64, 1, 1] and so on ("alex.pth",
/// "squeeze.pth", "vgg.pth" of version 0.1). Throws IoError, DataError, or a LoadError that names every mismatch; the
/// weights are unchanged then.
LoadReport load_lpips(LpipsWeights& weights, const std::string& path);

/// Ding et al. 2020: VGG-16 that pools by the root of the mean of squares, and weights of the image's channels and of
/// those of relu1_2, 2_2, 3_3, 4_3 and 5_3; frozen.
struct DistsNet {
  VggFeatures network;
  nn::Param<4> alpha, beta;  // [1, channels of all maps together, 1, 1]; equal until load_dists()

  /// images [batch, 3, height, width] of numbers from 0 to 1 -> the image and five maps. Throws ShapeError.
  metric::FeatureMaps maps(const Tensor<4>& images) const;
  /// a, b -> [batch]; gradients flow to the images. Throws ShapeError.
  Tensor<1> forward_each(const Tensor<4>& a, const Tensor<4>& b) const;
  void add(metric::Dists& to, const Tensor<4>& made, const Tensor<4>& right) const;
};

DistsNet dists_vgg(const Device& device, const VggFeaturesConfig& config = vgg(16).features);
/// Loads alpha and beta of the published "weights.pt", [1, 1475, 1, 1] each. Throws like load_lpips().
LoadReport load_dists(DistsNet& net, const std::string& path);

/// The features that FID compares: images [batch, 3, height, width] of numbers from 0 to 1 are scaled to 299 x 299
/// (bilinear, without antialiasing, as pytorch-fid does) and to -1 to 1 -> [batch, 2048]. `network` is in Mode::Valid:
/// valid(fid_inception().init(device)). Throws ShapeError.
Tensor<2> fid_features(const InceptionV3& network, const Tensor<4>& images);
/// Adds generated and real images, without a graph.
void add(metric::FrechetDistance& to, const InceptionV3& network, const Tensor<4>& made, const Tensor<4>& real);

}  // namespace kiln::models
