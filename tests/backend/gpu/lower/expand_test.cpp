// Expressions and functions of 64-bit integers, written out.
#include <array>

#include "kiln/ops/expression/parse.hpp"
#include "tests/backend/gpu/lower/edges.hpp"
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

template <class T>
class Expressions : public testing::Test {};
TYPED_TEST_SUITE(Expressions, WideTypes);

TYPED_TEST(Expressions, AreGivenToFunctions) {
  using T = TypeParam;
  EdgePairs<T> given;
  for (const char* const name : {"fmod", "remainder", "floor_divide", "gcd", "shift_left", "shift_right", "max", "min",
                                 "abs", "sign", "pow", "floor", "sign_bit", "is_nan", "to_word"}) {
    const expr::Function* const function = expr::find_function(name);
    if (!function || !function->definition(dtype_of<T>)) continue;
    std::vector<T> result(given.x.size());
    Builder k(name, 64);
    const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
    const Expr at = k.place(DType::I32);
    const Expr made = function->takes.size() == 1 ? k.call(name, dtype_of<T>, {in[at]})
                                                  : k.call(name, dtype_of<T>, {in[at], other[at]});
    out.store(at, made.as(dtype_of<T>));
    const Kernel kernel = k.finish();
    const auto blocks = static_cast<std::int64_t>(result.size() / 64);
    EXPECT_EQ(left_in(lowered(kernel, poor_device())), "") << name;
    run(kernel, blocks, {given.x, given.y, result});
  }
}

TYPED_TEST(Expressions, AreGivenToOperatorsOfTrees) {
  using T = TypeParam;
  EdgePairs<T> given;
  const expr::Variable scope[] = {{"x"}, {"y"}};
  // Shifts are modulo the width here, and a quotient by 0 is 0.
  for (const char* const text : {"x << y", "x >> y", "x / y", "select(x < y, x & y, x ^ y)"}) {
    const expr::Tree tree = expr::parse(text, scope);
    std::vector<T> result(given.x.size());
    Builder k("tree", 64);
    const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
    const Expr at = k.place(DType::I32);
    out.store(at, k.tree(tree, dtype_of<T>, std::array{in[at], other[at]}));
    run(k.finish(), static_cast<std::int64_t>(result.size() / 64), {given.x, given.y, result});
  }
}

TYPED_TEST(Expressions, AreRoundedToHalvesOnce) {
  using T = TypeParam;
  // A little more than the middle between two bfloat16, which a float32 would not tell from the middle.
  std::vector<T> x(32);
  for (std::size_t i = 0; i < 32; ++i) x[i] = (T{1} << 40) + (T{1} << 32) + static_cast<T>(i % 3) - 1;
  std::vector<BF16> halves(32);
  Builder k("halves", 32);
  const Buffer in = k.input(dtype_of<T>), out = k.output(DType::BF16);
  out.store(k.thread(), k.convert(in[k.thread()], dtype_of<T>, DType::BF16));
  run_lowered(k.finish(), 1, {x, halves});
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_EQ(static_cast<float>(halves[i]), i % 3 == 2 ? 0x1p40f + 0x1p33f : 0x1p40f) << i;
}

}  // namespace
}  // namespace kiln::gpu
