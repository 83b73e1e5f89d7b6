#include <gtest/gtest.h>

#include <cmath>

#include "kiln/ops/sequence/position.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

OpCase rotary_row(std::string name, const Shape& shape, RotaryPairs pairs) {
  const std::int64_t half = shape.back() / 2, time = shape[shape.size() - 2];
  return {.name = std::move(name),
          .operands = {{shape}, {{time, half}, -1, 1}, {{time, half}, -1, 1}},
          .function = [=](const Values& in) { return Values{rotary(in[0], in[1], in[2], pairs)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result(shape);
                each_index(shape, [&](const Dims& i) {
                  const int last = shape.size() - 1;
                  const bool halves = pairs == RotaryPairs::Halves;
                  const std::int64_t pair = halves ? i[last] % half : i[last] / 2;
                  const bool first = halves ? i[last] < half : i[last] % 2 == 0;
                  Dims a = i, b = i;
                  a[last] = halves ? pair : 2 * pair;
                  b[last] = halves ? pair + half : 2 * pair + 1;
                  const double c = in[1]({i[last - 1], pair}), s = in[2]({i[last - 1], pair});
                  result(i) = first ? in[0](a) * c - in[0](b) * s : in[0](b) * c + in[0](a) * s;
                });
                return std::vector<Array>{result};
              },
          .tolerance = 2};
}

std::vector<OpCase> position_rows() {
  return {rotary_row("rotary", {2, 2, 3, 4}, RotaryPairs::Halves),
          rotary_row("rotary_neighbours", {2, 3, 6}, RotaryPairs::Neighbours),
          rotary_row("rotary_of_nothing", {0, 3, 4}, RotaryPairs::Halves)};
}

const Family kPositionFamily(&position_rows);

TEST(Rotary, TurnsByTheAngleOfThePosition) {
  const Device device = Device::cpu();
  const auto [cosine, sine] = rotary_tables(arange(0, 5, 1, device), 4, 100);
  ASSERT_EQ(cosine.shape(), (Shape{5, 2}));
  for (std::int64_t t = 0; t < 5; ++t)
    for (std::int64_t i = 0; i < 2; ++i) {
      const double angle = static_cast<double>(t) * std::pow(100.0, -static_cast<double>(i) / 2);
      EXPECT_NEAR(cosine.data().at(t * 2 + i), std::cos(angle), 1e-6);
      EXPECT_NEAR(sine.data().at(t * 2 + i), std::sin(angle), 1e-6);
    }
  // Inner products of turned vectors depend on the distance of their positions alone.
  const Value x = normal({1, 4}, 0, 1, device, DType::F32, Key{1}),
              y = normal({1, 4}, 0, 1, device, DType::F32, Key{2});
  const auto product = [&](std::int64_t at_x, std::int64_t at_y) {
    const auto turned = [&](const Value& v, std::int64_t at) {
      return rotary(v, narrow(cosine, 0, at, 1), narrow(sine, 0, at, 1));
    };
    return sum(turned(x, at_x) * turned(y, at_y)).item();
  };
  EXPECT_NEAR(product(0, 2), product(2, 4), 1e-5);
  EXPECT_GT(std::abs(product(0, 2) - product(0, 4)), 1e-3);
}

TEST(Alibi, FallsWithDistanceByTheSlopeOfTheHead) {
  const Value bias = alibi_bias({2, 2, 3}, Device::cpu());
  EXPECT_EQ(bias.shape(), (Shape{2, 2, 3}));
  const float a = -1.f / 16, b = -1.f / 256;
  EXPECT_EQ(bias.data().to_vector<float>(), (std::vector<float>{a, 0, a, 2 * a, a, 0, b, 0, b, 2 * b, b, 0}));
  // Six heads: the four of 2^-2, 2^-4, 2^-6, 2^-8, then 2^-1 and 2^-3 of eight.
  const Value six = alibi_bias({6, 1, 2}, Device::cpu());
  std::vector<float> slopes;
  for (std::int64_t head = 0; head < 6; ++head) slopes.push_back(-static_cast<float>(six.data().at(head * 2)));
  EXPECT_EQ(slopes, (std::vector<float>{0.25f, 0.0625f, 0.015625f, 0.00390625f, 0.5f, 0.125f}));
}

TEST(SinusoidalPositions, AreSinesAndCosines) {
  const TensorData table = sinusoidal_positions({3, 5}, Device::cpu(), 100).data();
  for (std::int64_t t = 0; t < 3; ++t)
    for (std::int64_t i = 0; i < 5; ++i) {
      const std::int64_t even = i - i % 2;
      const double angle = static_cast<double>(t) * std::pow(100.0, -static_cast<double>(even) / 5);
      EXPECT_NEAR(table.at(t * 5 + i), i % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-6);
    }
}

}  // namespace
}  // namespace kiln::test
