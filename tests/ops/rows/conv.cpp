#include "kiln/ops/spatial/conv.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

struct Options {
  Spatial stride, padding, dilation, after;
  std::int64_t groups = 1;
};

/// Calls f(x index, weight index, y index) for every product of the convolution.
void each_product(const Shape& x, const Shape& w, const Shape& y, const Options& o,
                  const std::function<void(const Dims&, const Dims&, const Dims&)>& f) {
  const std::int64_t in_per_group = w[1], out_per_group = w[0] / o.groups;
  each_index(y, [&](const Dims& yi) {
    Shape taps = w;
    taps[0] = 1;
    each_index(taps, [&](Dims wi) {
      wi[0] = yi[1];
      Dims xi{yi[0], yi[1] / out_per_group * in_per_group + wi[1]};
      for (int a = 0; a < o.stride.size(); ++a) {
        const std::int64_t at = yi[a + 2] * o.stride[a] - o.padding[a] + wi[a + 2] * o.dilation[a];
        if (at < 0 || at >= x[a + 2]) return;
        xi.push_back(at);
      }
      f(xi, wi, yi);
    });
  });
}

OpCase convolution(std::string name, const Shape& x, const Shape& w, const Options& o, bool bias,
                   bool gradient = true) {
  std::vector<OperandSpec> operands = {{x, -1, 1}, {w, -1, 1}};
  if (bias) operands.push_back({{w[0]}, -1, 1});
  return {.name = std::move(name),
          .operands = operands,
          .function =
              [=](const Values& in) {
                return Values{
                    conv(in[0], in[1], bias ? in[2] : Value(), {o.stride, o.padding, o.dilation, o.after, o.groups})};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Shape shape{x[0], w[0]};
                for (int a = 0; a < o.stride.size(); ++a)
                  shape.push_back((x[a + 2] + o.padding[a] + (o.after.empty() ? o.padding : o.after)[a] -
                                   o.dilation[a] * (w[a + 2] - 1) - 1) /
                                      o.stride[a] +
                                  1);
                Array y(shape);
                each_product(x, w, shape, o,
                             [&](const Dims& xi, const Dims& wi, const Dims& yi) { y(yi) += in[0](xi) * in[1](wi); });
                if (bias) each_index(shape, [&](const Dims& yi) { y(yi) += in[2]({yi[1]}); });
                return std::vector<Array>{y};
              },
          .tolerance = 4,
          .gradient = gradient};
}

/// Bytes less their zero points; padding is that of x.
OpCase convolution_of_bytes(std::string name, const Shape& x, const Shape& w, const Options& o, DType left, DType right,
                            const Shape& w_zero) {
  OpCase row = convolution(std::move(name), x, w, o, false, false);
  const auto bytes = [](const Shape& shape, DType dtype) {
    return dtype == DType::U8 ? OperandSpec{shape, 0, 256, OperandSpec::Index}
                              : OperandSpec{shape, -128, 128, OperandSpec::Index};
  };
  row.operands = {bytes(x, left), bytes(w, right), bytes({}, left), bytes(w_zero, right)};
  row.function = [=](const Values& in) {
    const Value data = cast(in[0], left), weight = cast(in[1], right);
    const ConvOptions options{o.stride, o.padding, o.dilation, o.after, o.groups};
    return Values{conv_integer(data, weight, cast(in[2], left), cast(in[3], right), options),
                  conv_integer(data, weight, {}, {}, options)};
  };
  row.meaning = [plain = row.meaning](const std::vector<Array>& in) {
    std::vector<Array> steps{in[0], in[1]};
    for (double& number : steps[0].v) number -= in[2].v[0];
    each_index(in[1].shape, [&](const Dims& index) {
      steps[1](index) -= in[3].v[in[3].v.size() == 1 ? 0 : static_cast<std::size_t>(index[0])];
    });
    return std::vector<Array>{plain(steps)[0], plain({in[0], in[1]})[0]};
  };
  row.halves = false;
  return row;
}

