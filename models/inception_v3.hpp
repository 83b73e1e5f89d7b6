// Inception v3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, "Rethinking the Inception architecture for computer vision",
// 2016), by torchvision's names of its parts, and the variant whose features FID compares.
#pragma once
#include <vector>

#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "models/images.hpp"

namespace kiln::models {

/// How the branch that pools does it.
enum class InceptionPooling : std::uint8_t {
  Average,          // padding counts as zeros: torchvision
  AverageOfPixels,  // padding counts as nothing: TensorFlow
  Max,
};

// Each block has branches whose outputs are concatenated: [batch, in, height, width] -> [batch, out, height, width], or
// about half the height and width in InceptionB and InceptionD.

struct InceptionA {
  NormedConv branch1x1, branch5x5_1, branch5x5_2, branch3x3dbl_1, branch3x3dbl_2, branch3x3dbl_3, branch_pool;
  InceptionPooling pooling = InceptionPooling::Average;
  Tensor<4> forward(const Tensor<4>& x) const;
};
struct InceptionB {
  NormedConv branch3x3, branch3x3dbl_1, branch3x3dbl_2, branch3x3dbl_3;
  Tensor<4> forward(const Tensor<4>& x) const;
};
struct InceptionC {
  NormedConv branch1x1, branch7x7_1, branch7x7_2, branch7x7_3, branch7x7dbl_1, branch7x7dbl_2, branch7x7dbl_3,
      branch7x7dbl_4, branch7x7dbl_5, branch_pool;
  InceptionPooling pooling = InceptionPooling::Average;
  Tensor<4> forward(const Tensor<4>& x) const;
};
struct InceptionD {
  NormedConv branch3x3_1, branch3x3_2, branch7x7x3_1, branch7x7x3_2, branch7x7x3_3, branch7x7x3_4;
  Tensor<4> forward(const Tensor<4>& x) const;
};
struct InceptionE {
  NormedConv branch1x1, branch3x3_1, branch3x3_2a, branch3x3_2b, branch3x3dbl_1, branch3x3dbl_2, branch3x3dbl_3a,
      branch3x3dbl_3b, branch_pool;
  InceptionPooling pooling = InceptionPooling::Average;
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct InceptionV3 {
  std::vector<NormedConv> stem;
  std::vector<InceptionA> mixed5;
  InceptionB reduce6;
  std::vector<InceptionC> mixed6;
  InceptionD reduce7;
  std::vector<InceptionE> mixed7;
  nn::Dropout dropout;
  nn::Linear head;

  /// images [batch, channels, height, width], of 75 pixels or more, in the range that the weights were trained on (-1 to
  /// 1 for the published ones) -> the averages of the last maps, [batch, 2048] in full width. Throws ShapeError.
  Tensor<2> features(const Tensor<4>& images) const;
  /// -> logits [batch, classes]
  Tensor<2> forward(const Tensor<4>& images) const;
};

/// The auxiliary classifier, which helped the paper's training, is not built; load_torchvision() leaves it out.
struct InceptionV3Config {
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  // channels of the images
  double width = 1;           // factor of all numbers of channels; a multiple of 1/16
  double dropout = 0.5;
  bool fid = false;  // pools as the network of TensorFlow from 2015 does, whose features FID compares

  /// Throws ArgumentError for a size below 1 and a width that is not a multiple of 1/16.
  InceptionV3 init(const Device& device) const;
};

/// The network that FID is defined by: InceptionV3Config{.classes = 1008, .fid = true}. Its weights differ from
/// torchvision's: those of "pt_inception-2015-12-05-6726825d.pth", which load_torchvision() reads.
InceptionV3Config fid_inception();

}  // namespace kiln::models
