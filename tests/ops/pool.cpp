#include <cmath>
#include <limits>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

Spatial or_else(const Spatial& given, const Spatial& otherwise) { return given.empty() ? otherwise : given; }

/// For every result element: the indices (spatial) of its window that lie inside the input.
void each_window(
    const Shape& x, const Shape& y, const PoolOptions& o,
    const std::function<void(const Dims& result, const std::vector<Dims>& inside, std::int64_t padded)>& f) {
  const int axes = x.size() - 2;
  const Spatial ones = Spatial::filled(axes, 1), none = Spatial::filled(axes, 0);
  const Spatial stride = or_else(o.stride, o.kernel), padding = or_else(o.padding, none),
                dilation = or_else(o.dilation, ones);
  each_index(y, [&](const Dims& yi) {
    std::vector<Dims> inside;
    std::int64_t padded = 0;
    each_index(Shape(o.kernel.begin(), o.kernel.end()), [&](const Dims& tap) {
      Dims xi{yi[0], yi[1]};
      bool in = true, in_padding = true;
      for (int a = 0; a < axes; ++a) {
        const std::int64_t at = yi[a + 2] * stride[a] - padding[a] + tap[a] * dilation[a];
        in &= at >= 0 && at < x[a + 2];
        in_padding &= at < x[a + 2] + padding[a];
        xi.push_back(at);
      }
      padded += in_padding;
      if (in) inside.push_back(xi);
    });
    f(yi, inside, padded);
  });
}

Shape pooled(const Shape& x, const PoolOptions& o) {
  const int axes = x.size() - 2;
  const Spatial stride = or_else(o.stride, o.kernel), padding = or_else(o.padding, Spatial::filled(axes, 0)),
                dilation = or_else(o.dilation, Spatial::filled(axes, 1));
  Shape shape{x[0], x[1]};
  for (int a = 0; a < axes; ++a) {
    const double room = static_cast<double>(x[a + 2] + 2 * padding[a] - dilation[a] * (o.kernel[a] - 1) - 1) /
                        static_cast<double>(stride[a]);
    std::int64_t count = static_cast<std::int64_t>(o.ceil ? std::ceil(room) : std::floor(room)) + 1;
    if (o.ceil && (count - 1) * stride[a] >= x[a + 2] + padding[a]) --count;  // a window must begin inside
    shape.push_back(count);
  }
  return shape;
}

Row max_row(std::string name, const Shape& x, const PoolOptions& o) {
  return {.name = std::move(name),
          .operands = {{x}},
          .function =
              [o](const Values& in) {
                const MaxPoolResult result = max_pool_with_indices(in[0], o);
                return Values{result.values, result.indices};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array values(pooled(x, o)), indices = values;
                each_window(x, values.shape, o, [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t) {
                  double best = -std::numeric_limits<double>::infinity();
                  for (const Dims& xi : inside)
                    if (in[0](xi) > best) {
                      best = in[0](xi);
                      std::int64_t flat = 0;
                      for (int a = 2; a < xi.size(); ++a) flat = flat * x[a] + xi[a];
                      values(yi) = best;
                      indices(yi) = static_cast<double>(flat);
                    }
                });
                return std::vector<Array>{values, indices};
              }};
}

Row average_row(std::string name, const Shape& x, const PoolOptions& o) {
  return {
      .name = std::move(name),
      .operands = {{x}},
      .function = [o](const Values& in) { return Values{avg_pool(in[0], o)}; },
      .meaning =
          [=](const std::vector<Array>& in) {
            Array result(pooled(x, o));
            each_window(x, result.shape, o, [&](const Dims& yi, const std::vector<Dims>& inside, std::int64_t padded) {
              double total = 0;
              for (const Dims& xi : inside) total += in[0](xi);
              result(yi) =
                  total / static_cast<double>(o.count_padding ? padded : static_cast<std::int64_t>(inside.size()));
            });
            return std::vector<Array>{result};
          },
      .tolerance = 2};
}

