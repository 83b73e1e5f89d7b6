#include "models/detection/yolox.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/resample.hpp"

namespace kiln::models {
namespace {

constexpr std::int64_t kLargestStride = 32;

Tensor<4> twice(const Tensor<4>& x) { return interpolate(x, {.scale = {2, 2}}); }

/// Before training each cell holds an object with this probability, so that the many empty ones are not all wrong (Lin et
/// al., "Focal loss for dense object detection", 2017).
constexpr double kPrior = 0.01;

nn::Conv2d prediction_of(std::int64_t in, std::int64_t out, const Device& device) {
  return nn::Conv2dConfig{.in = in, .out = out, .kernel = {1}}.init(device);
}

nn::Conv2d with_prior(nn::Conv2d conv) {
  const double logit = std::log(kPrior / (1 - kPrior));
  conv.bias = conv.bias.with_value(Value(full_like(conv.bias.value().detach(), logit)));
  return conv;
}

}  // namespace

std::vector<YoloxCells::Cell> YoloxCells::list() const {
  std::vector<Cell> cells;
  for (const std::int64_t stride : kStrides)
    for (std::int64_t row = 0; row < height / stride; ++row)
      for (std::int64_t column = 0; column < width / stride; ++column)
        cells.push_back({static_cast<float>(column), static_cast<float>(row), static_cast<float>(stride)});
  return cells;
}

YoloxCells::Tensors YoloxCells::tensors(const Device& device) const {
  const std::vector<Cell> cells = list();
  const auto count = std::ssize(cells);
  TensorData places({count, 2}, DType::F32), strides({count, 1}, DType::F32);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    places.as<float>()[2 * i] = cells[i].column;
    places.as<float>()[2 * i + 1] = cells[i].row;
    strides.as<float>()[i] = cells[i].stride;
  }
  return {Tensor<2>::from_data(std::move(places), device), Tensor<2>::from_data(std::move(strides), device)};
}

Tensor<3> YoloxOutput::boxes() const {
  const auto [places, strides] = cells.tensors(raw.device().inner());
  const Tensor<3> middle = (raw.narrow(2, 0, 2) + places.unsqueeze(0)) * strides.unsqueeze(0);
  const Tensor<3> half = raw.narrow(2, 2, 2).exp() * strides.unsqueeze(0) * 0.5;
  return cat({middle - half, middle + half}, 2);
}

Tensor<3> YoloxOutput::scores() const { return raw.narrow(2, 5, classes()).sigmoid() * raw.narrow(2, 4, 1).sigmoid(); }

std::vector<Tensor<4>> PathAggregation::forward(const std::vector<Tensor<4>>& levels) const {
  std::vector<Tensor<4>> narrowed;  // by `up`, the smallest map first
  Tensor<4> x = levels.back();
  for (std::size_t i = 0; i < up.size(); ++i) {
    narrowed.push_back(up[i].conv.forward(x));
    x = up[i].layer.forward(cat({twice(narrowed[i]), levels[levels.size() - 2 - i]}, 1));
  }
  std::vector<Tensor<4>> results = {x};
  for (std::size_t i = 0; i < down.size(); ++i) {
    x = down[i].conv.forward(x);
    results.push_back(x = down[i].layer.forward(cat({x, narrowed[narrowed.size() - 1 - i]}, 1)));
  }
  return results;
}

Tensor<3> Yolox::Head::forward(const Tensor<4>& x) const {
  const Tensor<4> shared = stem.forward(x);
  Tensor<4> of_class = shared, of_box = shared;
  for (const DarknetConv& conv : class_convs) of_class = conv.forward(of_class);
  for (const DarknetConv& conv : box_convs) of_box = conv.forward(of_box);
  return cat({boxes.forward(of_box), objectness.forward(of_box), classes.forward(of_class)}, 1)
      .flatten<2, 3>()
      .transpose(1, 2);
}