OpCase transposed(std::string name, const Shape& y, const Shape& w, const Options& o, const Spatial& more, bool bias) {
  std::vector<OperandSpec> operands = {{y, -1, 1}, {w, -1, 1}};
  if (bias) operands.push_back({{w[1] * o.groups}, -1, 1});
  return {.name = std::move(name),
          .operands = operands,
          .function =
              [=](const Values& in) {
                return Values{conv_transpose(in[0], in[1], bias ? in[2] : Value(),
                                             {o.stride, o.padding, o.dilation, {}, o.groups}, more)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Shape shape{y[0], w[1] * o.groups};
                for (int a = 0; a < o.stride.size(); ++a)
                  shape.push_back((y[a + 2] - 1) * o.stride[a] - 2 * o.padding[a] + o.dilation[a] * (w[a + 2] - 1) + 1 +
                                  (more.empty() ? 0 : more[a]));
                Array x(shape);
                each_product(shape, w, y, o,
                             [&](const Dims& xi, const Dims& wi, const Dims& yi) { x(xi) += in[0](yi) * in[1](wi); });
                if (bias) each_index(shape, [&](const Dims& xi) { x(xi) += in[2]({xi[1]}); });
                return std::vector<Array>{x};
              },
          .tolerance = 4};
}

std::vector<OpCase> conv_rows() {
  return {
      convolution("conv1d", {2, 3, 7}, {4, 3, 3}, {{1}, {0}, {1}, {}}, true),
      convolution("conv1d_strided", {1, 2, 9}, {3, 2, 3}, {{2}, {2}, {2}, {}}, false),
      convolution("conv2d", {2, 2, 5, 4}, {3, 2, 3, 2}, {{1, 1}, {0, 0}, {1, 1}, {}}, true),
      convolution("conv2d_one_channel", {2, 1, 6, 6}, {2, 1, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, {}}, true),
      convolution("conv2d_strided_padded", {1, 2, 6, 5}, {2, 2, 3, 3}, {{2, 1}, {1, 2}, {1, 1}, {}}, false),
      convolution("conv2d_padded_unevenly", {1, 1, 4, 4}, {2, 1, 2, 2}, {{1, 1}, {0, 1}, {1, 1}, {1, 0}}, false),
      convolution("conv2d_dilated", {1, 1, 7, 6}, {2, 1, 3, 2}, {{1, 1}, {1, 0}, {2, 3}, {}}, false),
      convolution("conv2d_groups", {2, 4, 4, 4}, {6, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, {}, 2}, true),
      convolution("conv2d_depthwise", {1, 3, 5, 5}, {3, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 3}, false),
      convolution_of_bytes("conv_integer", {2, 3, 7, 6}, {5, 3, 3, 2}, {{2, 1}, {1, 0}, {1, 2}, {0, 1}}, DType::U8,
                           DType::I8, {}),
      convolution_of_bytes("conv_integer_1d", {2, 3, 7}, {4, 3, 3}, {{1}, {1}, {1}, {}}, DType::I8, DType::U8, {4}),
      convolution_of_bytes("conv_integer_groups", {1, 4, 5, 5}, {6, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, {}, 2},
                           DType::U8, DType::U8, {6}),
      convolution_of_bytes("conv_integer_depthwise", {1, 9, 5, 5}, {9, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 9},
                           DType::U8, DType::I8, {9}),
      convolution_of_bytes("conv_integer_no_batch", {0, 2, 5, 5}, {3, 2, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, {}}, DType::U8,
                           DType::I8, {}),
      convolution("conv2d_1x1", {2, 3, 3, 3}, {4, 3, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, {}}, true),
      convolution("conv2d_no_batch", {0, 2, 5, 5}, {3, 2, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, {}}, true),
      convolution("conv3d", {1, 2, 3, 4, 3}, {2, 2, 2, 2, 2}, {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {}}, true),
      convolution("conv3d_strided", {1, 1, 4, 4, 4}, {2, 1, 2, 2, 2}, {{2, 1, 2}, {1, 0, 1}, {1, 1, 1}, {}}, false),
      convolution("conv2d_large", {5, 8, 26, 26}, {16, 8, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, {}}, true, false),
      convolution("conv2d_first_layer", {5, 1, 28, 28}, {8, 1, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, {}}, true, false),
      transposed("conv_transpose1d", {2, 3, 4}, {3, 2, 3}, {{2}, {1}, {1}, {}}, {1}, true),
      transposed("conv_transpose2d", {1, 2, 3, 3}, {2, 3, 2, 3}, {{2, 1}, {0, 1}, {1, 1}, {}}, {}, true),
      transposed("conv_transpose2d_groups", {1, 4, 3, 2}, {4, 1, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 2}, {1, 0}, false),
      transposed("conv_transpose2d_dilated", {1, 1, 3, 3}, {1, 2, 2, 2}, {{1, 1}, {0, 0}, {2, 2}, {}}, {}, false),
      transposed("conv_transpose3d", {1, 2, 2, 2, 2}, {2, 1, 2, 2, 2}, {{2, 2, 2}, {0, 0, 0}, {1, 1, 1}, {}}, {},
                 false),
  };
}

const Family kConv(&conv_rows);

}  // namespace
}  // namespace kiln::test
