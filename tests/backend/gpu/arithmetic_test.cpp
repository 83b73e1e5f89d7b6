// What arithmetic of kernels means, against C++ on the same numbers: as it runs, and as it is folded.
#include <cmath>
#include <limits>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

template <class T>
std::vector<T> numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all{T(0), T(1), T(2), T(3), T(7), T(31), T(100), Limits::max(), Limits::lowest()};
  if constexpr (std::is_signed_v<T>) all.insert(all.end(), {T(-1), T(-2), T(-3), T(-100)});
  if constexpr (std::is_floating_point_v<T>)
    all.insert(all.end(), {T(0.5), T(-2.75), T(1e-30), Limits::infinity(), -Limits::infinity(), T(1) / 3});
  if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) all.push_back(T(1) << 40);
  return all;
}

/// All pairs: x[i], y[i].
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  std::vector<T> x, y;
  for (const T a : numbers<T>())
    for (const T b : numbers<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  return {x, y};
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
  else return a == b;
}

/// Runs f over all pairs for which `makes_sense`, and folded on literals; truths come as int32.
template <class T, class F, class G>
void expect_pairs(const char* what, F f, G meaning, bool (*makes_sense)(T, T) = [](T, T) { return true; }) {
  auto [x, y] = pairs<T>();
  std::erase_if(y, [&, i = std::size_t{0}, kept = std::size_t{0}](T b) mutable {
    const bool keep = makes_sense(x[i], b);
    if (keep) x[kept++] = x[i];
    ++i;
    return !keep;
  });
  x.resize(y.size());
  using Result = decltype(meaning(T{}, T{}));
  using Stored = std::conditional_t<std::is_same_v<Result, bool>, std::int32_t, Result>;
  std::vector<Stored> result(x.size());
  Builder k("pairs", 64);
  const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<Stored>);
  const Expr count = k.number(DType::I32), i = k.block() * 64 + k.thread();
  k.when(i < count, [&] { out.store(i, f(in[i], other[i]).as(dtype_of<Stored>)); });
  run(k.finish(), static_cast<std::int64_t>(x.size() + 63) / 64, {x, y, result, static_cast<int>(x.size())});
  for (std::size_t at = 0; at < x.size(); ++at) {
    const auto expected = static_cast<Stored>(meaning(x[at], y[at]));
    ASSERT_TRUE(same(result[at], expected)) << what << " of " << name(dtype_of<T>) << ": " << x[at] << ", " << y[at]
                                            << " gives " << result[at] << " in place of " << expected;
    Builder folds("folds", 32);
    const auto literal = [&](T number) {
      if constexpr (std::is_floating_point_v<T>) return folds.literal(dtype_of<T>, static_cast<double>(number));
      else return folds.literal(dtype_of<T>, static_cast<std::int64_t>(number));
    };
    std::vector<Stored> folded(1);
    const Buffer to = folds.output(dtype_of<Stored>);
    folds.when(folds.thread() == 0,
               [&] { to.store(folds.literal(DType::I32, 0), f(literal(x[at]), literal(y[at])).as(dtype_of<Stored>)); });
    run(folds.finish(), 1, {folded});
    ASSERT_TRUE(same(folded[0], expected)) << what << " of the literals " << x[at] << ", " << y[at];
  }
}

template <class T>
class ArithmeticOf : public testing::Test {};
using Computed = testing::Types<double, float, std::int64_t, std::uint64_t, std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(ArithmeticOf, Computed);

