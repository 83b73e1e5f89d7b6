#include <cmath>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

OpCase softmax_row(std::string name, const Shape& shape, int dim, bool log, double reach = 2, bool gradient = true) {
  return {.name = std::move(name),
          .operands = {{shape, -reach, reach}},
          .function = [=](const Values& in) { return Values{log ? log_softmax(in[0], dim) : softmax(in[0], dim)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(shape);
                each_index(shape, [&](const Dims& i) {
                  long double total = 0;
                  for (std::int64_t k = 0; k < shape[dim]; ++k) {
                    Dims other = i;
                    other[dim] = k;
                    total += std::exp(static_cast<long double>(in[0](other) - in[0](i)));
                  }
                  result(i) = static_cast<double>(log ? -std::log(total) : 1 / total);
                });
                return std::vector<Array>{result};
              },
          .tolerance = 4,
          .gradient = gradient};
}

OpCase layer_norm_row(std::string name, const Shape& shape, const Shape& last, bool gradient = true) {
  return {.name = std::move(name),
          .operands = {{shape}, {last, 0.5, 1.5}, {last, -1, 1}},
          .function = [](const Values& in) { return Values{layer_norm(in[0], in[1], in[2], 1e-3)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(shape);
                const std::int64_t width = numel(last);
                for (std::int64_t row = 0; width > 0 && row < numel(shape) / width; ++row) {
                  const double* x = in[0].v.data() + row * width;
                  double mean = 0, variance = 0;
                  for (std::int64_t i = 0; i < width; ++i) mean += x[i] / static_cast<double>(width);
                  for (std::int64_t i = 0; i < width; ++i)
                    variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(width);
                  for (std::int64_t i = 0; i < width; ++i)
                    result.v[static_cast<std::size_t>(row * width + i)] =
                        (x[i] - mean) / std::sqrt(variance + 1e-3) * in[1].v[static_cast<std::size_t>(i)] +
                        in[2].v[static_cast<std::size_t>(i)];
                }
                return std::vector<Array>{result};
              },
          .tolerance = 8,
          .gradient = gradient};
}

std::vector<OpCase> norm_rows() {
  return {softmax_row("softmax", {3, 5}, 1, false),
          softmax_row("softmax_first_dim", {4, 3}, 0, false),
          softmax_row("softmax_middle_dim", {2, 4, 3}, 1, false),
          softmax_row("softmax_wide", {3, 131}, 1, false, 5, false),
          softmax_row("softmax_of_large_numbers", {2, 6}, 1, false, 1000, false),
          softmax_row("softmax_of_nothing", {0, 3}, 1, false),
          softmax_row("softmax_size_1", {3, 1}, 1, false),
          softmax_row("log_softmax", {3, 5}, 1, true),
          softmax_row("log_softmax_first_dim", {4, 3}, 0, true),
          softmax_row("log_softmax_wide", {3, 131}, 1, true, 5, false),
          layer_norm_row("layer_norm", {3, 6}, {6}),
          layer_norm_row("layer_norm_of_three_dims", {2, 3, 4}, {4}),
          layer_norm_row("layer_norm_over_two_dims", {2, 3, 4}, {3, 4}),
          layer_norm_row("layer_norm_wide", {5, 259}, {259}, false),
          layer_norm_row("layer_norm_of_nothing", {0, 4}, {4})};
}

const Family kNorm(&norm_rows);

}  // namespace
}  // namespace kiln::test
