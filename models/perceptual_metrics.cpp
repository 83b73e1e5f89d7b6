#include "models/perceptual_metrics.hpp"

#include <array>

#include "kiln/nn/module/freeze.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/conv.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/resample.hpp"

namespace kiln::models {
namespace {

constexpr std::size_t kVggStages = 5;
constexpr std::int64_t kFidSide = 299;

/// (images - mean) / deviation by channel.
Tensor<4> lpips_normalised(const Tensor<4>& images, const std::array<double, 3>& mean,
                           const std::array<double, 3>& deviation) {
  const auto by_channel = [&](const std::array<double, 3>& numbers) {
    const Value values =
        from_data(TensorData::of<double>({1, 3, 1, 1}, {numbers.begin(), numbers.end()}), images.device().inner());
    return cast(values, images.dtype());
  };
  return Typed{(images.value() - by_channel(mean)) / by_channel(deviation)};
}

/// LPIPS takes images from -1 to 1, and normalises them by these.
Tensor<4> for_lpips(const Tensor<4>& images) {
  require_images("LPIPS", images, 3);
  return lpips_normalised(images, {-0.030, -0.088, -0.188}, {0.458, 0.448, 0.450});
}

void require_vgg16(std::string_view name, const VggFeatures& network) {
  require<ArgumentError>(network.stages.size() == kVggStages, name, ": the network has ", network.stages.size(),
                         " stages; VGG-16 has ", kVggStages);
}

LpipsWeights ones_for(const std::vector<std::int64_t>& channels, const Device& device) {
  LpipsWeights weights;
  for (const std::int64_t count : channels)
    weights.push_back(nn::Param<4>(ones({1, count, 1, 1}, device)).with_frozen(true));
  return weights;
}

std::vector<std::int64_t> stage_widths(const VggFeatures& network) {
  std::vector<std::int64_t> widths;
  for (const auto& stage : network.stages) widths.push_back(stage.back().weight.dim(0));
  return widths;
}

/// The root of a weighted mean of the squares of 3x3 pixels, at every second place; the weights are Hann's window.
Tensor<4> l2_pool(const Tensor<4>& x) {
  const std::int64_t channels = x.dim(1);
  const std::vector<double> window = {1, 2, 1, 2, 4, 2, 1, 2, 1};
  std::vector<double> filters;
  for (std::int64_t i = 0; i < channels; ++i)
    for (const double weight : window) filters.push_back(weight / 16);
  const Value filter =
      cast(from_data(TensorData::of<double>({channels, 1, 3, 3}, filters), x.device().inner()), x.dtype());
  const Value sums = conv(x.value() * x.value(), filter, {}, {.stride = {2, 2}, .padding = {1, 1}, .groups = channels});
  return Typed{sqrt(sums + 1e-12)};
}

metric::ChannelWeights split_weights(const nn::Param<4>& weights, const metric::FeatureMaps& maps) {
  const Tensor<1> all = weights.flatten();
  metric::ChannelWeights parts;
  std::int64_t begin = 0;
  for (const Tensor<4>& map : maps) {
    parts.push_back(all.narrow(0, begin, map.dim(1)));
    begin += map.dim(1);
  }
  return parts;
}

}  // namespace

metric::FeatureMaps lpips_maps(const AlexNetFeatures& network, const Tensor<4>& images) {
  return network.layers(for_lpips(images));
}

metric::FeatureMaps lpips_maps(const VggFeatures& network, const Tensor<4>& images) {
  require_vgg16("LPIPS", network);
  metric::FeatureMaps maps;
  for (auto& stage : network.layers(for_lpips(images), kVggStages)) maps.push_back(std::move(stage.back()));
  return maps;
}

metric::FeatureMaps lpips_maps(const SqueezeNetFeatures& network, const Tensor<4>& images) {
  require<ArgumentError>(network.fires.size() == 8, "LPIPS: the network has ", network.fires.size(),
                         " fires; SqueezeNet 1.1 has 8");
  const std::vector<Tensor<4>> all = network.layers(for_lpips(images));
  return {all[0], all[2], all[4], all[5], all[6], all[7], all[8]};
}

metric::ChannelWeights channel_weights(const LpipsWeights& weights) {
  metric::ChannelWeights flat;
  for (const nn::Param<4>& layer : weights) flat.push_back(layer.flatten());
  return flat;
}

LpipsNet<AlexNetFeatures> lpips_alexnet(const Device& device, const AlexNetFeaturesConfig& config) {
  return {freeze(config.init(device)), ones_for({config.widths.begin(), config.widths.end()}, device)};
}

LpipsNet<SqueezeNetFeatures> lpips_squeezenet(const Device& device, const SqueezeNetFeaturesConfig& config) {
  require<ArgumentError>(config.fires.size() == 8, "lpips_squeezenet: ", config.fires.size(),
                         " fires; SqueezeNet 1.1 has 8");
  std::vector<std::int64_t> widths = {config.stem};
  for (const std::size_t fire : {1, 3, 4, 5, 6, 7}) widths.push_back(2 * config.fires[fire].expand);
  return {freeze(config.init(device)), ones_for(widths, device)};
}

LpipsNet<VggFeatures> lpips_vgg(const Device& device, const VggFeaturesConfig& config) {
  VggFeatures network = freeze(config.init(device));
  require_vgg16("lpips_vgg", network);
  LpipsWeights weights = ones_for(stage_widths(network), device);
  return {std::move(network), std::move(weights)};
}

LoadReport load_lpips(LpipsWeights& weights, const std::string& path) {
  return load(weights, path, {.rename = {{R"(^lin(\d+)\.model\.1\.weight$)", "$1"}}});
}

metric::FeatureMaps DistsNet::maps(const Tensor<4>& images) const {
  require_images("DISTS", images, 3);
  require_vgg16("DISTS", network);
  metric::FeatureMaps maps = {images};
  Tensor<4> x = lpips_normalised(images, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  for (std::size_t i = 0; i < network.stages.size(); ++i) {
    if (i) x = l2_pool(x);
    for (const nn::Conv2d& conv : network.stages[i]) x = conv.forward(x).relu();
    maps.push_back(x);
  }
  return maps;
}

Tensor<1> DistsNet::forward_each(const Tensor<4>& a, const Tensor<4>& b) const {
  const metric::FeatureMaps own = maps(a);
  return metric::dists(own, maps(b), split_weights(alpha, own), split_weights(beta, own));
}

void DistsNet::add(metric::Dists& to, const Tensor<4>& made, const Tensor<4>& right) const {
  const NoGrad pause;
  const metric::FeatureMaps own = maps(made);
  to.update(own, maps(right), split_weights(alpha, own), split_weights(beta, own));
}

DistsNet dists_vgg(const Device& device, const VggFeaturesConfig& config) {
  VggFeatures network = freeze(config.init(device));
  require_vgg16("dists_vgg", network);
  std::int64_t channels = config.channels;
  for (const std::int64_t width : stage_widths(network)) channels += width;
  const auto equal = [&] { return nn::Param<4>(ones({1, channels, 1, 1}, device)).with_frozen(true); };
  return {std::move(network), equal(), equal()};
}

LoadReport load_dists(DistsNet& net, const std::string& path) { return load(net, path, {.only = "{alpha,beta}"}); }

Tensor<2> fid_features(const InceptionV3& network, const Tensor<4>& images) {
  require_images("fid_features", images, 3);
  require<ArgumentError>(network.stem.at(0).norm.mode == nn::Mode::Valid,
                         "fid_features: the network is in training mode, in which figures depend on the batch; call "
                         "valid(network)");
  const Tensor<4> scaled =
      interpolate(images, {.size = {kFidSide, kFidSide}, .mode = Interpolation::Linear, .align_corners = false});
  return network.features(scaled * 2 - 1);
}

void add(metric::FrechetDistance& to, const InceptionV3& network, const Tensor<4>& made, const Tensor<4>& real) {
  const NoGrad pause;
  const Tensor<2> of_made = fid_features(network, made);
  to.update(of_made, fid_features(network, real));
}

}  // namespace kiln::models