TYPED_TEST(ArithmeticOf, NumbersIsThatOfCpp) {
  using T = TypeParam;
  // Unsigned, where integers wrap around.
  using W = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  const auto w = [](T x) { return static_cast<W>(x); };
  expect_pairs<T>("+", [](Expr x, Expr y) { return x + y; }, [&](T x, T y) { return static_cast<T>(w(x) + w(y)); });
  expect_pairs<T>("-", [](Expr x, Expr y) { return x - y; }, [&](T x, T y) { return static_cast<T>(w(x) - w(y)); });
  expect_pairs<T>("*", [](Expr x, Expr y) { return x * y; }, [&](T x, T y) { return static_cast<T>(w(x) * w(y)); });
  expect_pairs<T>("negation", [](Expr x, Expr) { return -x; }, [&](T x, T) { return static_cast<T>(-w(x)); });
  expect_pairs<T>("<", [](Expr x, Expr y) { return x < y; }, [](T x, T y) { return x < y; });
  expect_pairs<T>("<=", [](Expr x, Expr y) { return x <= y; }, [](T x, T y) { return x <= y; });
  expect_pairs<T>(">", [](Expr x, Expr y) { return x > y; }, [](T x, T y) { return x > y; });
  expect_pairs<T>("==", [](Expr x, Expr y) { return x == y; }, [](T x, T y) { return x == y; });
  expect_pairs<T>("!=", [](Expr x, Expr y) { return x != y; }, [](T x, T y) { return x != y; });
  expect_pairs<T>("min", [](Expr x, Expr y) { return min(x, y); }, [](T x, T y) { return y < x ? y : x; });
  expect_pairs<T>("max", [](Expr x, Expr y) { return max(x, y); }, [](T x, T y) { return y > x ? y : x; });
  expect_pairs<T>(
      "a choice", [](Expr x, Expr y) { return select(!(x < y), x, y); }, [](T x, T y) { return !(x < y) ? x : y; });
  expect_pairs<T>(
      "truths", [](Expr x, Expr y) { return ((x < y) | (x == 1)) ^ ((y < 3) & (x != y)); },
      [](T x, T y) { return (x < y || x == T(1)) != (y < T(3) && x != y); });
  if constexpr (std::is_floating_point_v<T>) {
    expect_pairs<T>("/", [](Expr x, Expr y) { return x / y; }, [](T x, T y) { return x / y; });
  } else {
    const auto divides = [](T x, T y) {
      return y != 0 && !(std::is_signed_v<T> && x + 1 < -std::numeric_limits<T>::max() + 1 && y == T(-1));
    };
    expect_pairs<T>(
        "/", [](Expr x, Expr y) { return x / y; }, [](T x, T y) { return static_cast<T>(x / y); }, +divides);
    expect_pairs<T>(
        "%", [](Expr x, Expr y) { return x % y; }, [](T x, T y) { return static_cast<T>(x % y); }, +divides);
    expect_pairs<T>("&", [](Expr x, Expr y) { return x & y; }, [](T x, T y) { return static_cast<T>(x & y); });
    expect_pairs<T>("|", [](Expr x, Expr y) { return x | y; }, [](T x, T y) { return static_cast<T>(x | y); });
    expect_pairs<T>("^", [](Expr x, Expr y) { return x ^ y; }, [](T x, T y) { return static_cast<T>(x ^ y); });
    expect_pairs<T>("~", [](Expr x, Expr) { return !x; }, [](T x, T) { return static_cast<T>(~x); });
    const auto shifts = [](T, T y) { return y >= 0 && static_cast<std::uint64_t>(y) < sizeof(T) * 8; };
    expect_pairs<T>(
        "<<", [](Expr x, Expr y) { return x << y; }, [&](T x, T y) { return static_cast<T>(w(x) << y); }, +shifts);
    expect_pairs<T>(
        ">>", [](Expr x, Expr y) { return x >> y; }, [](T x, T y) { return static_cast<T>(x >> y); }, +shifts);
  }
}

