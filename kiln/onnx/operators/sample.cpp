// Reading images at any positions.
#include "kiln/ops/spatial/sample.hpp"

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/vision/roi.hpp"

namespace kiln::onnx {
namespace {

Results sample_grid(Call& c) {
  GridSampleOptions options;
  const std::string mode = c.s("mode", "linear"), padding = c.s("padding_mode", "zeros");
  if (mode == "nearest") options.mode = Interpolation::Nearest;
  else if (mode == "cubic" || mode == "bicubic") options.mode = Interpolation::Cubic;
  else c.check(mode == "linear" || mode == "bilinear", "mode '", mode, "' is unknown");
  if (padding == "border") options.padding = SamplePadding::Border;
  else if (padding == "reflection") options.padding = SamplePadding::Reflection;
  else c.check(padding == "zeros", "padding_mode '", padding, "' is unknown");
  options.align_corners = c.i("align_corners", 0) != 0;
  const Value &x = c[0], grid = of_type(c[1], x.dtype());
  if (is_float(x.dtype())) return grid_sample(x, grid, options);
  return of_type(grid_sample(cast(x, DType::F64), cast(c[1], DType::F64), options), x.dtype());
}

Results grid_of_affine_map(Call& c) {
  const Ints size = c.ints(1);
  c.check(size.size() == 4 || size.size() == 5, "size has ", size.size(), " entries, not 4 or 5");
  return affine_grid(c[0], Spatial(size.begin() + 2, size.end()), c.i("align_corners", 0) != 0);
}

Results align_rois(Call& c) {
  const Value &x = c[0], &rois = c[1];
  RoiAlignOptions options;
  options.size = {c.i("output_height", 1), c.i("output_width", 1)};
  options.spatial_scale = c.f("spatial_scale", 1);
  options.sampling_ratio = c.i("sampling_ratio", 0);
  options.aligned = c.version() >= 16 && c.s("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const std::string mode = c.s("mode", "avg");
  c.check(mode == "avg" || mode == "max", "mode '", mode, "' is neither avg nor max");
  c.check(x.rank() == 4 && rois.rank() == 2 && rois.dim(1) == 4 && c[2].numel() == rois.dim(0) && options.size[0] > 0 &&
              options.size[1] > 0 && options.size[0] <= 1 << 12 && options.size[1] <= 1 << 12,
          "x ", x.shape(), ", boxes ", rois.shape(), ", batch indices ", c[2].shape());
  const Value both[] = {reshape(of_type(c[2], rois.dtype()), {rois.dim(0), 1}), rois};
  return mode == "max" ? vision::roi_align_largest(x, cat(both, 1), options) : roi_align(x, cat(both, 1), options);
}

constexpr OperatorRow kSampleRows[] = {
    {"AffineGrid", 20, grid_of_affine_map, {.folds = false}},
    {"GridSample", 16, sample_grid},
    {"RoiAlign", 10, align_rois},
};

}  // namespace

std::span<const OperatorRow> sample_rows() { return kSampleRows; }

}  // namespace kiln::onnx
