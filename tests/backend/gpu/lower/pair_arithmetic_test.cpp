// Arithmetic on 64-bit integers as pairs of words, against 128 bits.
#include "tests/backend/gpu/lower/edges.hpp"
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

/// In 128 bits, where nothing overflows.
template <class T>
T meaning(Arithmetic op, T x, T y) {
  using Big = __int128;
  const auto kept = [](Big big) { return static_cast<T>(static_cast<std::uint64_t>(big)); };
  const auto shift = static_cast<std::uint64_t>(y);
  switch (op) {
    case Arithmetic::Add: return kept(Big{x} + y);
    case Arithmetic::Subtract: return kept(Big{x} - y);
    case Arithmetic::Multiply:
      return kept(static_cast<Big>(static_cast<unsigned __int128>(Big{x}) * static_cast<unsigned __int128>(Big{y})));
    case Arithmetic::Divide: return y == 0 ? T{0} : kept(Big{x} / y);
    case Arithmetic::Remainder: return y == 0 ? T{0} : kept(Big{x} % y);
    case Arithmetic::Minimum: return x < y ? x : y;
    case Arithmetic::Maximum: return x < y ? y : x;
    case Arithmetic::And: return x & y;
    case Arithmetic::Or: return x | y;
    case Arithmetic::Xor: return x ^ y;
    case Arithmetic::ShiftLeft:
      return shift > 63 ? T{0} : kept(static_cast<Big>(static_cast<std::uint64_t>(x) << shift));
    case Arithmetic::ShiftRight: return shift > 63 ? T{0} : kept(Big{x} >> shift);
    case Arithmetic::Less: return x < y;
    case Arithmetic::LessEqual: return x <= y;
    case Arithmetic::Equal: return x == y;
    case Arithmetic::NotEqual: return x != y;
    case Arithmetic::Negate: return kept(-Big{x});
    case Arithmetic::Not: return static_cast<T>(~x);
  }
  return {};
}

template <class T>
class Pairs : public testing::Test {};
TYPED_TEST_SUITE(Pairs, WideTypes);

TYPED_TEST(Pairs, ComputeWhatIntegersOf64BitsDo) {
  using T = TypeParam;
  EdgePairs<T> given;
  for (int i = 0; i <= static_cast<int>(Arithmetic::NotEqual); ++i) {
    const auto op = static_cast<Arithmetic>(i);
    const bool unary = op <= Arithmetic::Not;
    std::vector<T> y = given.y, result(y.size());
    Builder k("pairs", 64);
    const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
    const Expr at = k.place(DType::I64);
    out.store(at, (unary ? compute(op, in[at]) : compute(op, in[at], other[at])).as(dtype_of<T>));
    run_lowered(k.finish(), static_cast<std::int64_t>(y.size() / 64), {given.x, y, result});
    for (std::size_t j = 0; j < y.size(); ++j)
      ASSERT_EQ(result[j], meaning(op, given.x[j], y[j])) << "operator " << i << " of " << given.x[j] << ", " << y[j];
  }
}

TYPED_TEST(Pairs, AreShiftedByLiterals) {
  using T = TypeParam;
  EdgePairs<T> given;
  for (const int by : {0, 1, 31, 32, 33, 63, 64})
    for (const Arithmetic op : {Arithmetic::ShiftLeft, Arithmetic::ShiftRight}) {
      std::vector<T> result(given.x.size());
      Builder k("shifts", 64);
      const Buffer in = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
      const Expr at = k.place(DType::I32), x = in[at];
      out.store(at, compute(op, x, like(x, by)));
      run_lowered(k.finish(), static_cast<std::int64_t>(result.size() / 64), {given.x, result});
      for (std::size_t j = 0; j < result.size(); ++j)
        ASSERT_EQ(result[j], meaning<T>(op, given.x[j], static_cast<T>(by))) << given.x[j] << " by " << by;
    }
}

}  // namespace
}  // namespace kiln::gpu
