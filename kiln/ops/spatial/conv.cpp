#include "kiln/ops/spatial/conv.hpp"

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"
#include "kiln/ops/spatial/taps.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {

ConvOptions same_padding(const Spatial& kernel, ConvOptions options) {
  op::require_reasonable("same_padding", {kernel, options.dilation});
  require<ArgumentError>(options.dilation.empty() || options.dilation.size() == kernel.size(),
                         "same_padding: dilation ", options.dilation, " does not fit kernel ", kernel);
  options.padding = options.padding_after = {};
  for (int i = 0; i < kernel.size(); ++i) {
    const std::int64_t reach = (options.dilation.empty() ? 1 : options.dilation[i]) * (kernel[i] - 1);
    options.padding.push_back(reach / 2);
    options.padding_after.push_back(reach - reach / 2);
  }
  return options;
}

namespace {

/// The sizes of a deformable convolution.
struct Deformable {
  std::int64_t batch, channels, groups, out, parts, rows, columns;
  Spatial sizes, kernel;  // rows and columns are the result's
  std::int64_t points() const { return multiply_sizes(kName, rows, columns); }
  std::int64_t taps() const { return multiply_sizes(kName, kernel[0], kernel[1]); }
  static constexpr std::string_view kName = "deform_conv2d";
};

Deformable sizes_of(const Value& x, const Value& offset, const Value& weight, const Value& mask, const op::Conv& conv) {
  constexpr std::string_view name = Deformable::kName;
  for (const Value& operand : {x, offset, weight}) {
    op::require_float(name, operand);
    require<ShapeError>(operand.rank() == 4, name, ": x, offset and weight need four dimensions, got ", operand);
  }
  const Value in[] = {x, cast(weight, x.dtype())};  // computed in the type of x
  const Shape shape = conv.infer(in)[0].shape;      // the checks of the plain convolution apply too
  Deformable d{.batch = x.dim(0),
               .channels = x.dim(1),
               .groups = conv.groups,
               .out = weight.dim(0),
               .parts = 0,
               .rows = shape[2],
               .columns = shape[3],
               .sizes = {x.dim(2), x.dim(3)},
               .kernel = {weight.dim(2), weight.dim(3)}};
  const std::int64_t numbers = multiply_sizes(name, 2, d.taps());  // for each point of a part
  d.parts = offset.dim(1) / numbers;
  require<ShapeError>(d.parts > 0 && d.channels % d.parts == 0 &&
                          offset.shape() == Shape{d.batch, d.parts * numbers, d.rows, d.columns},
                      name, ": offset ", offset.shape(), " must be [", d.batch, ", ", numbers, " * parts, ", d.rows,
                      ", ", d.columns, "] with parts that divide the ", d.channels, " channels of x");
  if (!mask) return d;
  op::require_float(name, mask);
  const Shape expected{d.batch, d.parts * d.taps(), d.rows, d.columns};
  require<ShapeError>(mask.shape() == expected, name, ": mask ", mask.shape(), " must be ", expected);
  return d;
}

/// [points, taps]: the positions that the plain convolution reads along an axis.
Value regular_places(const op::Conv& conv, const Deformable& d, int axis, const Value& like) {
  const auto number = [&](std::int64_t count, std::int64_t step, int dim) {
    Shape shape = Shape::filled(4, 1);
    shape[dim] = count;
    return reshape(arange(0, count, 1, like.device(), like.dtype()) * step, shape);
  };
  const Value windows = number(axis == 0 ? d.rows : d.columns, conv.stride[axis], axis) - conv.padding[axis];
  const Value places = windows + number(d.kernel[axis], conv.dilation[axis], axis + 2);
  return reshape(expand(places, {d.rows, d.columns, d.kernel[0], d.kernel[1]}), {d.points(), d.taps()});
}

/// [2, batch * parts, points * taps]
AxisTaps linear_taps(const Value& places, std::int64_t size, std::int64_t stride) {
  AxisTaps taps = taps_around(near_axis(flatten(places, 1), size, 1), Interpolation::Linear);
  taps.index = axis_index(taps.index, size, stride);
  return taps;
}

/// [batch * parts, channels / parts, points * taps]: the elements that the kernel reads.
Value deformed_columns(const Value& x, const Value& offset, const Value& mask, const op::Conv& conv,
                       const Deformable& d) {
  const std::int64_t images = d.batch * d.parts;
  const Value shifts = permute(reshape(offset, {images, d.taps(), 2, d.points()}), {0, 3, 1, 2});
  const AxisTaps axes[] = {linear_taps(at(shifts, -1, 0) + regular_places(conv, d, 0, offset), d.sizes[0], d.sizes[1]),
                           linear_taps(at(shifts, -1, 1) + regular_places(conv, d, 1, offset), d.sizes[1], 1)};
  const Value factor = mask ? flatten(transpose(reshape(mask, {images, d.taps(), d.points()})), 1) : Value();
  return blend(reshape(x, {images, d.channels / d.parts, d.sizes[0] * d.sizes[1]}), axes, factor);
}

}  // namespace

