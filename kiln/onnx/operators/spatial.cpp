// Convolutions.
#include "kiln/ops/spatial/conv.hpp"

#include <algorithm>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/windows.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {

Spatial spatial_of(const Call& c, const Ints& list, int dims, std::int64_t otherwise, std::string_view what) {
  if (list.empty()) return Spatial::filled(dims, otherwise);
  c.check(static_cast<int>(list.size()) == dims, what, " has ", list.size(), " entries for ", dims,
          " spatial dimensions");
  return Spatial(list.begin(), list.end());
}

Windows windows_of(const Call& c, const Shape& x, const Ints& kernel) {
  const int dims = x.size() - 2;
  c.check(dims >= 1 && dims <= 3, "an operand of shape ", x, "; 1 to 3 spatial dimensions are needed");
  const Ints given = c.ints("kernel_shape");
  Windows w;
  w.kernel = spatial_of(c, given.empty() ? kernel : given, dims, 1, "kernel_shape");
  w.stride = spatial_of(c, c.ints("strides"), dims, 1, "strides");
  w.dilation = spatial_of(c, c.ints("dilations"), dims, 1, "dilations");
  w.before = w.after = Spatial::filled(dims, 0);
  for (int d = 0; d < dims; ++d)
    c.check(w.kernel[d] > 0 && w.stride[d] > 0 && w.dilation[d] > 0, "kernel ", w.kernel, ", strides ", w.stride,
            " and dilations ", w.dilation, " must be positive");
  const std::string how = c.s("auto_pad", "NOTSET");
  const Ints pads = c.ints("pads");
  if (how == "NOTSET" || how.empty()) {
    c.check(pads.empty() || static_cast<int>(pads.size()) == 2 * dims, "pads has ", pads.size(), " entries");
    for (int d = 0; d < dims && !pads.empty(); ++d) {
      w.before[d] = pads[static_cast<std::size_t>(d)];
      w.after[d] = pads[static_cast<std::size_t>(d + dims)];
    }
  } else if (how == "SAME_UPPER" || how == "SAME_LOWER") {
    for (int d = 0; d < dims; ++d) {
      const std::int64_t size = x[d + 2], results = size / w.stride[d] + (size % w.stride[d] != 0);
      const std::int64_t all = add_sizes(c.node.op, (results - 1) * w.stride[d], w.reach(d));
      const std::int64_t more = std::max<std::int64_t>(all - size, 0);
      w.before[d] = how == "SAME_UPPER" ? more / 2 : more - more / 2;
      w.after[d] = more - w.before[d];
    }
  } else {
    c.check(how == "VALID", "auto_pad '", how, "' is unknown");
  }
  return w;
}

