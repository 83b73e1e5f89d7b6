// CSPDarknet, the backbone of YOLOX: a convolutional network whose stages split their channels, send one half through
// residual blocks, and join both again (Wang et al., "CSPNet: a new backbone that can enhance learning capability of CNN",
// 2020; Bochkovskiy, Wang, Liao, "YOLOv4", 2020).
#pragma once
#include <optional>
#include <vector>

#include "models/images.hpp"

namespace kiln::models {

/// A convolution, batch norm and SiLU; where it is depthwise separable, each channel is filtered by itself first.
struct DarknetConv {
  std::optional<NormedConv> depthwise;
  nn::Conv2d conv;
  nn::BatchNorm norm;

  /// x [batch, in, height, width] -> [batch, out, height / stride, width / stride], rounded up
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct DarknetConvConfig {
  std::int64_t in, out;
  std::int64_t kernel = 3, stride = 1;
  bool depthwise = false;  // depthwise separable
  double momentum = 0.03;  // of batch norms

  DarknetConv init(const Device& device) const;
};

/// One half of the channels goes through residual blocks, the other does not.
struct CspLayer {
  struct Block {
    DarknetConv reduce, spatial;
    bool residual = true;  // adds x to the result
    Tensor<4> forward(const Tensor<4>& x) const;
  };
  DarknetConv main, side;
  std::vector<Block> blocks;
  DarknetConv merge;

  /// x [batch, in, height, width] -> [batch, out, height, width]
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct CspLayerConfig {
  std::int64_t in, out, blocks = 1;
  bool residual = true;
  bool depthwise = false;
  double momentum = 0.03;

  CspLayer init(const Device& device) const;
};

/// Joins the largest values of windows of 1, 5, 9 and 13 pixels (He et al., "Spatial pyramid pooling in deep convolutional
/// networks for visual recognition", 2014).
struct PyramidPooling {
  DarknetConv reduce, merge;
  /// x [batch, channels, height, width] -> the same shape
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct CspDarknet {
  struct Stage {
    DarknetConv shrink;  // to half the size
    std::optional<PyramidPooling> pooling;
    CspLayer layer;
    Tensor<4> forward(const Tensor<4>& x) const;
  };
  DarknetConv stem;
  std::vector<Stage> stages;  // four

  /// images [batch, channels, height, width] -> the results of the last three stages, [batch, out, height / stride, width
  /// / stride] with strides 8, 16 and 32.
  std::vector<Tensor<4>> forward(const Tensor<4>& images) const;
};

struct CspDarknetConfig {
  std::int64_t channels = 3;  // channels of the images
  std::int64_t width = 64;    // channels of the stem; each stage doubles them
  std::int64_t blocks = 3;    // of the first and the last stage; the others have three times as many
  bool depthwise = false;
  double momentum = 0.03;

  CspDarknet init(const Device& device) const;
};

}  // namespace kiln::models
