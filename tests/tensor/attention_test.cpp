// Attention, its masks and positions as a user writes them, against loops over doubles.
#include "kiln/tensor/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;

/// [batch, heads, queries, keys, width]; k and v have one head for all.
constexpr int kBatch = 2, kHeads = 2, kQueries = 3, kKeys = 4, kWidth = 6;

struct Case {
  Tensor<4> q = randn({kBatch, kHeads, kQueries, kWidth}, best_autodiff(), Key{1}) * 2;
  Tensor<4> k = randn({kBatch, 1, kKeys, kWidth}, best_autodiff(), Key{2}) * 2;
  Tensor<4> v = randn({kBatch, 1, kKeys, kWidth}, best_autodiff(), Key{3});
};

using Score = std::function<double(int batch, int head, int query, int key, double product)>;
constexpr double kUnseen = -INFINITY;

/// softmax(score) v, one element after the other.
std::vector<double> attended(const Case& c, const Score& score) {
  const auto q = c.q.to_vector(), k = c.k.to_vector(), v = c.v.to_vector();
  std::vector<double> result;
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < kHeads; ++h)
      for (int i = 0; i < kQueries; ++i) {
        double weights[kKeys], total = 0;
        for (int j = 0; j < kKeys; ++j) {
          double product = 0;
          for (int w = 0; w < kWidth; ++w)
            product +=
                static_cast<double>(q[static_cast<std::size_t>(((b * kHeads + h) * kQueries + i) * kWidth + w)]) *
                static_cast<double>(k[static_cast<std::size_t>((b * kKeys + j) * kWidth + w)]);
          total += weights[j] = std::exp(score(b, h, i, j, product));
        }
        for (int w = 0; w < kWidth; ++w) {
          double sum = 0;
          for (int j = 0; j < kKeys; ++j)
            sum += weights[j] / total * static_cast<double>(v[static_cast<std::size_t>((b * kKeys + j) * kWidth + w)]);
          result.push_back(sum);
        }
      }
  return result;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected, double tolerance = 1e-5) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

const double kScale = 1 / std::sqrt(static_cast<double>(kWidth));

TEST(AttentionTensors, AreWeightedByTheirScores) {
  const Case c;
  const Tensor<4> plain = attention(c.q, c.k, c.v);
  EXPECT_EQ(plain.shape(), (Shape{kBatch, kHeads, kQueries, kWidth}));
  expect_near(plain.to_vector(), attended(c, [](int, int, int, int, double x) { return kScale * x; }));
  expect_near(attention(c.q, c.k, c.v, {.scale = 0.3}).to_vector(),
              attended(c, [](int, int, int, int, double x) { return 0.3 * x; }));
  expect_near(attention(c.q, c.k, c.v, {.softcap = 1.5}).to_vector(),
              attended(c, [](int, int, int, int, double x) { return 1.5 * std::tanh(kScale * x / 1.5); }));
}

TEST(AttentionTensors, SeeWhatTheMaskShows) {
  const Case c;
  // The last query stands beside the last key: query i at position i + 1.
  const auto causal = [](int, int, int i, int j, double x) { return j <= i + 1 ? kScale * x : kUnseen; };
  expect_near(attention(c.q, c.k, c.v, {.causal = true}).to_vector(), attended(c, causal));
  expect_near(attention(c.q, c.k, c.v, {}, causal_mask(kQueries, kKeys, best_autodiff())).to_vector(),
              attended(c, causal));
  const auto window = [](int, int, int i, int j, double x) { return std::abs(i + 1 - j) < 2 ? kScale * x : kUnseen; };
  expect_near(attention(c.q, c.k, c.v, {.window = 2}).to_vector(), attended(c, window));
  expect_near(attention(c.q, c.k, c.v, {}, window_mask(kQueries, kKeys, 2, false, best_autodiff())).to_vector(),
              attended(c, window));
  const auto padded = [](int b, int, int, int j, double x) { return j < (b ? 4 : 2) ? kScale * x : kUnseen; };
  const auto lengths = Tensor<1, Int>::of({2, 4}, best_autodiff());
  expect_near(attention(c.q, c.k, c.v, {}, padding_mask(lengths, kKeys)).to_vector(), attended(c, padded));
  const auto both = [&](int b, int h, int i, int j, double x) { return j <= i + 1 ? padded(b, h, i, j, x) : kUnseen; };
  expect_near(attention(c.q, c.k, c.v, {.causal = true}, padding_mask(lengths, kKeys)).to_vector(), attended(c, both));
}

TEST(AttentionTensors, AddABiasAfterTheCap) {
  const Case c;
  const Tensor<3> bias = randn({kHeads, kQueries, kKeys}, best_autodiff(), Key{4});
  const auto numbers = bias.to_vector();
  expect_near(attention(c.q, c.k, c.v, {.softcap = 2}, {}, bias).to_vector(),
              attended(c, [&](int, int h, int i, int j, double x) {
                return 2 * std::tanh(kScale * x / 2) +
                       numbers[static_cast<std::size_t>((h * kQueries + i) * kKeys + j)];
              }));
  // The slopes of two heads are 2^-4 and 2^-8.
  expect_near(attention(c.q, c.k, c.v, {}, {}, alibi_bias(kHeads, kQueries, kKeys, best_autodiff())).to_vector(),
              attended(c, [](int, int h, int i, int j, double x) {
                return kScale * x - std::exp2(-4.0 * (h + 1)) * std::abs(i + 1 - j);
              }));
}