namespace {

Ints kernel_of(const Value& weight) {
  return {weight.shape().begin() + std::min(2, weight.rank()), weight.shape().end()};
}

// Dimensions of one element under kernels of one, which TensorFlow's exporter adds to convolutions over lines. Kernels run
// along the last dimension, so they are left out, unless there is nothing else.
Dims points_of(const Windows& w, const Value& x, const Value& weight) {
  Dims points;
  for (int d = 0; d < w.dims() && weight.rank() == x.rank(); ++d)
    if (x.dim(d + 2) == 1 && weight.dim(d + 2) == 1 && w.before[d] == 0 && w.after[d] == 0) points.push_back(d + 2);
  return points.size() < w.dims() ? points : Dims();
}

ConvOptions options_of(const Call& c, const Windows& w) {
  return {.stride = w.stride,
          .padding = w.before,
          .dilation = w.dilation,
          .padding_after = w.after,
          .groups = c.i("group", 1)};
}

Value conv_without(const Dims& points, const Value& x, const Value& weight, const Value& bias, ConvOptions options) {
  if (points.empty()) return conv(x, weight, bias, options);
  for (Spatial* const list : {&options.stride, &options.dilation, &options.padding, &options.padding_after})
    for (int i = points.size() - 1; i >= 0; --i) list->erase(static_cast<int>(points[i]) - 2);
  return unsqueeze(conv(squeeze(x, points), squeeze(weight, points), bias, options), points);
}

// The operand of a convolution and its options: negative padding cuts elements off.
std::pair<Value, ConvOptions> convolved(const Call& c, const Value& x, const Value& weight) {
  const Windows w = windows_of(c, x.shape(), kernel_of(weight));
  ConvOptions options = options_of(c, w);
  Dims before{0, 0}, after{0, 0};
  bool cuts = false;
  for (int d = 0; d < w.dims(); ++d) {
    cuts = cuts || w.before[d] < 0 || w.after[d] < 0;
    before.push_back(std::min<std::int64_t>(w.before[d], 0)), after.push_back(std::min<std::int64_t>(w.after[d], 0));
    options.padding[d] -= before.back(), options.padding_after[d] -= after.back();
  }
  return {cuts ? pad(x, before, after) : x, options};
}

Value convolution(const Call& c, const Value& x, const Value& weight, const Value& bias) {
  const auto [of, options] = convolved(c, x, weight);
  if (of.shape() != x.shape()) return conv(of, weight, bias, options);
  return conv_without(points_of(windows_of(c, x.shape(), kernel_of(weight)), x, weight), x, weight, bias, options);
}

Results transposed(Call& c) {
  const Value &x = c[0], &weight = c[1], bias = c.get(2);
  Windows w = windows_of(c, x.shape(), kernel_of(weight));
  const int dims = w.dims();
  const Spatial more = spatial_of(c, c.ints("output_padding"), dims, 0, "output_padding");
  const std::string how = c.s("auto_pad", "NOTSET");
  Ints sizes = c.ints("output_shape");
  if (static_cast<int>(sizes.size()) == dims + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  const bool same = how == "SAME_UPPER" || how == "SAME_LOWER";
  if (!sizes.empty() || same) {
    const Spatial wanted = spatial_of(c, sizes, dims, 0, "output_shape");
    for (int d = 0; d < dims; ++d) {
      const std::int64_t steps = multiply_sizes("ConvTranspose", x.dim(d + 2), w.stride[d]);
      const std::int64_t result = sizes.empty() ? steps : wanted[d];
      const std::int64_t all = add_sizes("ConvTranspose", steps, add_sizes("ConvTranspose", more[d], w.reach(d)));
      const std::int64_t cut = all - w.stride[d] - result;
      // If nothing is cut off, all that is added stands at the end.
      w.before[d] = cut < 0 ? 0 : how == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      w.after[d] = cut - w.before[d];
    }
  }
  ConvOptions options = options_of(c, w);
  bool plain = true;  // as Kiln's own has it: what is cut off is no less than nothing, what is added less than a step
  for (int d = 0; d < dims; ++d) plain = plain && w.before[d] >= 0 && w.after[d] >= 0 && more[d] < w.stride[d];
  if (plain) return conv_transpose(x, weight, bias, options, more);
  options.padding = options.padding_after = {};
  Value result = conv_transpose(x, weight, {}, options);
  Dims before{0, 0}, after{0, 0};
  for (int d = 0; d < dims; ++d) before.push_back(-w.before[d]), after.push_back(more[d] - w.after[d]);
  result = pad(result, before, after);
  return bias.empty() ? result : result + along(bias, 1, result.rank());
}

Results deformable(Call& c) {
  const Value &x = c[0], &weight = c[1];
  const Windows w = windows_of(c, x.shape(), kernel_of(weight));
  c.check(w.dims() == 2, "two spatial dimensions are needed, not those of ", x.shape());
  return deform_conv2d(x, c[2], weight, c.get(3), c.get(4), options_of(c, w));
}

Results column_to_image(Call& c) {
  const Value& x = c[0];
  const Ints image = c.ints(1), block = c.ints(2);
  const int dims = static_cast<int>(image.size());
  c.check(dims >= 1 && dims <= 3 && x.rank() == 3, "an image of ", dims, " dimensions from ", x.shape());
  const Ints pads = c.ints("pads");
  c.check(pads.empty() || static_cast<int>(pads.size()) == 2 * dims, "pads has ", pads.size(), " entries");
  UnfoldOptions options;
  options.kernel = spatial_of(c, block, dims, 1, "block_shape");
  options.stride = spatial_of(c, c.ints("strides"), dims, 1, "strides");
  options.dilation = spatial_of(c, c.ints("dilations"), dims, 1, "dilations");
  Spatial padded(image.begin(), image.end());
  Dims before{0, 0}, after{0, 0};
  for (int d = 0; d < dims; ++d) {
    const std::int64_t front = pads.empty() ? 0 : pads[static_cast<std::size_t>(d)];
    const std::int64_t back = pads.empty() ? 0 : pads[static_cast<std::size_t>(d + dims)];
    padded[d] = add_sizes("Col2Im", padded[d], front + back);
    before.push_back(-front);
    after.push_back(-back);
  }
  options.padding = Spatial::filled(dims, 0);
  return pad(fold(x, padded, options), before, after);
}

// A depthwise convolution of [batch, channels, time] over what went before alone; the state is its last k - 1 elements.
Results causal_conv(Call& c) {
  const Value &x = c[0], &weight = c[1];
  c.check(x.rank() == 3 && weight.rank() == 3 && weight.dim(1) == 1, "x ", x.shape(), " and weight ", weight.shape());
  const std::int64_t past = weight.dim(2) - 1, channels = x.dim(1);
  const Value state = c.has(3) ? c[3] : zeros({x.dim(0), channels, past}, c.device(), x.dtype());
  const Value both[] = {state, x};
  const Value line = cat(both, 2);
  ConvOptions options;
  options.groups = channels;
  Value result = conv(line, weight, c.get(2), options);
  if (c.word("activation", "none", {"none", "silu", "swish"}) != "none") result = silu(result);
  return {result, narrow(line, 2, line.dim(2) - past, past)};
}

constexpr OperatorRow kSpatialRows[] = {
    {"CausalConvWithState", 27, causal_conv},
    {"Col2Im", 18, column_to_image, {.folds = false}},
    {"Conv", 1, [](Call& c) -> Results { return convolution(c, c[0], c[1], c.get(2)); }, {.shape = shape_rules::conv}},
    {"ConvTranspose", 1, transposed, {.folds = false}},
    {"DeformConv", 19, deformable},
};

}  // namespace

Value integer_convolution(const Call& c, const Value& x, const Value& weight, const Value& x_zero,
                          const Value& weight_zero) {
  const auto [of, options] = convolved(c, x, weight);
  return conv_integer(of, weight, x_zero, weight_zero, options);
}

std::span<const OperatorRow> spatial_rows() { return kSpatialRows; }

}  // namespace kiln::onnx