YoloxOutput Yolox::forward(const Tensor<4>& images) const {
  require_images("Yolox", images, backbone.stem.conv.weight.dim(1) / 4);
  require<ShapeError>(images.dim(0) > 0, "Yolox: a batch needs at least one image, got ", images);
  require<ShapeError>(images.dim(2) % kLargestStride == 0 && images.dim(3) % kLargestStride == 0,
                      "Yolox: height and width of ", images, " must be multiples of ", kLargestStride,
                      "; letterboxed() brings pictures to such a size");
  const std::vector<Tensor<4>> levels = neck.forward(backbone.forward(images));
  std::vector<Tensor<3>> parts;
  for (std::size_t i = 0; i < heads.size(); ++i) parts.push_back(heads[i].forward(levels[i]));
  return {cat(parts, 1), {images.dim(2), images.dim(3)}};
}

namespace {

PathAggregation neck_of(const YoloxConfig& c, std::int64_t width, std::int64_t blocks, const Device& device) {
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return CspLayerConfig{
        .in = in, .out = out, .blocks = blocks, .residual = false, .depthwise = c.depthwise, .momentum = c.momentum}
        .init(device);
  };
  PathAggregation neck;
  for (std::int64_t in = 16 * width; in > 4 * width; in /= 2) {
    const DarknetConvConfig narrow{.in = in, .out = in / 2, .kernel = 1, .momentum = c.momentum};
    neck.up.push_back({narrow.init(device), layer(in, in / 2)});
  }
  for (std::int64_t in = 4 * width; in < 16 * width; in *= 2) {
    const DarknetConvConfig shrink{.in = in, .out = in, .stride = 2, .depthwise = c.depthwise, .momentum = c.momentum};
    neck.down.push_back({shrink.init(device), layer(2 * in, 2 * in)});
  }
  return neck;
}

Yolox::Head head_of(const YoloxConfig& c, std::int64_t in, std::int64_t width, const Device& device) {
  const DarknetConvConfig stem{.in = in, .out = width, .kernel = 1, .momentum = c.momentum};
  const DarknetConvConfig conv{.in = width, .out = width, .depthwise = c.depthwise, .momentum = c.momentum};
  Yolox::Head head;
  head.stem = stem.init(device);
  for (auto* const convs : {&head.class_convs, &head.box_convs})
    for (int i = 0; i < 2; ++i) convs->push_back(conv.init(device));
  head.classes = with_prior(prediction_of(width, c.classes, device));
  head.boxes = prediction_of(width, 4, device);
  head.objectness = with_prior(prediction_of(width, 1, device));
  return head;
}

}  // namespace

Yolox YoloxConfig::init(const Device& device) const {
  require_size("YoloxConfig", "classes", classes);
  require<ArgumentError>(std::isfinite(depth) && depth > 0 && depth <= 16, "YoloxConfig: depth = ", depth,
                         " must lie between 0 and 16");
  const auto channels = static_cast<std::int64_t>(std::isfinite(width) && std::abs(width) < 1e4 ? 64 * width : 0);
  require<ArgumentError>(channels >= 2 && channels <= 1024 && channels % 2 == 0, "YoloxConfig: width = ", width,
                         " makes ", channels, " channels of 64; they must be an even number from 2 to 1024");
  // Ties go to the even number, as in the program that saved published weights.
  const auto blocks = std::max<std::int64_t>(1, std::lrint(3 * depth));
  const CspDarknetConfig backbone{.width = channels, .blocks = blocks, .depthwise = depthwise, .momentum = momentum};
  Yolox net;
  net.backbone = backbone.init(device);
  net.neck = neck_of(*this, channels, blocks, device);
  for (std::int64_t in = 4 * channels; in <= 16 * channels; in *= 2)
    net.heads.push_back(head_of(*this, in, 4 * channels, device));
  return net;
}

YoloxConfig yolox(std::string_view name, std::int64_t classes) {
  struct Named {
    std::string_view name;
    double depth, width;
    bool depthwise = false;
  };
  static constexpr Named kNamed[] = {
      {"nano", 1.0 / 3, 0.25, true}, {"tiny", 1.0 / 3, 0.375}, {"s", 1.0 / 3, 0.5}, {"m", 2.0 / 3, 0.75}, {"l", 1, 1},
      {"x", 4.0 / 3, 1.25}};
  const auto* const at = std::ranges::find(kNamed, name, &Named::name);
  require<ArgumentError>(at != std::end(kNamed), "yolox: there is no model '", name,
                         "'; there are nano, tiny, s, m, l and x");
  return {.classes = classes, .depth = at->depth, .width = at->width, .depthwise = at->depthwise};
}

}  // namespace kiln::models
