#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/expression/parse.hpp"

namespace kiln::expr {
namespace {

const Variable kScope[] = {{"x"}, {"y"}, {"w", Type::Word}, {"b", Type::Bool}};

double value(std::string_view text, double x = 0, double y = 0) {
  const Cell<double> cells[] = {{x, 0}, {y, 0}, {0, 6}, {0, 1}};
  return evaluate<double>(parse(text, kScope), cells).number;
}
std::uint32_t bits(std::string_view text) {
  const Cell<double> cells[] = {{1, 0}, {2, 0}, {0, 6}, {0, 1}};
  return evaluate<double>(parse(text, kScope), cells).word;
}
std::string sentence(std::string_view text) {
  try {
    parse(text, kScope);
  } catch (const Error& error) { return std::string(without_calls(error.message())); }
  return "nothing is wrong";
}

TEST(ExpressionParser, BindsAsTheLanguageDoes) {
  EXPECT_EQ(value("1 + 2 * 3 - 4 / 8"), 6.5);
  EXPECT_EQ(value("x - y - 1", 10, 4), 5);
  EXPECT_EQ(value("-x * -(y + 1)", 3, 4), 15);
  EXPECT_EQ(value("select(x < y, x, y * 2)", 3, 4), 3);
  EXPECT_EQ(value("poly(x, 2, 3, 4)", 10), 234);
  EXPECT_EQ(value("1.5e-3 + 2e2"), 200.0015);
  EXPECT_EQ(bits("w & 3 ^ 0x10 | 1 << 6"), ((6u & 3) ^ 0x10u) | 1u << 6);
  EXPECT_EQ(bits("x == 1 & !(y != 2) | false"), 1u);
  EXPECT_EQ(bits("~w >> 28"), 15u);
}

TEST(ExpressionParser, GivesConstantsTheTypeOfWhatStandsBesideThem) {
  EXPECT_EQ(parse("w + (1 << 2)", kScope).nodes[2].type, Type::Word);
  EXPECT_EQ(parse("x + 1", kScope).nodes[1].type, Type::Number);
  EXPECT_EQ(parse("x < 1", kScope).root().type, Type::Bool);
  EXPECT_EQ(parse("x < 1", kScope).root().operand_type, Type::Number);
}

TEST(ExpressionParser, SaysWhatItDoesNotUnderstand) {
  EXPECT_EQ(sentence("x @ y"), "expression 'x @ y': expected an operator at character 3");
  EXPECT_EQ(sentence("x +"), "expression 'x +': expected a value at character 4");
  EXPECT_EQ(sentence("(x"), "expression '(x': expected ')' at character 3");
  EXPECT_EQ(sentence("cosine(x)"),
            "expression 'cosine(x)': 'cosine' is neither an operand nor a function at character 10");
  EXPECT_EQ(sentence("pow(x)"), "expression 'pow(x)': 'pow' takes 2 values, got 1 at character 7");
  EXPECT_EQ(sentence("select(x, 1, 2)"),
            "expression 'select(x, 1, 2)': expected a truth, got a number at character 16");
  EXPECT_EQ(sentence("x + w"), "expression 'x + w': a number stands beside a word at character 6");
  EXPECT_EQ(sentence("b + b"), "expression 'b + b': '+' takes no truths at character 6");
  EXPECT_EQ(sentence("0.5f * x"), "expression '0.5f * x': a constant has a suffix at character 4");
  EXPECT_EQ(sentence("b && b"), "expression 'b && b': write '&' and '|' for booleans at character 3");
  EXPECT_EQ(sentence(""), "expression '': expected a value at character 1");
}

TEST(ExpressionParser, ReadsFunctions) {
  std::deque<Function> functions;
  parse_functions(R"(
    fn twice(x: float) = x + x;
    fn many(x: integer, n: word) -> word {
      var left: word = n;
      while (left > 3) { left = left - 2; }
      if (x < 0) { return 0; } else { left = left + 10; }
      return left;
    })",
                  functions);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].definition(DType::I32), nullptr);
  const Cell<double> x[] = {{3, 0}};
  EXPECT_EQ(evaluate<double>(functions[0], x)[0].number, 6);
  const Cell<std::int32_t> in[] = {{1, 0}, {0, 8}}, negative[] = {{-1, 0}, {0, 8}};
  EXPECT_EQ(evaluate<std::int32_t>(functions[1], in)[0].word, 12u);
  EXPECT_EQ(evaluate<std::int32_t>(functions[1], negative)[0].word, 0u);
}

TEST(ExpressionParser, SaysWhereAFunctionIsWrong) {
  const auto sentence = [](std::string_view text) {
    std::deque<Function> functions;
    try {
      parse_functions(text, functions);
    } catch (const Error& error) { return std::string(without_calls(error.message())); }
    return std::string("nothing is wrong");
  };
  EXPECT_EQ(sentence("fn f(x: complex) = x;"),
            "expression 'fn f(x: complex) = x;': 'complex' is no type at character 16");
  EXPECT_EQ(sentence("\nfn f(x: float) {\n  let y = x;\n}"),
            "expression '}': the body of 'f' does not end with a return at character 2");
  EXPECT_EQ(sentence("fn f(x: float) { z = x; return x; }"),
            "expression 'fn f(x: float) { z = x; return x; }': 'z' is no variable at character 22");
}

}  // namespace
}  // namespace kiln::expr
