// The sizes of a convolution. They always describe the convolution itself, also when one of its two adjoints is
// computed.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::conv {

/// The passes: the convolution, its adjoint in x, and its adjoint in the weight.
enum class Pass : std::int64_t { Forward, Data, Weight };

/// x [batch, in, sizes...], weight [out, in / groups, kernel...], y [batch, out, result...]
struct Geometry {
  std::int64_t batch, in, out, groups;
  Spatial sizes, kernel, result;
  Spatial stride, padding, padding_after, dilation;

  static Geometry of(const op::Conv& conv, const Shape& x, const Shape& y, const Spatial& kernel) {
    return {.batch = x[0],
            .in = x[1],
            .out = y[1],
            .groups = conv.groups,
            .sizes = spatial(x),
            .kernel = kernel,
            .result = spatial(y),
            .stride = conv.stride,
            .padding = conv.padding,
            .padding_after = conv.padding_after,
            .dilation = conv.dilation};
  }
  static Geometry of(const op::Conv& conv, const Call& call) {
    using Slot = op::Conv::Slot;
    return of(conv, call.in[Slot::x].shape(), call.out[0].shape(), spatial(call.in[Slot::weight].shape()));
  }
  static Geometry of(const op::ConvTranspose& op, const Call& call) {
    using Slot = op::ConvTranspose::Slot;
    return of(op.conv, call.out[0].shape(), call.in[Slot::y].shape(), spatial(call.in[Slot::weight].shape()));
  }
  static Geometry of(const op::ConvWeightGrad& op, const Call& call) {
    using Slot = op::ConvWeightGrad::Slot;
    return of(op.conv, call.in[Slot::x].shape(), call.in[Slot::y].shape(), op.kernel);
  }

  /// Returns the sizes of a tensor [first, second, sizes...].
  static Spatial spatial(const Shape& shape) { return Spatial(shape.begin() + 2, shape.end()); }

  static std::int64_t product(const Spatial& list) {
    std::int64_t result = 1;
    for (const std::int64_t size : list) result *= size;
    return result;
  }
  bool empty() const { return batch * in * out * product(sizes) * product(result) == 0; }
  /// Returns the floating-point operations for one image.
  std::int64_t cost() const { return 2 * product(result) * product(kernel) * (in / groups) * out; }
  /// Returns how many elements of x along `axis` one element of y needs.
  std::int64_t reach(int axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }

  /// Whether it is 1 x 1 with stride 1, no padding and one group: a matrix product of pixels and channels.
  bool pointwise() const {
    for (int i = 0; i < kernel.size(); ++i)
      if (kernel[i] != 1 || stride[i] != 1 || padding[i] != 0 || padding_after[i] != 0) return false;
    return groups == 1;
  }

  /// Returns the number of lines of an image: pixels along the last axis.
  static std::int64_t lines(const Spatial& sizes) { return product(sizes) / sizes.back(); }
  /// Returns the line of an image of x under line `place` of the kernel for line `line` of an image of y; -1: padding.
  std::int64_t line_under(std::int64_t line, std::int64_t place) const { return under(sizes.size() - 1, line, place); }
  /// Does the same for pixels.
  std::int64_t pixel_under(std::int64_t pixel, std::int64_t place) const { return under(sizes.size(), pixel, place); }

  /// Returns the convolution of y, with the kernel flipped, that equals the adjoint in x. The stride must be 1.
  Geometry flipped() const {
    Geometry result = *this;
    std::swap(result.in, result.out);
    std::swap(result.sizes, result.result);
    for (int i = 0; i < kernel.size(); ++i) {
      result.padding[i] = reach(i) - 1 - padding[i];
      result.padding_after[i] = reach(i) - 1 - padding_after[i];
    }
    return result;
  }

  /// Returns the geometry for some of the images.
  Geometry images(std::int64_t count) const {
    Geometry part = *this;
    part.batch = count;
    return part;
  }
  /// Whether there are so few images that they alone do not keep the cores busy.
  bool few_images() const { return batch < 4; }
  /// Whether each row of y (the first axis) overlaps x. Then rows() may be called.
  bool has_rows() const { return padding[0] < reach(0) && padding_after[0] < reach(0); }
  /// Returns the first row of x (the first axis) under row `row` of y that is not padding.
  std::int64_t first_row(std::int64_t row) const { return std::max<std::int64_t>(0, row * stride[0] - padding[0]); }
  /// Returns the geometry for rows [begin, end) of y of one image. Requires has_rows().
  Geometry rows(std::int64_t begin, std::int64_t end) const {
    Geometry part = images(1);
    const std::int64_t from = begin * stride[0] - padding[0], to = (end - 1) * stride[0] - padding[0] + reach(0);
    part.padding[0] = std::max<std::int64_t>(0, -from);
    part.padding_after[0] = std::max<std::int64_t>(0, to - sizes[0]);
    part.sizes[0] = std::min(sizes[0], to) - std::max<std::int64_t>(0, from);
    part.result[0] = end - begin;
    return part;
  }

  /// Returns the rows [begin, end) of y (the first axis) that the adjoint reads for rows [first, last) of x.
  struct Rows {
    std::int64_t begin, end;
  };
  Rows rows_over(std::int64_t first, std::int64_t last) const {
    const std::int64_t from = first + padding[0] - reach(0) + 1;  // the first row whose window reaches `first`
    const std::int64_t begin = from <= 0 ? 0 : (from + stride[0] - 1) / stride[0];
    return {begin, std::min(result[0], (last - 1 + padding[0]) / stride[0] + 1)};
  }
  /// Returns the geometry for rows [first, last) of x of one image. The stride must not exceed reach(0).
  Geometry rows_of_x(std::int64_t first, std::int64_t last) const {
    Geometry part = images(1);
    const auto [begin, end] = rows_over(first, last);
    part.sizes[0] = last - first;
    part.result[0] = end - begin;
    part.padding[0] = padding[0] + first - begin * stride[0];
    part.padding_after[0] = std::max<std::int64_t>(0, (end - 1) * stride[0] - padding[0] + reach(0) - last);
    return part;
  }

  /// Returns the element of x, along the first `axes` axes, under tap `place` of the kernel for element `at` of y; -1:
  /// padding.
  std::int64_t under(int axes, std::int64_t at, std::int64_t place) const {
    std::int64_t found = 0, step = 1;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::int64_t here =
          at % result[axis] * stride[axis] - padding[axis] + place % kernel[axis] * dilation[axis];
      if (here < 0 || here >= sizes[axis]) return -1;
      found += here * step;
      step *= sizes[axis];
      at /= result[axis];
      place /= kernel[axis];
    }
    return found;
  }
};

/// Returns the sizes of a convolution along three axes. Missing axes come first and have size 1.
struct ThreeAxes {
  using List = std::array<std::int64_t, 3>;
  List sizes, kernel, result, stride, padding, dilation;

  explicit ThreeAxes(const Geometry& g)
      : sizes(lifted(g.sizes, 1)),
        kernel(lifted(g.kernel, 1)),
        result(lifted(g.result, 1)),
        stride(lifted(g.stride, 1)),
        padding(lifted(g.padding, 0)),
        dilation(lifted(g.dilation, 1)) {}

  static List lifted(const Spatial& list, std::int64_t others) {
    List axes{others, others, others};
    std::copy(list.begin(), list.end(), axes.end() - list.size());
    return axes;
  }
};

}  // namespace kiln::cpu::conv
