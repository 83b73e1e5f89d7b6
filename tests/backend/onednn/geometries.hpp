// Convolutions drawn at random, and what is right for them: plain loops over whole numbers so small that every sum is
// exact in float32, in whatever order it is taken. A right kernel gives exactly these numbers, or each of them rounded
// once where its results are halves.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/backend/cpu/conv/geometry.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry;

/// Geometry number `index` of `seed`: 1 to 3 axes, sizes 1 to 40 and some up to 130, kernels 1 to 7, strides, dilations and paddings of all
/// kinds, groups, 1 to 70 channels, 1 to 3 images. Some million multiply-adds at most.
Geometry draw_geometry(std::uint64_t seed, std::uint64_t index);

/// "n=1 ic=32 oc=64 g=1 x=7x7 k=5x5 y=7x7 s=1x1 p=4x4 q=4x4 d=2x2": images, channels, groups, sizes, kernel, result,
/// stride, padding before and after, dilation.
std::string describe(const Geometry& g);
/// The geometry that a text describes, which may say other things as well. The result's sizes follow from the rest.
/// Throws ArgumentError.
Geometry geometry(const std::string& text);

op::Conv conv_of(const Geometry& g);

/// Operands and what a convolution and its two adjoints make of them. Activations are channels-last, [batch, sizes...,
/// channels]; weights [out, in / groups, kernel...].
struct Truth {
  std::vector<float> x, weight, bias, y;               // operands; y of the adjoints
  std::vector<float> forward, data_grad, weight_grad;  // without a bias

  Truth(const Geometry& g, std::uint64_t seed);
};

/// Whole numbers from -`most` to `most`.
std::vector<float> whole_numbers(std::int64_t count, std::uint64_t seed, int most);

}  // namespace kiln::cpu::onednn