Row adaptive_row(std::string name, const Shape& x, const Spatial& sizes) {
  return {
      .name = std::move(name),
      .operands = {{x}},
      .function = [sizes](const Values& in) { return Values{adaptive_avg_pool(in[0], sizes)}; },
      .meaning =
          [=](const std::vector<Array>& in) {
            Shape shape{x[0], x[1]};
            for (const auto size : sizes) shape.push_back(size);
            Array result(shape);
            each_index(shape, [&](const Dims& yi) {
              Shape extent;
              Dims begin;
              for (int a = 0; a < sizes.size(); ++a) {
                const double scale = static_cast<double>(x[a + 2]) / static_cast<double>(sizes[a]);
                begin.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(yi[a + 2]) * scale + 1e-9)));
                extent.push_back(
                    static_cast<std::int64_t>(std::ceil(static_cast<double>(yi[a + 2] + 1) * scale - 1e-9)) - begin[a]);
              }
              double total = 0;
              each_index(extent, [&](const Dims& offset) {
                Dims xi{yi[0], yi[1]};
                for (int a = 0; a < offset.size(); ++a) xi.push_back(begin[a] + offset[a]);
                total += in[0](xi);
              });
              result(yi) = total / static_cast<double>(numel(extent));
            });
            return std::vector<Array>{result};
          },
      .tolerance = 2};
}

std::vector<Row> pool_rows() {
  return {
      max_row("max_pool1d", {2, 3, 7}, {.kernel = {3}, .stride = {2}}),
      max_row("max_pool2d", {2, 2, 4, 6}, {.kernel = {2, 2}}),
      max_row("max_pool2d_overlapping", {1, 2, 5, 5}, {.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}}),
      max_row("max_pool2d_dilated", {1, 1, 6, 6}, {.kernel = {2, 2}, .stride = {1, 1}, .dilation = {2, 3}}),
      max_row("max_pool2d_ceil", {1, 1, 5, 6}, {.kernel = {2, 3}, .stride = {2, 2}, .padding = {0, 1}, .ceil = true}),
      max_row("max_pool3d", {1, 1, 3, 4, 4}, {.kernel = {2, 2, 2}, .stride = {1, 2, 2}}),
      max_row("max_pool2d_many_channels", {2, 21, 6, 6}, {.kernel = {2, 2}}),
      average_row("avg_pool1d", {2, 3, 7}, {.kernel = {3}, .stride = {2}}),
      average_row("avg_pool2d", {2, 2, 4, 6}, {.kernel = {2, 2}}),
      average_row("avg_pool2d_padded", {1, 2, 5, 5}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
      average_row("avg_pool2d_padding_not_counted", {1, 2, 5, 5},
                  {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_padding = false}),
      average_row("avg_pool2d_ceil", {1, 1, 5, 6}, {.kernel = {2, 2}, .stride = {2, 2}, .ceil = true}),
      average_row("avg_pool3d", {1, 1, 3, 4, 4}, {.kernel = {2, 2, 2}, .stride = {1, 2, 2}}),
      average_row("avg_pool2d_no_batch", {0, 2, 4, 4}, {.kernel = {2, 2}}),
      adaptive_row("adaptive_avg_pool2d", {2, 2, 6, 4}, {3, 2}),
      adaptive_row("adaptive_avg_pool2d_uneven", {1, 2, 7, 5}, {3, 4}),
      adaptive_row("adaptive_avg_pool1d", {1, 2, 9}, {4}),
      adaptive_row("adaptive_avg_pool3d", {1, 1, 4, 3, 5}, {2, 2, 2}),
      adaptive_row("adaptive_avg_pool2d_many_channels", {2, 19, 12, 12}, {4, 4})};
}

const Family pool(&pool_rows);

}  // namespace
}  // namespace kiln::test
