#include <cmath>

#include <gtest/gtest.h>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

#include "tests/backend/arrays.hpp"

namespace kiln::cpu {
namespace {

struct Attended {
  std::int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  bool causal = false;
  std::int64_t window = 0;
};

class AmxAttention : public testing::TestWithParam<Attended> {
 protected:
  void SetUp() override {
    if (!amx::available()) GTEST_SKIP() << "this machine has no products of bfloat16 vectors";
  }
};

constexpr double kScale = 0.3;

Values operands(const Attended& c, std::vector<int> order = {0, 1, 2, 3}) {
  const auto made = [&](std::int64_t heads, std::int64_t time, std::int64_t width, unsigned seed) {
    return random_tensor({c.batch, heads, time, width}, seed, order, DType::BF16);
  };
  return {made(c.heads, c.queries, c.width, 1),
          made(c.kv_heads, c.keys, c.width, 2),
          made(c.kv_heads, c.keys, c.value_width, 3),
          Value(),
          Value(),
          Value(kScale),
          Value()};
}
std::array<Value, 2> run(const Attended& c, const Values& in) {
  const op::Attention op{.causal = c.causal, .window = c.window};
  const Descs descs = op.infer(in);
  Value out[] = {tensor(descs[0].shape, descs[0].dtype), tensor(descs[1].shape, descs[1].dtype)};
  EXPECT_TRUE(amx::run(op, {in, out}));
  return {out[0], out[1]};
}
bool sees(const Attended& c, std::int64_t query, std::int64_t key) {
  const std::int64_t ahead = key - (query + c.keys - c.queries);
  return (!c.causal || ahead <= 0) && (c.window == 0 || std::abs(ahead) < c.window);
}

TEST_P(AmxAttention, AgreesWithLoopsInFloat64) {
  const Attended& c = GetParam();
  const Values in = operands(c);
  const std::array<Value, 2> out = run(c, in);
  const std::vector<double> q = numbers(in[0]), k = numbers(in[1]), v = numbers(in[2]), made = numbers(out[0]),
                            log_sums = numbers(out[1]);
  const auto at = [](const std::vector<double>& x, std::int64_t row, std::int64_t width, std::int64_t j) {
    return x[static_cast<std::size_t>(row * width + j)];
  };
  for (std::int64_t head = 0; head < c.batch * c.heads; ++head)
    for (std::int64_t i = 0; i < c.queries; ++i) {
      const std::int64_t row = head * c.queries + i,
                         other = (head / c.heads * c.kv_heads + head % c.heads / (c.heads / c.kv_heads)) * c.keys;
      std::vector<double> sums(static_cast<std::size_t>(c.value_width), 0.0);
      double total = 0;
      for (std::int64_t key = 0; key < c.keys; ++key) {
        if (!sees(c, i, key)) continue;
        double score = 0;
        for (std::int64_t j = 0; j < c.width; ++j) score += at(q, row, c.width, j) * at(k, other + key, c.width, j);
        const double power = std::exp(kScale * score);
        total += power;
        for (std::int64_t j = 0; j < c.value_width; ++j)
          sums[static_cast<std::size_t>(j)] += power * at(v, other + key, c.value_width, j);
      }
      if (total == 0) {
        EXPECT_EQ(log_sums[std::size_t(row)], -std::numeric_limits<double>::infinity());
      } else {
        EXPECT_NEAR(log_sums[std::size_t(row)], std::log(total), 1e-4);
      }
      for (std::int64_t j = 0; j < c.value_width; ++j)
        ASSERT_NEAR(at(made, row, c.value_width, j), total == 0 ? 0 : sums[std::size_t(j)] / total, 1.0 / 128)
            << head << ", " << i << ", " << j;
    }
}

TEST_P(AmxAttention, HasTheSameBitsOnAnyNumberOfThreadsAndInAnyOrder) {
  const Attended& c = GetParam();
  const int before = num_threads();
  const Values in = operands(c);
  set_num_threads(1);
  const std::array<Value, 2> one = run(c, in);
  set_num_threads(3);
  const std::array<Value, 2> many = run(c, in);
  set_num_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], many[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AmxAttention,
                         testing::Values(Attended{2, 2, 2, 16, 16, 8, 8},                 //
                                         Attended{1, 3, 3, 17, 33, 40, 24},               //
                                         Attended{2, 4, 2, 128, 128, 64, 64},             //
                                         Attended{1, 2, 2, 128, 128, 64, 64, true},       //
                                         Attended{1, 4, 1, 97, 150, 33, 70, true},        //
                                         Attended{1, 1, 1, 150, 97, 64, 16, true},        // some see nothing
                                         Attended{1, 2, 2, 200, 300, 20, 30, false, 50},  //
                                         Attended{1, 2, 2, 200, 300, 20, 30, true, 33},   //
                                         Attended{1, 1, 1, 20, 1000, 64, 128}));          //

TEST_F(AmxAttention, ReadsHeadsInPlaceAndCopiesWhatItCannot) {
  const Attended c{2, 3, 3, 40, 50, 24, 36, true};
  const Values plain = operands(c);
  const std::array<Value, 2> expected = run(c, plain);
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0, 2, 1, 3}, {0, 1, 3, 2}}) {
    Values in = operands(c, order);
    for (std::size_t i = 0; i < 3; ++i) copy(read(plain[i]), read(in[i]));
    const std::array<Value, 2> made = run(c, in);
    for (std::size_t i = 0; i < made.size(); ++i) EXPECT_TRUE(same_bits(expected[i], made[i])) << i;
  }
}

}  // namespace
}  // namespace kiln::cpu
