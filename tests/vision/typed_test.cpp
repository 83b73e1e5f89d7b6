// Each function over tensors is the one over values, with the rank and kind that come out.
#include <gtest/gtest.h>

#include <array>

#include "kiln/vision.hpp"
#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

/// Is `found` a tensor of this rank and kind, with the numbers of `wanted`?
template <int D, class K>
void expect_typed(const Tensor<D, K>& found, const Value& wanted) {
  EXPECT_EQ(difference(found.data(), wanted.data(), {0, 0}), "");
}

class TypedFunctions : public testing::Test {
 protected:
  const Value b = stored_value("bytes"), f = stored_value("floats"), one = narrow(b, 1, 0, 1);
  const Tensor<4, Int> bytes = Tensor<4, Int>(b), grey = Tensor<4, Int>(one);
  const Tensor<4> floats = Tensor<4>(f);
};

TEST_F(TypedFunctions, FiltersKeepTheKind) {
  expect_typed<4, Int>(make_border(bytes, {1, 1, 1, 1}, Border::Wrap), make_border(b, {1, 1, 1, 1}, Border::Wrap));
  const Value kernel = ones({3, 3}, test::cpu) / 9.0;
  expect_typed<4, Float>(filter2d(floats, Tensor<2>(kernel)), filter2d(f, kernel));
  const std::array<double, 3> weights = {0.25, 0.5, 0.25};
  expect_typed<4, Int>(separable_filter(bytes, weights, weights), separable_filter(b, weights, weights));
  expect_typed<4, Int>(box_blur(bytes, 3, 3), box_blur(b, 3, 3));
  expect_typed<4, Float>(gaussian_blur(floats, {.rows = 3, .columns = 3}), gaussian_blur(f, {.rows = 3, .columns = 3}));
  expect_typed<4, Int>(median_blur(bytes, 3), median_blur(b, 3));
  expect_typed<4, Float>(bilateral_blur(floats, {}), bilateral_blur(f, {}));
}

TEST_F(TypedFunctions, EdgesAreFloatsAndMasks) {
  expect_typed<4, Float>(sobel(bytes), sobel(b));
  expect_typed<4, Float>(scharr(bytes), scharr(b));
  expect_typed<4, Float>(laplacian(bytes), laplacian(b));
  expect_typed<4, Bool>(canny(grey), canny(one));
}

TEST_F(TypedFunctions, MorphologyTakesAnyKind) {
  const StructuringElement element = cross(3, 3);
  expect_typed<4, Int>(erode(bytes, element), erode(b, element));
  expect_typed<4, Float>(dilate(floats, element), dilate(f, element));
  expect_typed<4, Bool>(morphological_open(canny(grey), element), morphological_open(canny(one), element));
  expect_typed<4, Int>(morphological_close(bytes, element), morphological_close(b, element));
  expect_typed<4, Int>(morphological_gradient(bytes, element), morphological_gradient(b, element));
  expect_typed<4, Int>(top_hat(bytes, element), top_hat(b, element));
  expect_typed<4, Int>(black_hat(bytes, element), black_hat(b, element));
}

TEST_F(TypedFunctions, HistogramsAreCounts) {
  expect_typed<3, Int>(histogram(floats, {.high = 1}), histogram(f, {.high = 1}));
  expect_typed<4, Int>(equalized(bytes), equalized(b));
  expect_typed<4, Int>(threshold(bytes, 99), threshold(b, 99));
  expect_typed<4, Int>(threshold(bytes, otsu_levels(bytes)), threshold(b, otsu_levels(b)));
}

