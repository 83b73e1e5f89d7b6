// Expressions of many operands at a time: each goes its own way through a function.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "kiln/core/half.hpp"
#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/expression/parse.hpp"

namespace kiln::expr {
namespace {

constexpr std::string_view kRounds = R"(
fn rounds(x: signed) {
  var n = x;
  var count = 0;
  if (n < 1) { return 0 - 1; }
  while (count < 40) {
    if (n == 1) { return count; } else { if (n == 7) { count = count + 100; } }
    n = select(n / 2 * 2 == n, n / 2, 3 * n + 1);
    count = count + 1;
  }
  return n;
}
)";

/// Collatz' steps to 1; what passes through 7, or takes more than 40, is counted otherwise.
std::int32_t rounds(std::int32_t n) {
  if (n < 1) return -1;
  for (std::int32_t count = 0; count < 40; ++count) {
    if (n == 1) return count;
    if (n == 7) count += 100;
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  }
  return n;
}

TEST(Evaluators, LetEachGoItsWay) {
  std::deque<Function> functions;
  parse_functions(kRounds, functions);
  constexpr std::size_t kCount = 100;
  std::vector<std::int32_t> x(kCount), made(kCount, -77);
  std::vector<std::uint8_t> there(kCount);
  for (std::size_t t = 0; t < kCount; ++t) {
    x[t] = static_cast<std::int32_t>(t) - 3;
    there[t] = t % 3 != 0;
  }
  const Evaluator<std::int32_t> evaluator(functions[0]);
  const Column<std::int32_t> in{.numbers = x.data()}, out{.numbers = made.data()};
  evaluator.run({kCount, there.data()}, {&in, 1}, {&out, 1});
  for (std::size_t t = 0; t < kCount; ++t) EXPECT_EQ(made[t], there[t] ? rounds(x[t]) : -77) << x[t];
  evaluator.run({kCount}, {&in, 1}, {&out, 1});
  for (std::size_t t = 0; t < kCount; ++t) {
    EXPECT_EQ(made[t], rounds(x[t])) << x[t];
    const Cell<std::int32_t> one{.number = x[t]};
    EXPECT_EQ(evaluate(functions[0], std::span(&one, 1))[0].number, rounds(x[t]));
  }
}

// ---- halves, where a device has none -------------------------------------------------------------------------------

/// Floats around all halves of both kinds, and around all that lie between two.
std::vector<float> around_halves() {
  std::vector<float> all;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low :
         {0x0u, 0x1u, 0xfffu, 0x1000u, 0x1001u, 0x2000u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xf000u, 0xffffu})
      all.push_back(std::bit_cast<float>(high << 16 | low));
  return all;
}

template <class Half>
void expect_rounded(const char* rounds, const char* bits, const char* back) {
  const std::vector<float> x = around_halves();
  std::vector<float> rounded(x.size()), again(x.size());
  std::vector<std::uint32_t> words(x.size());
  std::vector<float> in = x;
  const Column<float> from{.numbers = in.data()}, made{.numbers = rounded.data()}, word{.words = words.data()},
      returned{.numbers = again.data()};
  Evaluator<float>(*find_function(rounds), &kWgsl).run({x.size()}, {&from, 1}, {&made, 1});
  Evaluator<float>(*find_function(bits), &kWgsl).run({x.size()}, {&from, 1}, {&word, 1});
  Evaluator<float>(*find_function(back), &kWgsl).run({x.size()}, {&word, 1}, {&returned, 1});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Half half(x[i]);
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(half));
    if (words[i] == half.bits && std::bit_cast<std::uint32_t>(rounded[i]) == expected &&
        std::bit_cast<std::uint32_t>(again[i]) == expected)
      continue;
    if (++wrong < 5) ADD_FAILURE() << rounds << " of " << std::hexfloat << x[i] << ": " << rounded[i];
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(Evaluators, RoundToHalvesAsTheProcessorDoes) {
  expect_rounded<F16>("round_to_f16", "bits_of_f16", "from_bits_of_f16");
  expect_rounded<BF16>("round_to_bf16", "bits_of_bf16", "from_bits_of_bf16");
}

// ---- sines, where a device's own are not accurate --------------------------------------------------------------------

/// Numbers of all sizes that float32 has, multiples of quarter turns and their neighbours.
std::vector<float> angles() {
  std::vector<float> all{1e-30f, 16367173.0f * 0x1p+72f, std::numeric_limits<float>::max()};
  for (float size = 1e-6f; size < 3e38f; size *= 1.0037f) all.push_back(size);
  for (int quarter = 1; quarter < 6000; ++quarter)
    for (const int away : {-1, 0, 1}) {
      float angle = static_cast<float>(quarter * 1.5707963267948966);
      if (away) angle = std::nextafter(angle, away * 1e9f);
      all.push_back(angle);
    }
  for (std::size_t i = 0, count = all.size(); i < count; ++i) all.push_back(-all[i]);
  return all;
}

void expect_digits(const char* name, double (*function)(double), double tolerance) {
  std::vector<float> x = angles(), made(x.size());
  const Column<float> in{.numbers = x.data()}, out{.numbers = made.data()};
  Evaluator<float>(*find_function(name), &kWgsl).run({x.size()}, {&in, 1}, {&out, 1});
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = function(x[i]);
    const double away = std::abs(made[i] - expected) / std::max(std::abs(expected), 1e-30);
    if (!(away < tolerance) && ++wrong < 8)
      ADD_FAILURE() << name << " of " << std::hexfloat << x[i] << std::defaultfloat << ": " << made[i] << ", not "
                    << expected;
  }
  EXPECT_EQ(wrong, 0) << name;
}

TEST(Evaluators, HaveSinesOfSevenDigitsWhateverTheAngle) {
  expect_digits("sin", [](double x) { return std::sin(x); }, 4e-7);
  expect_digits("cos", [](double x) { return std::cos(x); }, 4e-7);
  expect_digits("tan", [](double x) { return std::tan(x); }, 8e-7);
}
TEST(Evaluators, HaveSinesOfZerosAndOfWhatIsNoAngle) {
  const auto of = [](const char* name, float x) {
    const Cell<float> cell{.number = x};
    return evaluate(*find_function(name), std::span(&cell, 1), &kWgsl)[0].number;
  };
  for (const char* name : {"sin", "tan"}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(of(name, 0.0f)), 0u) << name;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(of(name, -0.0f)), 0x80000000u) << name;
  }
  EXPECT_EQ(of("cos", -0.0f), 1);
  for (const float x : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()})
    for (const char* name : {"sin", "cos", "tan"}) EXPECT_TRUE(std::isnan(of(name, x))) << name << ' ' << x;
}

}  // namespace
}  // namespace kiln::expr