Value deform_conv2d(const Value& x, const Value& offset, const Value& weight, const Value& bias, const Value& mask,
                    const ConvOptions& options) {
  const CalledAs named("deform_conv2d");
  const op::Conv conv = op::to_conv(options, 2);
  const Deformable d = sizes_of(x, offset, weight, mask, conv);
  require<ShapeError>(!bias || bias.shape() == Shape{d.out}, "deform_conv2d: bias ", bias ? bias.shape() : Shape{},
                      " does not have the ", d.out, " result channels of weight ", weight.shape());
  const DType given = x.dtype(), dtype = size_of(given) == 2 ? DType::F32 : given;
  const auto wide = [&](const Value& value) { return value ? cast(value, dtype) : value; };
  const Value columns = deformed_columns(wide(x), wide(offset), wide(mask), conv, d);
  // [groups, images and points, taps and channels] x [groups, taps and channels, out]: channels are adjacent.
  const std::int64_t in = d.channels / d.groups, out = d.out / d.groups;
  const Value apart = permute(reshape(columns, {d.batch, d.channels, d.points(), d.taps()}), {0, 2, 3, 1});
  const Value grouped = permute(reshape(apart, {d.batch * d.points(), d.taps(), d.groups, in}), {2, 0, 1, 3});
  const Value rows = reshape(grouped, {d.groups, d.batch * d.points(), d.taps() * in});
  const Value filter = permute(reshape(wide(weight), {d.groups, out, in, d.taps()}), {0, 3, 2, 1});
  const Value product = matmul(rows, reshape(filter, {d.groups, d.taps() * in, out}));
  const Value last = reshape(permute(product, {1, 0, 2}), {d.batch, d.rows, d.columns, d.out});
  return permute(cast(bias ? last + wide(bias) : last, given), {0, 3, 1, 2});
}

namespace {

/// Window options with an entry for each spatial dimension, and the numbers of windows in `sizes`.
struct Windows {
  Spatial kernel, stride, padding, dilation, counts;

  Windows(std::string_view name, const UnfoldOptions& options, const Spatial& sizes) : kernel(options.kernel) {
    const int axes = sizes.size();
    const auto filled = [&](const Spatial& given, std::int64_t value) {
      return given.empty() ? Spatial::filled(axes, value) : given;
    };
    stride = filled(options.stride, 1), padding = filled(options.padding, 0), dilation = filled(options.dilation, 1);
    require<ArgumentError>(
        kernel.size() == axes && stride.size() == axes && padding.size() == axes && dilation.size() == axes, name,
        ": kernel ", kernel, ", stride ", stride, ", padding ", padding, " and dilation ", dilation, " need ", axes,
        " entries each");
    op::require_reasonable(name, {kernel, stride, padding, dilation});
    for (int i = 0; i < axes; ++i) {
      require<ArgumentError>(kernel[i] > 0 && stride[i] > 0 && dilation[i] > 0 && padding[i] >= 0, name, ": kernel ",
                             kernel, ", stride ", stride, " and dilation ", dilation, " must be positive, padding ",
                             padding, " not negative");
      const std::int64_t room = add_sizes(name, sizes[i], 2 * padding[i]) - dilation[i] * (kernel[i] - 1) - 1;
      require<ShapeError>(room >= 0, name, ": a window of ", kernel, " with dilation ", dilation, " does not fit into ",
                          sizes, " with padding ", padding);
      counts.push_back(room / stride[i] + 1);
    }
  }
};

std::int64_t product(std::string_view name, const Spatial& list) {
  std::int64_t result = 1;
  for (const auto entry : list) result = multiply_sizes(name, result, entry);
  return result;
}

Dims padding_of(const Spatial& padding) {
  Dims list{0, 0};
  for (const auto entry : padding) list.push_back(entry);
  return list;
}

}  // namespace