TEST_F(TypedFunctions, ColoursKeepTheKind) {
  expect_typed<4, Int>(rgb_to_grey(bytes), rgb_to_grey(b));
  expect_typed<4, Int>(grey_to_rgb(grey), grey_to_rgb(one));
  expect_typed<4, Int>(hsv_to_rgb(rgb_to_hsv(bytes)), hsv_to_rgb(rgb_to_hsv(b)));
  expect_typed<4, Float>(hls_to_rgb(rgb_to_hls(floats)), hls_to_rgb(rgb_to_hls(f)));
  expect_typed<4, Int>(ycbcr_to_rgb(rgb_to_ycbcr(bytes)), ycbcr_to_rgb(rgb_to_ycbcr(b)));
  expect_typed<4, Int>(lab_to_rgb(rgb_to_lab(bytes)), lab_to_rgb(rgb_to_lab(b)));
}

TEST_F(TypedFunctions, MapsKeepTheKind) {
  const Transform2D turned = Transform2D::rotation(10);
  expect_typed<4, Int>(warp(bytes, turned), warp(b, turned));
  const Value matrices = expand(reshape(arange(0, 9, 1, test::cpu, DType::F32) + 1, {1, 3, 3}), {2, 3, 3});
  expect_typed<4, Float>(warp(floats, Tensor<3>(matrices)), warp(f, matrices));
  expect_typed<4, Int>(resize(bytes, 5, 6), resize(b, 5, 6));
  expect_typed<4, Int>(crop(bytes, 1, 2, 3, 4), crop(b, 1, 2, 3, 4));
  expect_typed<4, Int>(centre_crop(bytes, 3, 4), centre_crop(b, 3, 4));
  expect_typed<4, Int>(flip_down(flip_across(bytes)), flip_down(flip_across(b)));
}

TEST_F(TypedFunctions, BoxesAreFloats) {
  const Value v = stored_value("nms.boxes"), s = stored_value("nms.scores"), k = stored_value("nms.kinds");
  const Tensor<2> boxes(v);
  const Tensor<1> scores(s);
  expect_typed<2, Float>(convert_boxes(boxes, BoxFormat::CornerSize, BoxFormat::CentreSize),
                         convert_boxes(v, BoxFormat::CornerSize, BoxFormat::CentreSize));
  expect_typed<1, Float>(box_area(boxes), box_area(v));
  expect_typed<2, Float>(clip_boxes(boxes, 9, 9), clip_boxes(v, 9, 9));
  expect_typed<1, Bool>(are_boxes_large(boxes, 3), are_boxes_large(v, 3));
  expect_typed<2, Float>(boxes_of_masks(canny(grey).squeeze(1)), boxes_of_masks(squeeze(canny(one), 1)));
  expect_typed<2, Float>(decode_boxes(boxes, boxes), decode_boxes(v, v));
  expect_typed<2, Float>(encode_boxes(boxes, boxes), encode_boxes(v, v));
  expect_typed<1, Int>(nms(boxes, scores), nms(v, s));
  expect_typed<1, Int>(nms(boxes, scores, Tensor<1, Int>(k)), nms(v, s, k));
  const ScoredTensors found = soft_nms(boxes, scores);
  expect_typed<1, Int>(found.indices, soft_nms(v, s).indices);
  expect_typed<1, Float>(found.scores, soft_nms(v, s).scores);
  const Value parts = from_data(TensorData::of<float>({1, 5}, {1, 2, 2, 9, 9}), test::cpu);
  expect_typed<4, Float>(roi_pool(floats, Tensor<2>(parts), {.size = {2, 2}}), roi_pool(f, parts, {.size = {2, 2}}));
}

TEST_F(TypedFunctions, ComponentsAreNumbered) {
  const auto [labels, counts] = connected_components(canny(grey));
  const Components wanted = connected_components(canny(one));
  expect_typed<4, Int>(labels, wanted.labels);
  expect_typed<1, Int>(counts, wanted.counts);
  const auto [areas, boxes, centroids] = component_statistics(labels, 9);
  const ComponentStatistics statistics = component_statistics(wanted.labels, 9);
  expect_typed<2, Int>(areas, statistics.areas);
  expect_typed<3, Int>(boxes, statistics.boxes);
  expect_typed<3, Float>(centroids, statistics.centroids);
}

}  // namespace
}  // namespace kiln::vision
