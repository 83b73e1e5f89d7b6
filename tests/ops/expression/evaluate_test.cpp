// Expressions of many operands at a time: each goes its own way through a function.
#include <gtest/gtest.h>

#include <deque>

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

}  // namespace
}  // namespace kiln::expr