/// d/dx of the sum of squares, by differences of the loop above.
TEST(AttentionTensors, HaveTheGradientsOfTheirMeaning) {
  const Case c;
  const Score score = [](int, int, int i, int j, double x) { return j <= i + 1 ? kScale * x : kUnseen; };
  const auto q = c.q.detach().require_grad(), k = c.k.detach().require_grad(), v = c.v.detach().require_grad();
  const Gradients gradients = attention(q, k, v, {.causal = true}).square().sum().backward();
  const auto loss = [&](const Case& at) {
    double sum = 0;
    for (const double x : attended(at, score)) sum += x * x;
    return sum;
  };
  const auto check = [&](Tensor<4> Case::* operand, const Tensor<4>& tracked) {
    const auto found = gradients.of(tracked).to_vector(), at = (c.*operand).to_vector();
    for (std::size_t i = 0; i < at.size(); i += 5) {
      const float step = 1e-2f;
      std::vector<float> up = at, down = at;
      up[i] += step, down[i] -= step;
      Case high = c, low = c;
      high.*operand = Tensor<1>::of(up, best_autodiff()).reshape<4>((c.*operand).shape());
      low.*operand = Tensor<1>::of(down, best_autodiff()).reshape<4>((c.*operand).shape());
      EXPECT_NEAR(found[i], (loss(high) - loss(low)) / (2 * static_cast<double>(step)), 5e-3) << "element " << i;
    }
  };
  check(&Case::q, q);
  check(&Case::k, k);
  check(&Case::v, v);
}

TEST(AttentionTensors, DecodeWithACacheOfKeysAsTheyEncodeAtOnce) {
  const auto q = randn({1, 2, 5, 4}, best_autodiff(), Key{1}), k = randn({1, 2, 5, 4}, best_autodiff(), Key{2});
  const auto v = randn({1, 2, 5, 4}, best_autodiff(), Key{3});
  const Tensor<4> whole = attention(q, k, v, {.causal = true});
  const Tensor<4> last = attention(q.narrow(2, 4, 1), k, v, {.causal = true});
  const auto expected = whole.narrow(2, 4, 1).to_vector(), found = last.to_vector();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

TEST(AttentionTensors, MaskPaddingAndDistance) {
  const auto lengths = Tensor<1, Int>::of({1, 2}, best_autodiff());
  EXPECT_EQ(padding_mask(lengths, 2).to_vector(), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(window_mask(2, 2, 1, false, best_autodiff()).to_vector(), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(window_mask(2, 3, 2, true, best_autodiff()).to_vector(),
            (std::vector<bool>{true, true, false, false, true, true}));
  EXPECT_EQ(causal_mask(2, 3, best_autodiff()).to_vector(), (std::vector<bool>{true, true, false, true, true, true}));
}

TEST(AttentionTensors, TellPositionsApart) {
  constexpr int kTime = 4;
  const Tensor<1> positions = Tensor<1>::of({0, 1, 5, 700}, best_autodiff());
  const auto [cosine, sine] = rotary_tables(positions, kWidth, 1000);
  const Tensor<4> x = randn({1, 2, kTime, kWidth}, best_autodiff(), Key{5});
  const Tensor<4> halves = rotary(x, cosine, sine), neighbours = rotary(x, cosine, sine, RotaryPairs::Neighbours);
  const auto from = x.to_vector();
  std::vector<double> by_halves(from.size()), by_neighbours(from.size());
  const double at[kTime] = {0, 1, 5, 700};
  for (std::size_t row = 0; row < 2 * kTime; ++row)
    for (std::size_t i = 0; i < kWidth / 2; ++i) {
      const double angle = at[row % kTime] * std::pow(1000.0, -2.0 * static_cast<double>(i) / kWidth);
      const auto turn = [&](std::vector<double>& to, std::size_t first, std::size_t second) {
        const double a = from[row * kWidth + first], b = from[row * kWidth + second];
        to[row * kWidth + first] = a * std::cos(angle) - b * std::sin(angle);
        to[row * kWidth + second] = b * std::cos(angle) + a * std::sin(angle);
      };
      turn(by_halves, i, i + kWidth / 2);
      turn(by_neighbours, 2 * i, 2 * i + 1);
    }
  expect_near(halves.to_vector(), by_halves, 2e-4);  // the angle 700 has six digits
  expect_near(neighbours.to_vector(), by_neighbours, 2e-4);

  std::vector<double> waves;
  for (int time = 0; time < 3; ++time)
    for (int column = 0; column < 4; ++column) {
      const int pair = column / 2;
      const double angle = time * std::pow(10000.0, -pair / 2.0);
      waves.push_back(column % 2 ? std::cos(angle) : std::sin(angle));
    }
  expect_near(sinusoidal_positions(3, 4, best_autodiff()).to_vector(), waves, 1e-6);
}

}  // namespace
}  // namespace kiln
