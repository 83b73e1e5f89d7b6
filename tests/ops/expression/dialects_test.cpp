// The text of rows in each dialect: stored, accepted by the dialect's own compiler where there is one, and right where
// dialects differ.
#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/parse.hpp"
#include "tests/ops/expression/row_text.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::expr {
namespace {

constexpr DType kShown[] = {DType::F32, DType::I32};

TEST(Dialects, WriteRowsAsStored) {
  expect_stored("cpp.txt", listing(kCpp, kShown), true);
  expect_stored("cuda.txt", listing(kCuda, kShown), true);
  expect_stored("hip.txt", listing(kHip, kShown), true);
  expect_stored("glsl.txt", listing(kGlsl, kShown), true);
  expect_stored("wgsl.txt", listing(kWgsl, kShown), true);
}

TEST(Dialects, AreAcceptedByTheCompilerOfGlsl) {
  const std::string complaints = complaints_of_glslang(shader(kGlsl));
  if (complaints == kNoValidator) GTEST_SKIP() << "glslangValidator (glslang-tools) is not installed";
  EXPECT_EQ(complaints, "");
  EXPECT_NE(complaints_of_glslang(shader(kGlsl) + "float wrong() { return 1u }"), "");
}

TEST(Dialects, AreAcceptedByTheCompilerOfWgsl) {
  const std::string complaints = complaints_of_wgsl(shader(kWgsl));
  if (complaints == kNoValidator) GTEST_SKIP() << "no compiler of WGSL: see validate.hpp";
  EXPECT_EQ(complaints, "");
  EXPECT_NE(complaints_of_wgsl(shader(kWgsl) + "fn wrong() -> f32 { return 1u; }"), "");
}

std::string written(const Dialect& dialect, std::string_view text, DType dtype) {
  const Variable scope[] = {{"x"}, {"y"}};
  const std::string names[] = {"a", "b"};
  return Printer(dialect).expression(parse(text, scope), dtype, names);
}

TEST(Dialects, ChooseInTheirOwnOrder) {
  EXPECT_EQ(written(kCpp, "select(x < y, x, 0)", DType::F32), "(a < b ? a : 0.0f)");
  EXPECT_EQ(written(kGlsl, "select(x < y, x, 0)", DType::F32), "(a < b ? a : 0.0f)");
  EXPECT_EQ(written(kWgsl, "select(x < y, x, 0)", DType::F32), "select(0.0f, a, a < b)");
}

TEST(Dialects, WriteConstantsInTheTypeAtHand) {
  EXPECT_EQ(written(kCpp, "x + 0.5", DType::F64), "a + 0.5");
  EXPECT_EQ(written(kGlsl, "x + 0.5", DType::F64), "a + 0.5lf");
  EXPECT_EQ(written(kCpp, "x * 2", DType::BF16), "a * 2.0f");
  EXPECT_EQ(written(kGlsl, "x == 2", DType::U64), "a == 2ul");
  EXPECT_EQ(written(kWgsl, "x == 2", DType::I8), "a == 2i");
  EXPECT_EQ(written(kWgsl, "infinity", DType::F32), "bitcast<f32>(kiln_infinity)");
  EXPECT_EQ(written(kCuda, "infinity", DType::F32), "__int_as_float(0x7f800000)");
}

TEST(Dialects, LetIntegersWrapAround) {
  EXPECT_EQ(written(kCpp, "x * y", DType::I32), "(int)((unsigned int)a * (unsigned int)b)");
  EXPECT_EQ(written(kCpp, "-x", DType::I64), "(long long)(0 - (unsigned long long)a)");
  EXPECT_EQ(written(kCpp, "x * y", DType::U32), "a * b");
  EXPECT_EQ(written(kGlsl, "x * y", DType::I32), "a * b");
  EXPECT_EQ(written(kWgsl, "-x", DType::U32), "0u - a");
}

TEST(Dialects, GroupAsTheTreeDoes) {
  EXPECT_EQ(written(kGlsl, "(x + y) * x - y / (x - y)", DType::F32), "(a + b) * a - b / (a - b)");
  EXPECT_EQ(written(kGlsl, "x - (y - x)", DType::F32), "a - (b - a)");
  EXPECT_EQ(written(kGlsl, "(x != 0) ^ (y != 0)", DType::I32), "(a != 0) != (b != 0)");
  EXPECT_EQ(written(kWgsl, "(x == 0) & !is_nan(y)", DType::F32), "(a == 0.0f) && (!kiln_is_nan_f32(b))");
}

TEST(Dialects, SayWhatTheyLack) {
  EXPECT_TRUE(supports(kGlsl, tree(op::UnaryFn::Erf), DType::F32));
  EXPECT_TRUE(supports(kGlsl, tree(op::UnaryFn::Sqrt), DType::F64));
  EXPECT_FALSE(supports(kGlsl, tree(op::UnaryFn::Erf), DType::F64));
  EXPECT_FALSE(supports(kGlsl, tree(op::UnaryFn::Exp), DType::F64));
  EXPECT_TRUE(supports(kWgsl, tree(op::BinaryFn::Pow), DType::F16));
  EXPECT_FALSE(supports(kWgsl, tree(op::UnaryFn::Neg), DType::F64));
  EXPECT_FALSE(supports(kWgsl, tree(op::UnaryFn::Neg), DType::I64));
  try {
    Printer(kGlsl).expression(tree(op::UnaryFn::Exp), DType::F64, std::vector<std::string>{"x"});
    ADD_FAILURE() << "GLSL has no exp of float64";
  } catch (const Error& error) { EXPECT_EQ(without_calls(error.message()), "GLSL has no exp of float64"); }
  // Everything but float64 and integers of 64 bits is there in every dialect.
  each_row([](auto fn) {
    for (const DType dtype : kElements)
      if (computes(op::domain(fn), dtype)) {
        EXPECT_TRUE(supports(kCuda, tree(fn), dtype)) << op::name(fn) << " of " << name(dtype);
        if (dtype == DType::F64 || dtype == DType::I64 || dtype == DType::U64) continue;
        EXPECT_TRUE(supports(kGlsl, tree(fn), dtype)) << op::name(fn) << " of " << name(dtype);
        EXPECT_TRUE(supports(kWgsl, tree(fn), dtype)) << op::name(fn) << " of " << name(dtype);
      }
  });
}

}  // namespace
}  // namespace kiln::expr
