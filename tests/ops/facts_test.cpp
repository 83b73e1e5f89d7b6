// What ops say of themselves (traits.hpp), against loops that count, and against what happens when one runs on rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {
namespace {

Value zeros(const Shape& shape) { return Value(make_ref<Node>(Desc{shape, DType::F64}, Device{})); }

template <class Op>
double flops(const Op& op, const Values& in, const Values& out = {}) {
  return flops_of(op, in, out);
}

/// Multiplications, additions and divisions of an elimination that leaves out rows below the diagonal's last one.
double counted_elimination(int m, int n) {
  double count = 0;
  for (int k = 0; k < std::min(m, n); ++k)
    for (int i = k + 1; i < m; ++i) {
      ++count;
      for (int j = k + 1; j < n; ++j) count += 2;
    }
  return count;
}

double counted_cholesky(int n) {
  double count = 0;
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      for (int k = 0; k < j; ++k) count += 2;
      ++count;
    }
  return count;
}

double counted_substitution(int n, int columns) {
  double count = 0;
  for (int c = 0; c < columns; ++c)
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) count += 2;
      ++count;
    }
  return count;
}

TEST(Flops, OfMatricesAreThoseOfTheTextbooksLoops) {
  constexpr int kN = 200;  // formulas are leading terms: the rest is of the order of 1 / n
  const Value a = zeros({3, kN, kN}), tall = zeros({kN, kN / 2}), b = zeros({3, kN, 7});
  const auto near = [](double got, double counted) { EXPECT_NEAR(got / counted, 1, 0.02); };
  near(flops(op::Cholesky{}, {a}), 3 * counted_cholesky(kN));
  near(flops(op::Lu{}, {a}), 3 * counted_elimination(kN, kN));
  near(flops(op::Lu{}, {tall}), counted_elimination(kN, kN / 2));
  near(flops(op::Det{}, {a}), 3 * counted_elimination(kN, kN));
  near(flops(op::TriangularSolve{}, {a, b}, {b}), 3 * counted_substitution(kN, 7));
  near(flops(op::Solve{}, {a, b}, {b}), 3 * (counted_elimination(kN, kN) + 2 * counted_substitution(kN, 7)));
}

TEST(Flops, OfTransformsCountComplexLinesTwiceAsRealOnes) {
  const op::Fft complex{op::FftKind::ComplexToComplex, false, 1, 64}, real{op::FftKind::RealToComplex, false, 1, 64},
      back{op::FftKind::ComplexToReal, true, 1, 64};
  EXPECT_EQ(flops(complex, {zeros({10, 64, 2})}), 10 * 5 * 64 * 6);
  EXPECT_EQ(flops(real, {zeros({10, 64})}), 10 * 5 * 64 * 6 / 2);
  EXPECT_EQ(flops(back, {zeros({10, 33, 2})}), 10 * 5 * 64 * 6 / 2);
}

TEST(Flops, OfProductsCountEachPair) {
  EXPECT_EQ(flops(op::Matmul{}, {zeros({2, 3, 5}), zeros({2, 5, 7})}, {zeros({2, 3, 7})}), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops(op::Attention{}, {zeros({2, 4, 3, 8}), zeros({2, 4, 5, 8}), zeros({2, 4, 5, 6})}),
            2 * (2 * 4) * (3 * 5) * (8 + 6));
  EXPECT_EQ(flops(op::RecurrentLayer{}, {zeros({2, 3, 20}), zeros({20, 4}), {}, zeros({4, 5})}),
            2 * (2 * 3) * (20 * 4 + 4 * 5));
  EXPECT_EQ(flops(op::Softmax{0, false}, {zeros({9})}, {zeros({9})}), 0) << "what memory bounds has none";
}

static_assert(!std::is_default_constructible_v<OpTraits>);
static_assert(!std::is_constructible_v<OpTraits, Pattern, AutocastTo, Bound, Rows>, "who leaves out a fact is told");

// What ops do with the data: each against the call that would show it.
TEST(OpTraits, SayWhatMayFail) {
  const Device device = Device::parse("reference");
  const auto fails = [](auto&& f) {
    try {
      (void)f().data();
      return false;
    } catch (const Error&) { return true; }
  };
  const Value x = ones({2, 2}, device), far = full({2}, 5, device, DType::I64);
  EXPECT_TRUE(fails([&] { return select(x, 0, far); }));
  EXPECT_TRUE(fails([&] { return gather(x, 0, reshape(far, {1, 2})); }));
  EXPECT_TRUE(fails([&] { return inverse(x - x); }));
  for (const MayFail fact : {op::Select::kTraits.may_fail, op::Gather::kTraits.may_fail, op::Solve::kTraits.may_fail})
    EXPECT_EQ(fact, MayFail::OnData);
  EXPECT_FALSE(fails([&] { return x / 0; }));
  EXPECT_EQ(op::Binary::kTraits.may_fail, MayFail::Never);
  EXPECT_EQ(op::AllReduce::kTraits.may_fail, MayFail::WithRanks);
}

TEST(OpTraits, OfReductionsDependOnWhatTheyDo) {
  const op::Reduce rows{op::ReduceFn::Sum, {2}}, columns{op::ReduceFn::Max, {0}};
  EXPECT_EQ(autocast_of(rows), AutocastTo::Single);
  EXPECT_EQ(autocast_of(columns), AutocastTo::Same) << "it gives one of the elements, which halves hold";
  EXPECT_TRUE(is_row_wise(rows, 0));
  EXPECT_TRUE(is_row_wise(rows, 1));
  EXPECT_FALSE(is_row_wise(rows, 2));
  EXPECT_FALSE(is_row_wise(columns, 0));
  EXPECT_TRUE(is_row_wise(op::Where{}, 5));
  EXPECT_FALSE(is_row_wise(op::Sort{}, 0));
}

}  // namespace
}  // namespace kiln
