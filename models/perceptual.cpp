#include "models/perceptual.hpp"

#include <algorithm>

#include "kiln/nn/loss/reduced.hpp"
#include "kiln/nn/module/freeze.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::models {
namespace {

using Layers = std::vector<PerceptualLayer>;

void require_layers(const VggFeatures& network, const Layers& layers) {
  for (const auto& [stage, convolution, weight] : layers) {
    const auto count = static_cast<std::int64_t>(network.stages.size());
    const bool has_stage = stage >= 1 && stage <= count;
    const auto convolutions =
        has_stage ? static_cast<std::int64_t>(network.stages[static_cast<std::size_t>(stage - 1)].size()) : 0;
    require<ArgumentError>(has_stage && convolution >= 1 && convolution <= convolutions,
                           "PerceptualLoss: the network has no layer relu", stage, '_', convolution);
  }
}

/// Shapes [channels] numbers so that they broadcast with images.
Value by_channel(const std::vector<double>& numbers, const Value& images) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  require<ShapeError>(images.dim(1) == count, "PerceptualLoss: ", count, " numbers normalise channels of ", images);
  return reshape(cast(from_data(TensorData::of<double>({count}, numbers), images.device().inner()), images.dtype()),
                 {1, count, 1, 1});
}

/// The features of images up to the last stage that one of the layers needs.
class LossFeatures {
 public:
  LossFeatures(const PerceptualLoss& loss, const Tensor<4>& images, std::initializer_list<const Layers*> asked) {
    std::int64_t stages = 0;
    for (const Layers* layers : asked)
      for (const PerceptualLayer& layer : *layers) stages = std::max(stages, layer.stage);
    const Value normalised =
        (images.value() - by_channel(loss.mean, images.value())) / by_channel(loss.deviation, images.value());
    layers_ = loss.network.layers(Tensor<4>(normalised), static_cast<std::size_t>(stages));
  }
  const Value& at(const PerceptualLayer& layer) const {
    return layers_[static_cast<std::size_t>(layer.stage - 1)][static_cast<std::size_t>(layer.convolution - 1)].value();
  }

 private:
  std::vector<std::vector<Tensor<4>>> layers_;
};

/// Returns [batch], the mean over all but the first dimension of the squared difference.
Value each_squared(const Value& a, const Value& b) {
  require<ShapeError>(a.shape() == b.shape(), "PerceptualLoss: ", a.shape(), " and ", b.shape(),
                      " of one layer differ; images must be as many, and of one size where content is compared");
  return mean(flatten(square(a - b), 1, -1), {1});
}

Value look(const PerceptualLoss& loss, const Tensor<4>& x, const Tensor<4>& content, const Tensor<4>& style) {
  require_layers(loss.network, loss.content);
  require_layers(loss.network, loss.style);
  require<ShapeError>(!x.empty() && !content.empty() && !style.empty(), "PerceptualLoss: needs images");
  for (const Tensor<4>* images : {&x, &content, &style})
    require_images("PerceptualLoss", *images, static_cast<std::int64_t>(loss.mean.size()));
  const LossFeatures own(loss, x, {&loss.content, &loss.style});
  const bool one = &content == &style;
  const LossFeatures shown(
      loss, content, one ? std::initializer_list{&loss.content, &loss.style} : std::initializer_list{&loss.content});
  const LossFeatures painted = one ? shown : LossFeatures(loss, style, {&loss.style});
  Value total;
  const auto add = [&](const Value& each, double weight) { total = total ? total + each * weight : each * weight; };
  for (const PerceptualLayer& layer : loss.content) add(each_squared(own.at(layer), shown.at(layer)), layer.weight);
  for (const PerceptualLayer& layer : loss.style)
    add(each_squared(gram_matrix(own.at(layer)), gram_matrix(painted.at(layer))), layer.weight);
  require<ArgumentError>(!total.empty(), "PerceptualLoss: no layer is compared");
  return total;
}

}  // namespace

Tensor<1> PerceptualLoss::forward_each(const Tensor<4>& x, const Tensor<4>& content, const Tensor<4>& style) const {
  return Typed{look(*this, x, content, style)};
}

Tensor<0> PerceptualLoss::forward(const Tensor<4>& x, const Tensor<4>& content, const Tensor<4>& style) const {
  return Typed{reduced(look(*this, x, content, style), nn::to_one_number("PerceptualLoss", reduction))};
}

PerceptualLoss PerceptualLossConfig::init(const Device& device) const {
  const auto channels = static_cast<std::size_t>(std::max<std::int64_t>(network.channels, 0));
  require<ArgumentError>(mean.size() == channels && deviation.size() == channels, "PerceptualLossConfig: ", mean.size(),
                         " means and ", deviation.size(), " deviations for images of ", network.channels, " channels");
  for (const double number : deviation)
    require<ArgumentError>(number > 0, "PerceptualLossConfig: deviations must be positive, got ", number);
  require<ArgumentError>(!content.empty() || !style.empty(), "PerceptualLossConfig: no layer is compared");
  PerceptualLoss loss{freeze(network.init(device)), content, style, mean, deviation, reduction};
  require_layers(loss.network, content);
  require_layers(loss.network, style);
  return loss;
}

}  // namespace kiln::models