TYPED_TEST(ArithmeticOf, NumbersIsCastAsCppDoes) {
  using T = TypeParam;
  const auto within = [](auto to) {
    using To = decltype(to);
    return +[](T x, T) {
      if constexpr (std::is_floating_point_v<T> && std::is_integral_v<To>)
        return x == x && x > static_cast<T>(std::numeric_limits<To>::lowest()) - 1 &&
               x < static_cast<T>(std::numeric_limits<To>::max());
      else if constexpr (sizeof(T) == 8 && std::is_same_v<To, float> && std::is_floating_point_v<T>)
        return std::abs(static_cast<double>(x)) < 3e38 || std::isinf(static_cast<double>(x));
      else return true;
    };
  };
  const auto check = [&](auto to) {
    using To = decltype(to);
    expect_pairs<T>(
        "a cast", [](Expr x, Expr) { return x.as(dtype_of<To>); }, [](T x, T) { return static_cast<To>(x); },
        within(to));
  };
  check(double{});
  check(float{});
  check(std::int64_t{});
  check(std::uint64_t{});
  check(std::int32_t{});
  check(std::uint32_t{});
}

TYPED_TEST(ArithmeticOf, NumbersHasTheirBits) {
  using T = TypeParam;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  expect_pairs<T>(
      "bits", [](Expr x, Expr) { return x.bits_as(dtype_of<Bits>); }, [](T x, T) { return std::bit_cast<Bits>(x); });
  expect_pairs<T>(
      "bits and back", [](Expr x, Expr) { return x.bits_as(dtype_of<Bits>).bits_as(dtype_of<T>); },
      [](T x, T) { return x; });
}

TEST(Arithmetic, HasResultsWhereCppHasNone) {
  std::vector<std::int32_t> out(8), least{std::numeric_limits<std::int32_t>::min()};
  std::vector<float> odd{NAN, 1e30f, -1e30f};
  Builder k("open", 32);
  const Buffer x = k.input(DType::I32), f = k.input(DType::F32), to = k.output(DType::I32);
  k.when(k.thread() == 0, [&] {
    const Expr zero = k.literal(DType::I32, 0), lowest = x[zero];
    to.store(zero, lowest / (lowest / lowest - 2));
    to.store(zero + 1, lowest % (lowest / lowest - 2));
    to.store(zero + 2, lowest << (zero + 32));
    to.store(zero + 3, lowest >> (lowest / lowest + 31));
    to.store(zero + 4, lowest << lowest);
    for (int i = 0; i < 3; ++i) to.store(zero + 5 + i, f[zero + i].as(DType::I32));
  });
  run(k.finish(), 1, {least, odd, out});
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(out, (std::vector<std::int32_t>{-kMost - 1, 0, 0, 0, 0, 0, kMost, -kMost - 1}));
}

TEST(Trees, AreWorthWhatTheFunctionsOfCppAre) {
  const auto row = [](op::UnaryFn fn) {
    return [fn](Expr x, Expr) { return x.builder().tree(expr::tree(fn), x.type(), std::vector{x}); };
  };
  expect_pairs<double>("exp", row(op::UnaryFn::Exp), [](double x, double) { return std::exp(x); });
  expect_pairs<double>("floor", row(op::UnaryFn::Floor), [](double x, double) { return std::floor(x); });
  expect_pairs<float>("abs", row(op::UnaryFn::Abs), [](float x, float) { return std::abs(x); });
  expect_pairs<double>(
      "hypot", [](Expr x, Expr y) { return x.builder().call("hypot", DType::F64, {x, y}); },
      [](double x, double y) { return std::hypot(x, y); });
  expect_pairs<float>(
      "is_nan", [](Expr x, Expr y) { return x.builder().call("is_nan", DType::F32, {x / y}); },
      [](float x, float y) { return std::isnan(x / y); });
  expect_pairs<std::uint32_t>(
      "multiply_high", [](Expr x, Expr y) { return x.builder().call("multiply_high", DType::F32, {x, y}); },
      [](std::uint32_t x, std::uint32_t y) { return static_cast<std::uint32_t>(std::uint64_t{x} * y >> 32); });
}

}  // namespace
}  // namespace kiln::gpu
