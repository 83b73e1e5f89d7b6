#include "kiln/ops/create/create.hpp"
#include "kiln/core/random.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {

std::vector<OpCase> create_rows() {
  const Key key{42};
  std::vector<OpCase> rows;
  rows.push_back(
      {.name = "fill",
       .operands = {{{2, 3}}},
       .function = [](const Values& in) { return Values{in[0] + full({2, 3}, 1.5, in[0].device(), in[0].dtype())}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array result = in[0];
             for (double& x : result.v) x += 1.5;
             return std::vector<Array>{result};
           }});
  rows.push_back({.name = "arange",
                  .operands = {{{}}},
                  .function =
                      [](const Values& in) {
                        return Values{arange(1.5, -3.0, -0.5, in[0].device(), in[0].dtype()),
                                      arange(2, 40, 3, in[0].device())};
                      },
                  .meaning =
                      [](const std::vector<Array>&) {
                        Array down({9}), up({13});
                        for (std::size_t i = 0; i < 9; ++i) down.v[i] = 1.5 - 0.5 * static_cast<double>(i);
                        for (std::size_t i = 0; i < 13; ++i) up.v[i] = 2 + 3 * static_cast<double>(i);
                        return std::vector<Array>{down, up};
                      },
                  .gradient = false});
  rows.push_back({.name = "spaces",
                  .operands = {{{2, 3}}},
                  .function =
                      [](const Values& in) {
                        const Device device = in[0].device();
                        const DType dtype = in[0].dtype();
                        return Values{linspace(-1, 2, 7, device, dtype), logspace(0, 3, 4, device, 2, dtype),
                                      eye({2, 3}, device, dtype) * in[0], empty({2}, device, dtype),
                                      full_like(in[0], 4) + empty_like(in[0])};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array line({7}), powers({4}), diagonal({2, 3});
                        for (std::size_t i = 0; i < 7; ++i) line.v[i] = -1 + 0.5 * static_cast<double>(i);
                        for (std::size_t i = 0; i < 4; ++i) powers.v[i] = static_cast<double>(1 << i);
                        for (const std::int64_t i : {0, 1}) diagonal({i, i}) = in[0]({i, i});
                        return std::vector<Array>{line, powers, diagonal, Array({2}), Array({2, 3}, 4)};
                      }});
  rows.push_back({.name = "random",
                  .operands = {{{}}},
                  .function =
                      [key](const Values& in) {
                        const Device device = in[0].device();
                        return Values{uniform({3, 5}, -1, 3, device, DType::F32, key),
                                      uniform({3, 5}, -1, 3, device, DType::F64, key),
                                      bernoulli({3, 5}, 0.3, device, in[0].dtype(), key)};
                      },
                  .meaning =
                      [key](const std::vector<Array>&) {
                        Array single({3, 5}), both({3, 5}), bernoulli({3, 5});
                        for (std::size_t i = 0; i < 15; ++i) {
                          const double u = to_uniform(random_word(key, i));
                          single.v[i] = -1 + 4 * u;
                          both.v[i] = -1 + 4 * to_uniform(random_word(key, 2 * i), random_word(key, 2 * i + 1));
                          bernoulli.v[i] = u < 0.3 ? 1 : 0;
                        }
                        return std::vector<Array>{single, both, bernoulli};
                      },
                  .gradient = false});
  const auto dropout_row = [&](std::string name, const Shape& shape, bool gradient) {
    return OpCase{.name = std::move(name),
                  .operands = {{shape}},
                  .function = [key](const Values& in) { return Values{dropout(in[0], 0.25, key)}; },
                  .meaning =
                      [key](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (std::size_t i = 0; i < result.v.size(); ++i)
                          result.v[i] =
                              (random_word(key, i / 2) >> 16 * (i % 2) & 0xffff) >= 16384 ? result.v[i] / 0.75 : 0;
                        return std::vector<Array>{result};
                      },
                  .tolerance = 2,
                  .gradient = gradient};
  };
  rows.push_back(dropout_row("dropout", {4, 6}, true));
  rows.push_back(dropout_row("dropout_of_several_blocks", {5, 1300}, false));
  rows.push_back({.name = "dropout_of_everything",
                  .operands = {{{7}}},
                  .function = [key](const Values& in) { return Values{dropout(in[0], 1.0, key)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{Array(in[0].shape)}; }});
  return rows;
}

const Family kCreate(&create_rows);

}  // namespace kiln::test
