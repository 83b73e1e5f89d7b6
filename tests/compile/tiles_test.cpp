// Sums of products in tiles of vectors, for each length that vectors have: products and convolutions whose sizes are no
// multiples of them.
#include <gtest/gtest.h>

#include "kiln/compile/target.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/compile/compiled.hpp"

namespace kiln::compile {
namespace {

/// The compiler's own length, that of the least vectors, and no vectors.
const std::vector<std::string>& ways() {
  static const std::vector<std::string> kWays = [] {
    const std::string command(target("host").compiler);
    return std::vector<std::string>{command.substr(command.find("-O3")), "-O1", "-O1 -DKILN_LANES=1",
                                    "-O1 -DKILN_LANES=8 -Wno-psabi", "-O1 -DKILN_LANES=16 -Wno-psabi"};
  }();
  return kWays;
}

Value random_of(const Shape& shape, const Device& device) { return uniform(shape, -1, 1, device); }

/// Expects that a function has tiles, and is what the device cpu computes.
void expect_tiled(FunctionRef<Values(const Values&)> function, const Values& inputs,
                  const CompileOptions& options = {}) {
  const CompiledCode code = compile({.graph = capture_graph(function, inputs)}, options);
  EXPECT_NE(code.files.at("model.c").find("sum0_0"), std::string::npos);
  expect_same(function, inputs, {.relative = 1e-4, .absolute = 2e-5}, options, ways());
}

TEST(Tiles, Products) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto product = [](const Values& in) { return Values{matmul(in[0], in[1])}; };
  for (const std::array<std::int64_t, 3>& size : {std::array<std::int64_t, 3>{13, 5, 16},
                                                  {6, 600, 49},  // the sum in three parts
                                                  {2, 3, 17},
                                                  {31, 64, 100}})
    expect_tiled(product, {random_of({size[0], size[1]}, device), random_of({size[1], size[2]}, device)});
  expect_tiled(product, {random_of({3, 7, 4}, device), random_of({3, 4, 33}, device)});
  expect_tiled(product, {random_of({3, 7, 4}, device), random_of({4, 33}, device)});
  expect_tiled([](const Values& in) { return Values{matmul(in[0], flip(in[1], {1}))}; },  // columns from the last
               {random_of({5, 9}, device), random_of({9, 40}, device)});
  const Value weight = random_of({40, 9}, device);  // of a linear layer: its columns are the sums'
  expect_tiled([&](const Values& in) { return Values{matmul(in[0], transpose(weight)) + 1.0}; },
               {random_of({5, 9}, device)});
}

TEST(Tiles, Convolutions) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  struct Case {
    Shape x, weight;
    ConvOptions conv;
  };
  const std::vector<Case> cases{
      {{2, 3, 9, 11}, {5, 3, 3, 3}, {.padding = {1, 1}}},
      {{1, 2, 8, 8}, {7, 2, 3, 2}, {.padding = {2, 0}, .dilation = {2, 3}}},
      {{1, 6, 7, 7}, {6, 1, 3, 3}, {.padding = {1, 1}, .groups = 6}},
      {{1, 4, 40, 40}, {6, 2, 5, 5}, {.stride = {2, 2}, .padding = {2, 2}, .groups = 2}},
      {{1, 3, 10, 64}, {4, 3, 3, 3}, {.stride = {1, 3}, .padding = {0, 1}}},
      {{1, 2, 1, 40}, {3, 2, 3, 3}, {.stride = {10, 1}, .padding = {5, 1}}},  // some places lie in the padding alone
      {{2, 8, 7, 7}, {10, 8, 1, 1}, {}},
      {{1, 3, 90}, {4, 3, 7}, {.padding = {3}}},
      {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, {.padding = {1, 1, 0}}},
  };
  for (const Case& each : cases) {
    const Value weight = random_of(each.weight, device), bias = random_of({each.weight[0]}, device);
    expect_tiled(
        [&](const Values& in) {
          return Values{conv(in[0], weight, bias, each.conv), conv(relu(in[0]), weight, {}, each.conv)};
        },
        {random_of(each.x, device)});
  }
}

// Rows that keep what lies between them from one convolution to the next, and what reads them as a whole.
TEST(Tiles, ConvolutionsInARow) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const Value wide = random_of({12, 4, 1, 1}, device), depthwise = random_of({12, 1, 3, 3}, device),
              narrow = random_of({4, 12, 1, 1}, device), scale = random_of({12, 1, 1}, device);
  expect_tiled(
      [&](const Values& in) {
        const Value inside = relu(conv(in[0], wide, {}, {}) * scale);
        const Value spread = relu(conv(inside, depthwise, {}, {.padding = {1, 1}, .groups = 12}) - scale);
        const Value y = conv(spread, narrow, {}, {}) + in[0];
        const Value twice = conv(conv(y, transpose(narrow, 0, 1), {}, {}), depthwise, {}, {.groups = 12});
        return Values{y, softmax(flatten(twice, 1), 1), sum(twice, {2, 3}), max_pool(twice, {.kernel = {2, 2}})};
      },
      {random_of({2, 4, 8, 9}, device)});
}

// The weights are halves already, so that nothing is lost when they are kept as such.
TEST(Tiles, WeightsOfHalves) {
  KILN_NEEDS_COMPILER();
  const Device device = seeded();
  const auto half = [&](const Shape& shape) { return cast(cast(random_of(shape, device), DType::F16), DType::F32); };
  const CompileOptions options{.weights = DType::F16};
  const Value wide = half({9, 40}), bias = half({40}), tall = half({40, 9}), left = half({7, 9});
  expect_tiled([&](const Values& in) { return Values{matmul(in[0], wide) + bias}; }, {random_of({5, 9}, device)},
               options);
  expect_tiled([&](const Values& in) { return Values{matmul(in[0], transpose(tall)) + bias}; },
               {random_of({5, 9}, device)}, options);
  expect_tiled([&](const Values& in) { return Values{matmul(in[0], flip(wide, {1})), matmul(left, in[1])}; },
               {random_of({5, 9}, device), random_of({9, 33}, device)}, options);
  const Value wide_left = half({13, 300}), long_sum = half({300, 40});  // the sum in two parts, and one without rows
  expect_tiled([&](const Values& in) { return Values{matmul(wide_left, in[0]), matmul(in[1], long_sum)}; },
               {random_of({300, 35}, device), random_of({1, 300}, device)}, options);
  const Value kernel = half({20, 3, 3, 3}), of_channels = half({20}), depthwise = half({20, 1, 3, 3});
  expect_tiled(
      [&](const Values& in) {
        const Value inside = relu(conv(in[0], kernel, of_channels, {.stride = {2, 2}, .padding = {1, 1}}));
        return Values{conv(inside, depthwise, of_channels, {.padding = {1, 1}, .groups = 20})};
      },
      {random_of({2, 3, 19, 37}, device)}, options);
  // A bias and a matrix of the same numbers are one constant.
  const Value matrix = reshape(of_channels, {4, 5});
  expect_tiled(
      [&](const Values& in) {
        const Value first = matmul(in[1], matrix);
        return Values{first, conv(in[0], kernel, of_channels, {.padding = {1, 1}})};
      },
      {random_of({1, 3, 8, 8}, device), random_of({1, 4}, device)}, options);
}

}  // namespace
}  // namespace kiln::compile
