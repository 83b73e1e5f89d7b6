// Pools, windows, resizing and sampling as a program calls them; expected values by hand.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/conv.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/pool.hpp"
#include "kiln/tensor/resample.hpp"
#include "kiln/tensor/sample.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;

/// One image of one channel.
Tensor<4> image(std::initializer_list<std::initializer_list<double>> rows) {
  const auto plane = Tensor<2>::of(rows, best_autodiff());
  return plane.unsqueeze(0).unsqueeze(0);
}
/// Of the only channel of the only image.
std::string plane_text(const Tensor<4>& x) { return to_text(x.squeeze(0).squeeze(0)); }

TEST(Pools, AdaptUnpoolAndMeasure) {
  const auto x = image({{1, 5, 2}, {4, 3, 9}, {7, 0, 8}});
  EXPECT_EQ(plane_text(adaptive_max_pool(x, {1, 3})), "[[7. 5. 9.]]");
  const auto [values, indices] = adaptive_max_pool_with_indices(x, {1, 2});
  EXPECT_EQ(plane_text(values), "[[7. 9.]]");
  EXPECT_EQ(to_text(indices.reshape(2)), "[6 5]");
  EXPECT_EQ(plane_text(max_unpool(values, indices, {3, 3})), "[[0. 0. 0.]\n [0. 0. 9.]\n [7. 0. 0.]]");
  EXPECT_EQ(plane_text(max_pool_backward(values, indices, {3, 3})), "[[0. 0. 0.]\n [0. 0. 9.]\n [7. 0. 0.]]");
  EXPECT_EQ(plane_text(lp_pool(image({{3, 4}}), 2, {.kernel = {1, 2}})), "[[5.]]");
  EXPECT_EQ(plane_text(avg_pool(x, {.kernel = {1, 3}, .divisor = 2})), "[[4. ]\n [8. ]\n [7.5]]");
  EXPECT_EQ(plane_text(avg_pool_backward(image({{6}}), {1, 3}, {.kernel = {1, 3}})), "[[2. 2. 2.]]");
  EXPECT_EQ(fractional_max_pool(x, {2, 2}, {2, 2}, Key{1}).shape(), (Shape{1, 1, 2, 2}));
}

TEST(Windows, UnfoldAndFold) {
  const auto x = image({{1, 2, 3}, {4, 5, 6}});
  const auto columns = unfold(x, {.kernel = {2, 2}});
  EXPECT_EQ(to_text(columns.squeeze(0)), "[[1. 2.]\n [2. 3.]\n [4. 5.]\n [5. 6.]]");
  EXPECT_EQ(plane_text(fold<4>(columns, {2, 3}, {.kernel = {2, 2}})), "[[ 1.  4.  3.]\n [ 4. 10.  6.]]");
}

TEST(Windows, ShuffleChannelsIntoPlaces) {
  const auto x = Tensor<3>::of({{{1}, {2}}}, best_autodiff());
  EXPECT_EQ(to_text(pixel_shuffle(x, 2)), "[[[1. 2.]]]");
  EXPECT_EQ(to_text(pixel_unshuffle(pixel_shuffle(x, 2), 2)), to_text(x));
}

TEST(Windows, DeformedByNothingAreThePlainConvolution) {
  const auto x = image({{1, 2, 3}, {4, 5, 6}}), weight = image({{1, 10}});
  EXPECT_EQ(plane_text(deform_conv2d(x, zeros({1, 4, 2, 2}, best_autodiff()), weight)), plane_text(conv(x, weight)));
}

TEST(Conv, HasItsGradientsByName) {
  const auto x = image({{1, 2, 3}}), weight = image({{1, 10}}), gradient = image({{1, 2}});
  EXPECT_EQ(plane_text(conv_input_backward(gradient, weight, {1, 3})), "[[ 1. 12. 20.]]");
  EXPECT_EQ(plane_text(conv_weight_backward(x, gradient, {1, 2})), "[[5. 8.]]");
  EXPECT_EQ(plane_text(conv(x, weight, {}, same_padding({1, 2}))), "[[21. 32.  3.]]");
}

TEST(Interpolate, BySizeOrFactor) {
  const auto x = image({{1, 3}});
  EXPECT_EQ(plane_text(interpolate(x, {.size = {1, 4}, .mode = Interpolation::Linear})), "[[1.  1.5 2.5 3. ]]");
  EXPECT_EQ(plane_text(interpolate(x, {.scale = {1, 2}})), "[[1. 1. 3. 3.]]");
  const auto labels = Tensor<3, Int>::of({{{7, 9}}}, best_autodiff());
  EXPECT_EQ(to_text(interpolate(labels, {.size = {4}})), "[[[7 7 9 9]]]");
}

TEST(Sampling, TurnsAnImage) {
  const auto x = image({{1, 2}, {3, 4}});
  const auto half_turn = Tensor<3>::of({{{-1, 0, 0}, {0, -1, 0}}}, best_autodiff());
  EXPECT_EQ(plane_text(grid_sample(x, affine_grid(half_turn, {2, 2}))), "[[4. 3.]\n [2. 1.]]");
}

TEST(Sampling, ReadsBoxes) {
  const auto x = image({{1, 2}, {3, 4}});
  const auto boxes = Tensor<2>::of({{0, 0, 0, 2, 2}, {0, 0, 1, 2, 2}}, best_autodiff());
  const auto read = roi_align(x, boxes, {.size = {1, 2}, .sampling_ratio = 1});
  EXPECT_EQ(to_text(read.reshape(2, 2)), "[[2. 3.]\n [3. 4.]]");
}

}  // namespace
}  // namespace kiln
