// Wrong calls of pools, windows, resizing and sampling, and the sentences that answer them.
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/ops/spatial/sample_ops.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

const WrongCall kSpatialCalls[] = {
    // pools
    {"ArgumentError: adaptive_max_pool: sizes [2] need 2 entries",
     [] { adaptive_max_pool(floats({1, 1, 4, 4}), {2}); }},
    {"ArgumentError: adaptive_max_pool: sizes [2, 0] must be positive",
     [] { adaptive_max_pool(floats({1, 1, 4, 4}), {2, 0}); }},
    {"ShapeError: adaptive_max_pool: [1, 1, 0] has nothing to pool", [] { adaptive_max_pool(floats({1, 1, 0}), {2}); }},
    {"ShapeError: adaptive_max_pool: needs [batch, channels, 1 to 3 spatial dimensions], got float32 [4, 4]",
     [] { adaptive_max_pool(floats({4, 4}), {2}); }},
    {"ArgumentError: max_pool: padding [2] is more than half of kernel [3]",
     [] { max_pool(floats({1, 1, 8}), {.kernel = {3}, .padding_after = {2}}); }},
    {"ArgumentError: avg_pool: the divisor -1 is not positive",
     [] { avg_pool(floats({1, 1, 8}), {.kernel = {2}, .divisor = -1}); }},
    {"ShapeError: max_unpool: indices [1, 1, 3] must have the shape of float32 [1, 1, 2]",
     [] { max_unpool(floats({1, 1, 2}), integers({1, 1, 3}), {4}); }},
    {"ArgumentError: max_unpool: sizes [4, 4] do not fit float32 [1, 1, 2]",
     [] { max_unpool(floats({1, 1, 2}), integers({1, 1, 2}), {4, 4}); }},
    {"IndexError: max_unpool: index 4 is out of range for dimension 2 of size 4",
     [] { max_unpool(floats({1, 1, 2}), integers({1, 1, 2}, 4), {4}); }},
    {"IndexError: max_pool_backward: index 4 is out of range for [4]",
     [] { max_pool_backward(floats({1, 1, 2}), integers({1, 1, 2}, 4), {4}); }},
    {"ShapeError: max_pool_backward: indices [1, 1, 3] must have the shape of float32 [1, 1, 2]",
     [] { max_pool_backward(floats({1, 1, 2}), integers({1, 1, 3}), {4}); }},
    {"ShapeError: avg_pool_backward: pooling [1, 1, 9] does not give [1, 1, 2]",
     [] { avg_pool_backward(floats({1, 1, 2}), {9}, {.kernel = {2}}); }},
    {"ArgumentError: lp_pool: the power 0 is not positive", [] { lp_pool(floats({1, 1, 4}), 0, {.kernel = {2}}); }},
    {"DTypeError: lp_pool: needs a tensor of floats, got int64 [1, 1, 4]",
     [] { lp_pool(integers({1, 1, 4}), 2, {.kernel = {2}}); }},
    {"ShapeError: fractional_max_pool: [4] regions of [3] do not fit into float32 [1, 1, 5]",
     [] { fractional_max_pool(floats({1, 1, 5}), {3}, {4}); }},
    {"ArgumentError: fractional_max_pool: kernel [3] and sizes [4] need 2 entries each",
     [] { fractional_max_pool(floats({1, 1, 5, 5}), {3}, {4}); }},
    // windows
    {"ArgumentError: same_padding: dilation [2] does not fit kernel [3, 3]",
     [] { same_padding({3, 3}, {.dilation = {2}}); }},
    {"ArgumentError: unfold: kernel [2], stride [1, 1], padding [0, 0] and dilation [1, 1] need 2 entries each",
     [] { unfold(floats({1, 1, 4, 4}), {.kernel = {2}}); }},
    {"ShapeError: unfold: a window of [5] with dilation [1] does not fit into [3] with padding [0]",
     [] { unfold(floats({1, 1, 3}), {.kernel = {5}}); }},
    {"ShapeError: unfold: needs [batch, channels, 1 to 3 spatial dimensions], got float32 [4, 4]",
     [] { unfold(floats({4, 4}), {.kernel = {2}}); }},
    {"ShapeError: fold: float32 [1, 3, 3] must be [batch, channels * 2, 3], which windows of [2] in [4] give",
     [] { fold(floats({1, 3, 3}), {4}, {.kernel = {2}}); }},
    {"ShapeError: pixel_shuffle: the 6 channels of float32 [1, 6, 2, 2] are no multiple of 4",
     [] { pixel_shuffle(floats({1, 6, 2, 2}), 2); }},
    {"ShapeError: pixel_unshuffle: float32 [1, 1, 3] does not divide into blocks of 2",
     [] { pixel_unshuffle(floats({1, 1, 3}), 2); }},
    {"ArgumentError: pixel_shuffle: the factor 0 is not positive", [] { pixel_shuffle(floats({1, 6, 2, 2}), 0); }},
    {"ShapeError: deform_conv2d: offset [1, 4, 3, 3] must be [1, 8 * parts, 2, 2] with parts that divide the 2 "
     "channels "
     "of x",
     [] { deform_conv2d(floats({1, 2, 3, 3}), floats({1, 4, 3, 3}), floats({1, 2, 2, 2})); }},
    {"ShapeError: deform_conv2d: mask [1, 3, 2, 2] must be [1, 4, 2, 2]",
     [] { deform_conv2d(floats({1, 2, 3, 3}), floats({1, 8, 2, 2}), floats({1, 2, 2, 2}), {}, floats({1, 3, 2, 2})); }},
    {"ShapeError: deform_conv2d: bias [2] does not have the 1 result channels of weight [1, 2, 2, 2]",
     [] { deform_conv2d(floats({1, 2, 3, 3}), floats({1, 8, 2, 2}), floats({1, 2, 2, 2}), floats({2})); }},
    {"ShapeError: deform_conv2d: x [1, 3, 3, 3] has 3 channels, weight [1, 2, 2, 2] with 1 group takes 2",
     [] { deform_conv2d(floats({1, 3, 3, 3}), floats({1, 8, 2, 2}), floats({1, 2, 2, 2})); }},
    // resizing
    {"ArgumentError: interpolate: needs either size or scale, got [] and 0 factors",
     [] { interpolate(floats({1, 1, 4}), {}); }},
    {"ArgumentError: interpolate: size has 3 entries, float32 [1, 1, 4, 4] has 2 spatial dimensions",
     [] { interpolate(floats({1, 1, 4, 4}), {.size = {1, 2, 3}}); }},
    {"ShapeError: interpolate: cannot resize dimension 2 of float32 [1, 1, 4] to 0 elements",
     [] { interpolate(floats({1, 1, 4}), {.size = {0}}); }},
    {"ShapeError: interpolate: cannot resize dimension 2 of float32 [1, 1, 4] to 0 elements",
     [] { interpolate(floats({1, 1, 4}), {.scale = {0.1}}); }},
    {"ArgumentError: interpolate: the factor -1 is not positive",
     [] { interpolate(floats({1, 1, 4}), {.scale = {-1}}); }},
    {"ArgumentError: interpolate: align_corners is for Linear, Cubic and Lanczos3",
     [] { interpolate(floats({1, 1, 4}), {.size = {2}, .align_corners = true}); }},
    {"ArgumentError: interpolate: antialias is for Linear, Cubic and Lanczos3",
     [] { interpolate(floats({1, 1, 4}), {.size = {2}, .mode = Interpolation::Area, .antialias = true}); }},
    {"ArgumentError: interpolate: align_corners and antialias exclude each other",
     [] {
       interpolate(floats({1, 1, 4}),
                   {.size = {2}, .mode = Interpolation::Linear, .align_corners = true, .antialias = true});
     }},
    {"DTypeError: interpolate: only the nearest modes take integers, got int64 [1, 1, 4]",
     [] { interpolate(integers({1, 1, 4}), {.size = {2}, .mode = Interpolation::Linear}); }},
    // sampling
    {"ShapeError: grid_sample: grid [1, 2, 2, 3] must be [1, rows, columns, 2] for x [1, 1, 4, 4]",
     [] { grid_sample(floats({1, 1, 4, 4}), floats({1, 2, 2, 3})); }},
    {"ShapeError: grid_sample: needs [batch, channels, sizes...] of rank 4 to 5, got float32 [1, 1, 4]",
     [] { grid_sample(floats({1, 1, 4}), floats({1, 2, 1})); }},
    {"ShapeError: grid_sample: float32 [1, 1, 0, 4] has no elements to read",
     [] { grid_sample(floats({1, 1, 0, 4}), floats({1, 2, 2, 2})); }},
    {"ArgumentError: grid_sample: takes Nearest, Linear, and in two dimensions Cubic",
     [] { grid_sample(floats({1, 1, 2, 2, 2}), floats({1, 1, 1, 1, 3}), {.mode = Interpolation::Cubic}); }},
    {"ShapeError: grid_sample_transpose: float32 [1, 1, 2, 3] does not have the points of grid [1, 2, 2, 2]",
     [] { emit(op::GridSampleTranspose{{}, {4, 4}}, {floats({1, 1, 2, 3}), floats({1, 2, 2, 2})}); }},
    {"ShapeError: grid_sample_transpose: sizes [4, 0] must be positive",
     [] { emit(op::GridSampleTranspose{{}, {4, 0}}, {floats({1, 1, 2, 2}), floats({1, 2, 2, 2})}); }},
    {"AutodiffError: grid_sample_grid_grad: has no gradient; differentiate grid_sample with create_graph",
     [] {
       const Value x = ones({1, 1, 2, 2}, Device::cpu().autodiff()).require_grad();
       const Value grid = zeros({1, 2, 2, 2}, Device::cpu());
       backward(sum(emit(op::GridSampleGridGrad{}, {x, grid, x.detach()})));
     }},
    {"ShapeError: affine_grid: theta [1, 3, 3] and sizes [2, 2] must be [batch, 2, 3] with two sizes or [batch, 3, 4] "
     "with three",
     [] { affine_grid(floats({1, 3, 3}), {2, 2}); }},
    {"ShapeError: roi_align: boxes [2, 4] must be [count, 5] of (image, x1, y1, x2, y2)",
     [] { roi_align(floats({1, 1, 4, 4}), floats({2, 4}), {.size = {2, 2}}); }},
    {"ArgumentError: roi_align: the size [2] must have two positive entries",
     [] { roi_align(floats({1, 1, 4, 4}), floats({2, 5}), {.size = {2}}); }},
    {"IndexError: roi_align: index 1 is out of range for dimension 0 of size 1",
     [] { roi_align(floats({1, 1, 4, 4}), floats({2, 5}), {.size = {2, 2}}); }},
};

TEST(WrongSpatialCalls, AreAnsweredWithASentence) { expect_sentences(kSpatialCalls); }

}  // namespace
}  // namespace kiln
