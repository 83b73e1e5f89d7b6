// Each row of elementwise.def is a free function of the tensors that its domain allows, and each name of names.def a method.
#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/elementwise.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best;

/// Numbers that are in no function's kinks; of the kind that a row's domain is at home in.
template <class K>
Tensor<1, K> operand(int seed) {
  return Tensor<1, K>::from_data(TensorData::of<double>({4}, {0.25 + seed, 0.5 + seed, 1.75, 3}).to(K::kDefault),
                                 best());
}

namespace domain {
using Float = kiln::Float;
using Number = kiln::Int;
using Integer = kiln::Int;
using Bool = kiln::Bool;
using Any = kiln::Bool;
}  // namespace domain

testing::AssertionResult same(const auto& a, const auto& b) {
  const TensorData x = a.data(), y = b.data();
  if (x.shape() == y.shape() && x.dtype() == y.dtype() && std::ranges::equal(x.bytes(), y.bytes()))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << text(a) << " is not " << text(b);
}

TEST(Elementwise, FreeFunctionsAreThoseOfValues) {
#define KILN_UNARY(Name, function, row_domain, ...)            \
  {                                                            \
    const auto x = operand<domain::row_domain>(0);             \
    EXPECT_TRUE(same(function(x), kiln::function(x.value()))); \
  }
#define KILN_PREDICATE(Name, function, row_domain, ...) KILN_UNARY(Name, function, row_domain)
#define KILN_BINARY(Name, function, row_domain, ...)                                   \
  {                                                                                    \
    const auto x = operand<domain::row_domain>(0), y = operand<domain::row_domain>(1); \
    EXPECT_TRUE(same(function(x, y), kiln::function(x.value(), y.value())));           \
    if constexpr (std::is_same_v<domain::row_domain, Float>) {                         \
      EXPECT_TRUE(same(function(x, 0.5), kiln::function(x.value(), 0.5)));             \
      EXPECT_TRUE(same(function(0.5, x), kiln::function(0.5, x.value())));             \
    }                                                                                  \
  }
#define KILN_COMPARISON(Name, function, row_domain, ...) KILN_BINARY(Name, function, row_domain)
#include "kiln/ops/elementwise/elementwise.def"
}

TEST(Elementwise, MethodsAreThoseOfValues) {
#define KILN_UNARY(function, row_domain)                        \
  {                                                             \
    const auto x = operand<domain::row_domain>(0);              \
    EXPECT_TRUE(same(x.function(), kiln::function(x.value()))); \
  }
#define KILN_PREDICATE(function, row_domain) KILN_UNARY(function, row_domain)
#define KILN_BINARY(function, row_domain)                                              \
  {                                                                                    \
    const auto x = operand<domain::row_domain>(0), y = operand<domain::row_domain>(1); \
    EXPECT_TRUE(same(x.function(y), kiln::function(x.value(), y.value())));            \
  }
#define KILN_COMPARISON(function, row_domain) KILN_BINARY(function, row_domain)
#include "kiln/ops/elementwise/names.def"
}

TEST(Elementwise, APlainNumberMayBeTheSecondOperand) {
  const auto x = operand<Float>(0);
  EXPECT_TRUE(same(x.maximum(1), kiln::maximum(x.value(), 1)));
  EXPECT_TRUE(same(pow(x, 2.0), kiln::pow(x.value(), 2.0)));
  EXPECT_TRUE(same(operand<Int>(0).shift_left(3), kiln::shift_left(operand<Int>(0).value(), 3)));
}

}  // namespace
}  // namespace kiln