Value unfold(const Value& x, const UnfoldOptions& options) {
  op::require_tensor("unfold", x);
  require<ShapeError>(x.rank() >= 3 && x.rank() <= 5,
                      "unfold: needs [batch, channels, 1 to 3 spatial dimensions], got ", x);
  const Spatial sizes(x.shape().begin() + 2, x.shape().end());
  const Windows windows("unfold", options, sizes);
  const int axes = sizes.size();
  Value shown = pad(x, padding_of(windows.padding), padding_of(windows.padding));
  for (int i = 0; i < axes; ++i)
    shown = unfold(shown, i + 2, windows.kernel[i], windows.stride[i], windows.dilation[i]);
  Dims order{0, 1};  // channels, the kernel, then the windows
  for (int i = 0; i < axes; ++i) order.push_back(2 + axes + i);
  for (int i = 0; i < axes; ++i) order.push_back(2 + i);
  const std::int64_t elements = multiply_sizes("unfold", x.dim(1), product("unfold", windows.kernel));
  return reshape(permute(shown, order), {x.dim(0), elements, product("unfold", windows.counts)});
}

Value fold(const Value& columns, const Spatial& sizes, const UnfoldOptions& options) {
  op::require_tensor("fold", columns);
  const int axes = sizes.size();
  require<ArgumentError>(axes >= 1, "fold: needs 1 to 3 sizes");
  const Windows windows("fold", options, sizes);
  const std::int64_t taps = product("fold", windows.kernel), count = product("fold", windows.counts);
  require<ShapeError>(columns.rank() == 3 && columns.dim(1) % taps == 0 && columns.dim(2) == count, "fold: ", columns,
                      " must be [batch, channels * ", taps, ", ", count, "], which windows of ", windows.kernel, " in ",
                      sizes, " give");
  const std::int64_t channels = columns.dim(1) / taps;
  Shape apart{columns.dim(0), channels};
  for (const auto size : windows.kernel) apart.push_back(size);
  for (const auto windows_along : windows.counts) apart.push_back(windows_along);
  Dims order{0, 1};
  for (int i = 0; i < axes; ++i) order.push_back(2 + axes + i);
  for (int i = 0; i < axes; ++i) order.push_back(2 + i);
  Value image = permute(reshape(columns, apart), order);
  for (int i = axes - 1; i >= 0; --i) {
    image = fold(image, i + 2, sizes[i] + 2 * windows.padding[i], windows.stride[i], windows.dilation[i]);
  }
  for (int i = 0; i < axes; ++i) image = narrow(image, i + 2, windows.padding[i], sizes[i]);
  return image;
}

namespace {

void require_factor(std::string_view name, const Value& x, std::int64_t factor) {
  op::require_tensor(name, x);
  require<ShapeError>(x.rank() >= 3 && x.rank() <= 5, name,
                      ": needs [batch, channels, 1 to 3 spatial dimensions], got ", x);
  require<ArgumentError>(factor > 0 && factor < 1 << 20, name, ": the factor ", factor, " is not positive");
}

}  // namespace

// Moves a dimension of the factor from the channels to each size, or back.
Value pixel_shuffle(const Value& x, std::int64_t factor) {
  require_factor("pixel_shuffle", x, factor);
  const int axes = x.rank() - 2;
  const std::int64_t share = product("pixel_shuffle", Spatial::filled(axes, factor));
  require<ShapeError>(x.dim(1) % share == 0, "pixel_shuffle: the ", x.dim(1), " channels of ", x,
                      " are no multiple of ", share);
  Shape apart{x.dim(0), x.dim(1) / share}, joined = apart;
  Dims order{0, 1};
  for (int i = 0; i < axes; ++i) {
    apart.push_back(factor);
    joined.push_back(multiply_sizes("pixel_shuffle", x.dim(i + 2), factor));
    order.push_back(2 + axes + i);
    order.push_back(2 + i);
  }
  for (int i = 0; i < axes; ++i) apart.push_back(x.dim(i + 2));
  return reshape(permute(reshape(x, apart), order), joined);
}

Value pixel_unshuffle(const Value& x, std::int64_t factor) {
  require_factor("pixel_unshuffle", x, factor);
  const int axes = x.rank() - 2;
  constexpr std::string_view name = "pixel_unshuffle";
  const std::int64_t share = product(name, Spatial::filled(axes, factor));
  Shape apart{x.dim(0), x.dim(1)}, joined{x.dim(0), multiply_sizes(name, x.dim(1), share)};
  Dims order{0, 1};
  for (int i = 0; i < axes; ++i) {
    require<ShapeError>(x.dim(i + 2) % factor == 0, name, ": ", x, " does not divide into blocks of ", factor);
    apart.push_back(x.dim(i + 2) / factor);
    apart.push_back(factor);
    joined.push_back(x.dim(i + 2) / factor);
    order.push_back(3 + 2 * i);
  }
  for (int i = 0; i < axes; ++i) order.push_back(2 + 2 * i);
  return reshape(permute(reshape(x, apart), order), joined);
}

}  // namespace kiln
