// Denoising diffusion (Ho, Jain, Abbeel, "Denoising diffusion probabilistic models", 2020) of small images of known
// classes: images lose themselves in noise step by step, a U-Net learns which noise that was, and new images are found
// by taking it away again. Steps are counted from 0, where hardly anything was added.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/norm/group_norm.hpp"
#include "kiln/nn/spatial/conv.hpp"

namespace kiln::models {

/// [steps] how much of an image's variance is left after each step: 1 - the noise's. The cosine schedule of Nichol,
/// Dhariwal, "Improved denoising diffusion probabilistic models", 2021. Throws ArgumentError for less than 1 step.
std::vector<double> cosine_schedule(std::int64_t steps);

/// Predicts the noise in an image from the step and the class.
struct Denoiser {
  /// Two convolutions, which are told step and class in between, beside a shortcut.
  struct Block {
    nn::GroupNorm norm1;
    nn::Conv2d conv1;
    nn::Linear context;
    nn::GroupNorm norm2;
    nn::Conv2d conv2;
    std::optional<nn::Conv2d> shortcut;  // where the number of channels changes

    /// x [batch, in, height, width], about [batch, 4 * the first width] -> [batch, out, height, width]
    Tensor<4> forward(const Tensor<4>& x, const Tensor<2>& about) const;
  };

  nn::Linear step1, step2;
  nn::Embedding classes;  // the last is for an image of any class
  nn::Conv2d stem;
  std::vector<Block> down;
  std::vector<nn::Conv2d> shrink;
  Block middle;
  std::vector<Block> up;  // of what came up, and what went down at that size
  std::vector<nn::ConvTranspose2d> grow;
  nn::GroupNorm norm;
  nn::Conv2d head;
  Tensor<1> kept;   // cosine_schedule(): a constant
  Tensor<2> waves;  // [steps, width] sines and cosines of the steps: likewise

  /// x [batch, channels, height, width] of which `steps` [batch] say how noisy they are, and `labels` [batch] what they
  /// are, any_class() if that is not told -> the noise, of x's shape. Throws ShapeError, IndexError.
  Tensor<4> forward(const Tensor<4>& x, const Tensor<1, Int>& steps, const Tensor<1, Int>& labels) const;
  /// The mean square error of the noise that is predicted. images of numbers from -1 to 1; noise of their shape from
  /// N(0, 1).
  Tensor<0> loss(const Tensor<4>& images, const Tensor<1, Int>& steps, const Tensor<1, Int>& labels,
                 const Tensor<4>& noise) const;

  std::int64_t any_class() const { return classes.weight.dim(0) - 1; }
};

struct DenoiserConfig {
  std::int64_t channels = 1;  // of the images
  std::int64_t classes = 10;
  std::vector<std::int64_t> widths = {32, 64, 64};  // at each size, the next half of the one before; multiples of 8
  std::int64_t steps = 1000;

  /// Throws ArgumentError for sizes that are not positive, or widths that 8 groups do not divide.
  Denoiser init(const Device& device) const;
};

struct DrawOptions {
  std::int64_t steps = 50;  // of the schedule's, in equal distances
  double guidance = 0;      // how much further to go from an image of any class to one of its own (Ho, Salimans, 2022)
  bool clamp = true;        // keeps the image that each step foresees between -1 and 1
};

/// What a predictor of noise says of x at a step.
using NoiseAt = std::function<Tensor<4>(const Tensor<4>& x, std::int64_t step)>;

/// The images that `noise` from N(0, 1) becomes: the way is determined by the noise (Song, Meng, Ermon, "Denoising
/// diffusion implicit models", 2021). Throws ArgumentError for less than 1 step, or more than the schedule has.
Tensor<4> denoised(const Tensor<4>& noise, const std::vector<double>& kept, const NoiseAt& predict,
                   const DrawOptions& options = {});
/// The same by a model: noise [batch, channels, height, width], labels [batch] -> images of numbers from -1 to 1.
Tensor<4> denoised(const Denoiser& model, const Tensor<4>& noise, const Tensor<1, Int>& labels,
                   const DrawOptions& options = {});

}  // namespace kiln::models
