// YOLOX (Ge, Liu, Wang, Li, Sun, "YOLOX: exceeding YOLO series in 2021", 2021): a detector without anchors. Each cell
// of three feature maps predicts one box, whether there is an object, and its class.
//
//   Yolox model = yolox("nano", classes).init(device);                      // or load_yolox(model, "yolox_nano.pth")
//   const YoloxLosses losses = YoloxLoss{}.forward(model.forward(images), boxes);   // yolox_loss.hpp
//   const Detections found = detect(model, picture);                               // detect.hpp
//
// Images are [batch, 3, height, width] of blue, green and red from 0 to 255, as those that published weights have seen;
// YoloxBatcher (detect.hpp) makes them of pictures.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kiln/store/load/options.hpp"
#include "models/detection/csp_darknet.hpp"

namespace kiln::models {

/// The cells of all feature maps of images of one size, those of stride 8 first, row after row.
struct YoloxCells {
  std::int64_t height = 0, width = 0;  // of the images
  static constexpr std::int64_t kStrides[] = {8, 16, 32};

  struct Cell {
    float column = 0, row = 0, stride = 0;  // the cell covers stride * column to stride * (column + 1) pixels
  };
  std::vector<Cell> list() const;
  /// [cells, 2] of columns and rows, and [cells, 1] of strides.
  struct Tensors {
    Tensor<2> places, strides;
  };
  Tensors tensors(const Device& device) const;
};

/// The features that Yolox sees in images.
struct YoloxOutput {
  /// [batch, cells, 5 + classes]: for each cell the middle of the box as its distance from the cell's corner, and the
  /// logarithms of its width and height, all in strides; logits of objectness and of the classes.
  Tensor<3> raw;
  YoloxCells cells;

  std::int64_t classes() const { return raw.dim(2) - 5; }
  /// [batch, cells, 4] of x1, y1, x2, y2 in pixels.
  Tensor<3> boxes() const;
  /// [batch, cells, classes]: the probability of an object times that of its class.
  Tensor<3> scores() const;
};

/// Joins feature maps of several sizes, from the small to the large ones and back (Liu et al., "Path aggregation
/// network for instance segmentation", 2018).
struct PathAggregation {
  struct Step {
    DarknetConv conv;  // upwards: to fewer channels; downwards: to half the size
    CspLayer layer;
  };
  std::vector<Step> up, down;

  /// levels: feature maps, the largest first -> as many of the same shapes.
  std::vector<Tensor<4>> forward(const std::vector<Tensor<4>>& levels) const;
};

struct Yolox {
  struct Head {
    DarknetConv stem;
    std::vector<DarknetConv> class_convs, box_convs;
    nn::Conv2d classes, boxes, objectness;
    /// x [batch, channels, rows, columns] -> [batch, rows * columns, 5 + classes]
    Tensor<3> forward(const Tensor<4>& x) const;
  };

  CspDarknet backbone;
  PathAggregation neck;
  std::vector<Head> heads;  // for each stride

  /// images [batch, 3, height, width], whose height and width are multiples of 32. Throws ShapeError.
  YoloxOutput forward(const Tensor<4>& images) const;
};

struct YoloxConfig {
  std::int64_t classes = 80;
  double depth = 1.0 / 3;  // factor of the numbers of blocks
  double width = 0.5;      // factor of all channels; 64 times it is an even number
  bool depthwise = false;  // depthwise separable convolutions
  double momentum = 0.03;  // of batch norms; a short training wants more

  /// Throws ArgumentError for a size that is not positive, or a width that gives no even number of channels.
  Yolox init(const Device& device) const;
};

/// The config of a published model: "nano", "tiny", "s", "m", "l" or "x". Throws ArgumentError for another name.
YoloxConfig yolox(std::string_view name, std::int64_t classes = 80);

/// Loads weights of the same config that YOLOX's own program saved: yolox_nano.pth and its like, or the state dict
/// alone as .pt or .safetensors. `options` are those of load(); renaming rules see the model's names. A model of other
/// classes is {.allow_missing = true, .except = {"heads.*.classes.*"}}. Throws IoError, DataError, or a LoadError that
/// names every mismatch; the model is unchanged then.
LoadReport load_yolox(Yolox& model, const std::string& path, LoadOptions options = {});

}  // namespace kiln::models
