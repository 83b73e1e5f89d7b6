#include "models/detection/detect.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/nn/module.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/vision/boxes.hpp"
#include "kiln/vision/nms.hpp"

namespace kiln::models {
namespace {

constexpr std::uint8_t kGrey = 114;

/// How much a picture is scaled to fit.
double scale_of(const Picture& picture, std::int64_t height, std::int64_t width) {
  return std::min(static_cast<double>(height) / static_cast<double>(picture.height),
                  static_cast<double>(width) / static_cast<double>(picture.width));
}

}  // namespace

std::vector<Detections> detections(const YoloxOutput& output, const DetectOptions& options) {
  const NoGrad pause;
  require<ArgumentError>(options.most >= 0, "detections: most = ", options.most, " must not be negative");
  const std::int64_t batch = output.raw.dim(0), each = output.raw.dim(1);
  const Tensor<3> scores = output.scores();
  const Tensor<1, Int> labels = scores.argmax(2).flatten();
  const Tensor<1> best = scores.max(2).flatten();
  const Tensor<2> boxes = output.boxes().flatten<0, 1>();
  const Tensor<1, Int> picture =
      arange(batch, output.raw.device().inner()).unsqueeze(1).expand(batch, each).flatten() * output.classes();
  const Tensor<1, Int> kept =
      vision::nms(boxes, best, labels + picture, {.overlap = options.overlap, .least_score = options.least_score});
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(batch));
  for (const std::int64_t place : kept.to_vector<std::int64_t>())
    if (auto& of_picture = places[static_cast<std::size_t>(place / each)]; std::ssize(of_picture) < options.most)
      of_picture.push_back(place);
  std::vector<Detections> found;
  for (const auto& of_picture : places) {
    const auto chosen =
        Tensor<1, Int>::from_data(TensorData::of<std::int64_t>({std::ssize(of_picture)}, of_picture), kept.device());
    found.push_back({boxes.select(0, chosen), best.select(0, chosen), labels.select(0, chosen)});
  }
  return found;
}

AnnotatedPicture letterboxed(const AnnotatedPicture& item, std::int64_t height, std::int64_t width) {
  require_sound("letterboxed", item.picture);
  if (item.picture.height == height && item.picture.width == width) return item;
  const double scale = scale_of(item.picture, height, width);
  return moved(item, vision::Transform2D::scaling(scale, scale), height, width, {.fill = kGrey, .least_visible = 0});
}

Detections detect(const Yolox& model, const Picture& picture, const DetectOptions& options) {
  require_sound("detect", picture);
  require<ArgumentError>(options.side > 0 && options.side % 32 == 0 && options.side <= 65536,
                         "detect: side = ", options.side, " must be a multiple of 32");
  const NoGrad pause;
  const AnnotatedPicture seen = letterboxed({.picture = picture}, options.side, options.side);
  const Device device = model.backbone.stem.conv.weight.device().inner();
  const Yolox still = valid(model);
  const auto images = Tensor<4>::from_data(YoloxBatcher{}(std::span(&seen, 1)).images, device);
  Detections found = detections(still.forward(images), options)[0];
  const double scale = scale_of(picture, options.side, options.side);
  found.boxes = vision::clip_boxes(found.boxes / scale, picture.height, picture.width);
  return found;
}

BoxedBatch YoloxBatcher::operator()(std::span<const AnnotatedPicture> pictures) const {
  require<ShapeError>(!pictures.empty(), "YoloxBatcher: a batch needs at least one picture");
  const Picture& first = pictures.front().picture;
  BoxedBatch batch{TensorData({std::ssize(pictures), 3, first.height, first.width}, DType::F32), {}};
  auto out = batch.images.as<float>().begin();
  for (const auto& [picture, boxes, masks, keypoints] : pictures) {
    require_sound("YoloxBatcher", picture);
    require<ShapeError>(picture.channels == 3 && picture.height == first.height && picture.width == first.width,
                        "YoloxBatcher: pictures must be ", first.height, " x ", first.width,
                        " with 3 channels as the first, got ", picture.height, " x ", picture.width, " with ",
                        picture.channels);
    for (const std::size_t channel : {2, 1, 0})
      for (std::size_t at = channel; at < picture.pixels.size(); at += 3) *out++ = picture.pixels[at];
    std::vector<Box>& kept = batch.boxes.emplace_back();
    std::ranges::copy_if(boxes, std::back_inserter(kept),
                         [&](const Box& box) { return box.width >= least_side && box.height >= least_side; });
  }
  return batch;
}

TrueBoxes true_boxes(std::span<const Box> boxes, const Device& device) {
  TensorData corners({std::ssize(boxes), 4}, DType::F32), labels({std::ssize(boxes)}, DType::I64);
  auto corner = corners.as<float>().begin();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    for (const double x : {box.left, box.top, box.left + box.width, box.top + box.height})
      *corner++ = static_cast<float>(x);
    labels.as<std::int64_t>()[i] = box.label;
  }
  return {Tensor<2>::from_data(std::move(corners), device), Tensor<1, Int>::from_data(std::move(labels), device)};
}

}  // namespace kiln::models
