#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

using Way = Interpolation;

Values both(const MaxPoolResult& result) { return {result.values, result.indices}; }

const Rows kShapes({
    {"unfold2d", [](In in) { return unfold(in[0], {.kernel = {2, 3}, .stride = {2, 1}, .padding = {1, 1}}); }},
    {"fold2d", [](In in) { return fold(in[0], {4, 5}, {.kernel = {2, 2}}); }},
    {"pixel_shuffle", [](In in) { return pixel_shuffle(in[0], 2); }},
    {"pixel_unshuffle", [](In in) { return pixel_unshuffle(in[0], 2); }},
    {"adaptive_max_pool1d", [](In in) { return both(adaptive_max_pool_with_indices(in[0], {3})); }},
    {"adaptive_max_pool2d", [](In in) { return both(adaptive_max_pool_with_indices(in[0], {3, 2})); }},
    {"adaptive_max_pool3d", [](In in) { return both(adaptive_max_pool_with_indices(in[0], {3, 2, 2})); }},
    {"lp_pool2d", [](In in) { return lp_pool(in[0], 3, {.kernel = {2, 2}}); }},
    {"max_unpool2d",
     [](In in) {
       const auto [values, indices] = max_pool_with_indices(in[0], {.kernel = {2, 2}});
       return max_unpool(values, indices, {4, 4});
     }},
});

Row resized(const char* name, const InterpolateOptions& options) {
  return {std::string("interpolate.") + name, [=](In in) { return interpolate(in[0], options); }};
}

const Rows kInterpolations({
    resized("nearest1d", {.size = {8}}),
    resized("nearest", {.size = {7, 3}}),
    resized("nearest_exact", {.size = {7, 3}, .mode = Way::NearestExact}),
    resized("linear", {.size = {8}, .mode = Way::Linear}),
    resized("linear.corners", {.size = {8}, .mode = Way::Linear, .align_corners = true}),
    resized("bilinear", {.size = {7, 3}, .mode = Way::Linear}),
    resized("bilinear.corners", {.size = {7, 3}, .mode = Way::Linear, .align_corners = true}),
    resized("bilinear.scale", {.scale = {1.6, 0.7}, .mode = Way::Linear}),
    resized("bilinear.antialias", {.size = {3, 4}, .mode = Way::Linear, .antialias = true}),
    resized("bicubic", {.size = {7, 3}, .mode = Way::Cubic}),
    resized("bicubic.corners", {.size = {7, 3}, .mode = Way::Cubic, .align_corners = true}),
    resized("bicubic.antialias", {.size = {3, 4}, .mode = Way::Cubic, .antialias = true}),
    resized("trilinear", {.size = {4, 3, 5}, .mode = Way::Linear}),
    resized("nearest3d", {.size = {4, 3, 5}}),
});

Row sampled(const char* name, const GridSampleOptions& options) {
  return {std::string("grid_sample.") + name, [=](In in) { return grid_sample(in[0], in[1], options); }};
}

using Beyond = SamplePadding;
const Rows kSamples({
    sampled("nearest.zeros", {.mode = Way::Nearest}),
    sampled("nearest.border", {.mode = Way::Nearest, .padding = Beyond::Border}),
    sampled("nearest.reflection", {.mode = Way::Nearest, .padding = Beyond::Reflection}),
    sampled("bilinear.zeros", {}),
    sampled("bilinear.border", {.padding = Beyond::Border}),
    sampled("bilinear.reflection", {.padding = Beyond::Reflection}),
    sampled("bicubic.zeros", {.mode = Way::Cubic}),
    sampled("bicubic.border", {.mode = Way::Cubic, .padding = Beyond::Border}),
    sampled("bicubic.reflection", {.mode = Way::Cubic, .padding = Beyond::Reflection}),
    sampled("corners", {.align_corners = true}),
    sampled("3d", {.padding = Beyond::Border}),
    {"affine_grid", [](In in) { return affine_grid(in[0], {3, 4}); }},
    {"affine_grid.3d", [](In in) { return affine_grid(in[0], {2, 3, 2}, true); }},
});

}  // namespace
}  // namespace kiln::golden
