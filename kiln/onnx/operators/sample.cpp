// Reading images at any positions.
#include "kiln/ops/spatial/sample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/onnx/operators/broadcast.hpp"

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

// The largest sample of each part of a box: what RoiAlign's mode "max" asks for, where each of the four neighbours
// counts with its weight (as the reference implementation has it). On the host.
Value roi_align_max(const Call& c, const RoiAlignOptions& options) {
  const TensorData x = cast(c[0], DType::F64).data(), rois = cast(c[1], DType::F64).data();
  const Ints images = c.ints(2);
  const std::int64_t channels = x.shape()[1], h = x.shape()[2], w = x.shape()[3], count = rois.shape()[0];
  TensorData out({count, channels, options.size[0], options.size[1]}, DType::F64);
  const auto in = x.as<double>(), boxes = rois.as<double>();
  const auto values = out.as<double>();
  std::size_t at = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const double* const box = boxes.data() + r * 4;
    // Boxes are float32, as in the reference implementation and ONNX Runtime: in double a box may take a sample more.
    const bool wide = c[0].dtype() == DType::F64;
    const auto rounded = [&](double x) { return wide ? x : static_cast<double>(static_cast<float>(x)); };
    const double offset = options.aligned ? 0.5 : 0, s = options.spatial_scale;
    const double x1 = rounded(rounded(box[0] * s) - offset), y1 = rounded(rounded(box[1] * s) - offset);
    double width = rounded(rounded(rounded(box[2] * s) - offset) - x1),
           height = rounded(rounded(rounded(box[3] * s) - offset) - y1);
    if (!options.aligned) width = std::max(width, 1.0), height = std::max(height, 1.0);
    const double bin_h = rounded(height / static_cast<double>(options.size[0])),
                 bin_w = rounded(width / static_cast<double>(options.size[1]));
    const auto samples = [&](double bin) {
      c.check(std::abs(bin) <= 1 << 12, "a part of box ", r, " has a side of ", bin);  // which NaN has not
      return options.sampling_ratio > 0 ? options.sampling_ratio : static_cast<std::int64_t>(std::ceil(bin));
    };
    const std::int64_t rows = samples(bin_h), columns = samples(bin_w);
    const std::int64_t image = images[static_cast<std::size_t>(r)];
    c.check(image >= 0 && image < x.shape()[0], "box ", r, " is of image ", image, " of ", x.shape()[0]);
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const double* const plane = in.data() + (image * channels + channel) * h * w;
      for (std::int64_t i = 0; i < options.size[0]; ++i)
        for (std::int64_t j = 0; j < options.size[1]; ++j) {
          double most = 0;
          bool any = false;
          for (std::int64_t a = 0; a < rows; ++a)
            for (std::int64_t b = 0; b < columns; ++b) {
              double y =
                  y1 + bin_h * (static_cast<double>(i) + (static_cast<double>(a) + 0.5) / static_cast<double>(rows));
              double z =
                  x1 + bin_w * (static_cast<double>(j) + (static_cast<double>(b) + 0.5) / static_cast<double>(columns));
              double sample = 0;
              if (y >= -1 && y <= static_cast<double>(h) && z >= -1 && z <= static_cast<double>(w)) {
                y = std::clamp(y, 0.0, static_cast<double>(h - 1));
                z = std::clamp(z, 0.0, static_cast<double>(w - 1));
                const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(z);
                const std::int64_t bottom = std::min(top + 1, h - 1), right = std::min(left + 1, w - 1);
                const double v = y - static_cast<double>(top), u = z - static_cast<double>(left);
                sample = std::max({(1 - v) * (1 - u) * plane[top * w + left], (1 - v) * u * plane[top * w + right],
                                   v * (1 - u) * plane[bottom * w + left], v * u * plane[bottom * w + right]});
              }
              most = any ? std::max(most, sample) : sample;
              any = true;
            }
          values[at++] = most;
        }
    }
  }
  return of_type(from_data(std::move(out), c.device()), c[0].dtype());
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
  if (mode == "max") return roi_align_max(c, options);
  const Value both[] = {reshape(of_type(c[2], rois.dtype()), {rois.dim(0), 1}), rois};
  return roi_align(x, cat(both, 1), options);
}

constexpr OperatorRow kSampleRows[] = {
    {"AffineGrid", 20, grid_of_affine_map, {.folds = false}},
    {"GridSample", 16, sample_grid},
    {"RoiAlign", 10, align_rois},
};

}  // namespace

std::span<const OperatorRow> sample_rows() { return kSampleRows; }

}  // namespace kiln::onnx
