// What a detector finds in pictures.
#pragma once
#include <vector>

#include "kiln/data/picture/annotated.hpp"
#include "models/detection/yolox.hpp"

namespace kiln::models {

/// The findings in one picture, the best first.
struct Detections {
  Tensor<2> boxes;        // [found, 4] of x1, y1, x2, y2, in pixels
  Tensor<1> scores;       // [found], 0 to 1
  Tensor<1, Int> labels;  // [found]
};

struct DetectOptions {
  double least_score = 0.25;
  double overlap = 0.45;    // boxes go whose intersection by union with a better one of their class is larger
  std::int64_t most = 100;  // boxes of a picture
  std::int64_t side = 416;  // the picture is brought into a square of so many pixels, a multiple of 32
};

/// Finds in each picture of the batch the best class of each cell, without boxes that overlap a better one. Waits for the
/// device. Throws ArgumentError.
std::vector<Detections> detections(const YoloxOutput& output, const DetectOptions& options = {});

/// Boxes in the picture's own pixels, cut off at its edges. Throws ShapeError for a picture that has not three
/// channels.
Detections detect(const Yolox& model, const Picture& picture, const DetectOptions& options = {});

/// The picture scaled to fit, in the top left corner, and grey beside it, as YOLOX is trained on; boxes move with it.
AnnotatedPicture letterboxed(const AnnotatedPicture& item, std::int64_t height, std::int64_t width);

struct BoxedBatch {
  TensorData images;                    // float32 [batch, 3, height, width]: blue, green, red from 0 to 255
  std::vector<std::vector<Box>> boxes;  // of each picture
  std::int64_t items() const { return std::ssize(boxes); }
};
/// Stacks pictures of one size with three channels. Boxes with a side below `least_side` pixels are left out.
struct YoloxBatcher {
  double least_side = 1;
  /// Throws ShapeError for no pictures, other channels, or pictures of several sizes.
  BoxedBatch operator()(std::span<const AnnotatedPicture> pictures) const;
};

/// boxes -> [boxes, 4] of x1, y1, x2, y2, and their labels: what metric::MeanAveragePrecision takes as true boxes.
struct TrueBoxes {
  Tensor<2> boxes;
  Tensor<1, Int> labels;
};
TrueBoxes true_boxes(std::span<const Box> boxes, const Device& device);

}  // namespace kiln::models
