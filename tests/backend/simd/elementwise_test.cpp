#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using op::BinaryFn;
using op::UnaryFn;

const std::int64_t kSizes[] = {0, 1, 7, 8, 15, 16, 17, 31, 33, 255, 1000, 1024, 1025, 3000};

TEST(SimdUnary, TakesEveryLength) {
  for_each_target([] {
    for (const std::int64_t size : kSizes) {
      for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::I16,
                                DType::U16, DType::I8, DType::U8}) {
        const auto x = rounded(dtype, random_numbers(size, 1, 11));
        std::vector<double> expected;
        for (const double v : x) expected.push_back(v * v);
        expect_close(numbers(run_op(op::Unary{UnaryFn::Square}, {tensor(dtype, {size}, x)})), rounded(dtype, expected),
                     0);
      }
    }
  });
}

// The last vector of a length overlaps the one before it.
TEST(SimdElementwise, MayWriteWhereItReads) {
  for_each_target([] {
    for (const std::int64_t size : kSizes) {
      const auto count = static_cast<std::size_t>(size);
      std::vector<float> x(count), y(count), squares(count), differences(count);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>(i) + 2;
        y[i] = static_cast<float>(3 * i);
        squares[i] = x[i] * x[i];
        differences[i] = x[i] - y[i];
      }
      std::vector<float> in_place = x;
      unary_block<float>(UnaryFn::Square)(in_place.data(), 1, in_place.data(), count);
      EXPECT_EQ(in_place, squares);
      const auto subtract = binary_block<float>(BinaryFn::Sub);
      in_place = x;
      subtract(in_place.data(), 1, y.data(), 1, in_place.data(), count);
      EXPECT_EQ(in_place, differences);
      subtract(x.data(), 1, y.data(), 1, y.data(), count);
      EXPECT_EQ(y, differences);
    }
  });
}

TEST(SimdUnary, ReadsPermutedStridedAndExpandedOperands) {
  for_each_target([] {
    const auto x = rounded(DType::F32, random_numbers(3 * 40 * 70, -2, 2));
    std::vector<double> expected;
    for (const double v : x) expected.push_back(std::abs(v));
    for (const Dims& order : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{2, 1, 0}, Dims{1, 0, 2}}) {
      const Value permuted = tensor(DType::F32, {3, 40, 70}, x, order);
      const Value y = run_op(op::Unary{UnaryFn::Abs}, {permuted});
      EXPECT_EQ(y.node()->strides, permuted.node()->strides);
      expect_close(numbers(y), expected, 0);

      const Value strided = every(3, permuted);
      auto sparse = numbers(strided);
      for (double& v : sparse) v = -v;
      expect_close(numbers(run_op(op::Unary{UnaryFn::Neg}, {strided})), sparse, 0);
    }
    for (const Shape& small : {Shape{3, 1, 1}, Shape{1, 40, 1}, Shape{1, 1, 70}, Shape{3, 1, 70}, Shape{1, 1, 1}}) {
      const Value wide = expanded(tensor(DType::F32, small, random_numbers(numel(small), -2, 2)), {3, 40, 70});
      auto negative = numbers(wide);
      for (double& v : negative) v = -v;
      expect_close(numbers(run_op(op::Unary{UnaryFn::Neg}, {wide})), negative, 0);
    }
  });
}

TEST(SimdUnary, TellsNumbersFromInfinitiesAndNans) {
  const double inf = INFINITY, nan = NAN;
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::F64, DType::F16}) {
      const Value x = tensor(dtype, {6}, {1, inf, -inf, nan, 0, -2});
      EXPECT_EQ(numbers(run_op(op::Unary{UnaryFn::IsNan}, {x})), (std::vector<double>{0, 0, 0, 1, 0, 0}));
      EXPECT_EQ(numbers(run_op(op::Unary{UnaryFn::IsInf}, {x})), (std::vector<double>{0, 1, 1, 0, 0, 0}));
      EXPECT_EQ(numbers(run_op(op::Unary{UnaryFn::IsFinite}, {x})), (std::vector<double>{1, 0, 0, 0, 1, 1}));
    }
    const Value flags = tensor(DType::Bool, {3}, {1, 0, 1});
    EXPECT_EQ(numbers(run_op(op::Unary{UnaryFn::LogicalNot}, {flags})), (std::vector<double>{0, 1, 0}));
  });
}

struct BinaryCase {
  BinaryFn fn;
  double (*expected)(double, double);
  bool integers;
};
const BinaryCase kBinary[] = {
    {BinaryFn::Add, [](double x, double y) { return x + y; }, true},
    {BinaryFn::Sub, [](double x, double y) { return x - y; }, true},
    {BinaryFn::Mul, [](double x, double y) { return x * y; }, true},
    {BinaryFn::Div, [](double x, double y) { return x / y; }, false},
    {BinaryFn::FloorDivide, [](double x, double y) { return std::floor(x / y); }, true},
    {BinaryFn::Remainder, [](double x, double y) { return x - y * std::floor(x / y); }, true},
    {BinaryFn::Fmod, [](double x, double y) { return std::fmod(x, y); }, true},
    {BinaryFn::Pow, [](double x, double y) { return std::pow(x, y); }, false},
    {BinaryFn::Maximum, [](double x, double y) { return x > y ? x : y; }, true},
    {BinaryFn::Minimum, [](double x, double y) { return x < y ? x : y; }, true},
    {BinaryFn::Atan2, [](double x, double y) { return std::atan2(x, y); }, false},
    {BinaryFn::Hypot, [](double x, double y) { return std::hypot(x, y); }, false},
    {BinaryFn::LeakyRelu, [](double x, double y) { return x > 0 ? x : x * y; }, false},
    {BinaryFn::Less, [](double x, double y) { return x < y ? 1. : 0.; }, true},
    {BinaryFn::GreaterEqual, [](double x, double y) { return x >= y ? 1. : 0.; }, true},
    {BinaryFn::Equal, [](double x, double y) { return x == y ? 1. : 0.; }, true},
    {BinaryFn::NotEqual, [](double x, double y) { return x != y ? 1. : 0.; }, true},
};

// Whole numbers, so that every element type holds them and most results exactly.
std::vector<double> whole_numbers(std::int64_t count, std::uint64_t seed) {
  auto result = random_numbers(count, 1, 11, seed);
  for (double& number : result) number = std::floor(number);
  return result;
}

void expect_binary(const BinaryCase& c, DType dtype, const Shape& x_shape, const Shape& y_shape, Dims x_order = {}) {
  const auto x = whole_numbers(numel(x_shape), 1), y = whole_numbers(numel(y_shape), 2);
  const Shape shape = broadcast("test", x_shape, y_shape);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < numel(shape); ++i)
    expected.push_back(c.expected(x[static_cast<std::size_t>(broadcast_position(i, shape, x_shape))],
                                  y[static_cast<std::size_t>(broadcast_position(i, shape, y_shape))]));
  const Value z = run_op(op::Binary{c.fn}, {tensor(dtype, x_shape, x, x_order), tensor(dtype, y_shape, y)});
  const double ulp = dtype == DType::F64 ? 1e-15 : is_float(dtype) ? 3e-7 : 0;
  expect_close(numbers(z), rounded(z.dtype(), rounded(is_float(dtype) ? DType::F64 : dtype, expected)),
               dtype == DType::F16    ? 5e-4
               : dtype == DType::BF16 ? 4e-3
                                      : ulp);
}

TEST(SimdBinary, BroadcastsInEveryPattern) {
  const std::pair<Shape, Shape> shapes[] = {{{0}, {0}},
                                            {{1}, {1}},
                                            {{17}, {17}},
                                            {{1000}, {1}},
                                            {{1}, {1000}},
                                            {{}, {33}},
                                            {{}, {}},
                                            {{5, 700}, {700}},
                                            {{5, 700}, {5, 1}},
                                            {{5, 1}, {1, 7}},
                                            {{4, 6, 9, 9}, {1, 6, 1, 1}},
                                            {{300, 300}, {300, 1}},
                                            {{4, 6, 20, 20}, {4, 6, 1, 1}},
                                            {{2, 3, 1, 5}, {3, 4, 1}},
                                            {{2, 0, 3}, {1, 3}},
                                            {{600, 8}, {8}}};
  for_each_target([&] {
    for (const BinaryCase& c : kBinary)
      for (const auto& [x, y] : shapes) expect_binary(c, DType::F32, x, y);
  });
}

TEST(SimdBinary, TakesShortRowsOfSlices) {
  const auto slice = [](const Value& x, std::int64_t first, std::int64_t length) {
    Value part(make_ref<Node>(Desc{{x.dim(0), x.dim(1), length}, x.dtype()}, x.device()));
    alias(part, x, x.node()->strides, first);
    return part;
  };
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I64, DType::I16, DType::U8})
      for (const std::int64_t length : {1, 12, 16, 31, 40, 255}) {
        const Shape shape{5, 3, length + 1};
        const Value x = tensor(dtype, shape, whole_numbers(numel(shape), 1));
        const Value y = tensor(dtype, {5, 3, length}, whole_numbers(15 * length, 2));
        for (const Value& other :
             {slice(x, 0, length), y, slice(tensor(dtype, {5, 3, 1}, whole_numbers(15, 3)), 0, 1)}) {
          const std::vector<double> a = numbers(slice(x, 1, length)), b = numbers(other);
          std::vector<double> products, less;
          for (std::size_t i = 0; i < a.size(); ++i) {
            const double second = b.size() == a.size() ? b[i] : b[i / static_cast<std::size_t>(length)];
            products.push_back(a[i] * second);
            less.push_back(a[i] < second);
          }
          EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Mul}, {slice(x, 1, length), other})), rounded(dtype, products));
          EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Less}, {slice(x, 1, length), other})), less);
        }
      }
  });
}

TEST(SimdBinary, ComputesInEveryElementType) {
  for_each_target([] {
    for (const BinaryCase& c : kBinary)
      for (const DType dtype :
           {DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::I16, DType::U16, DType::U8})
        if (is_float(dtype) || c.integers) expect_binary(c, dtype, {3, 333}, {333});
  });
}

TEST(SimdBinary, TakesHalvesOfEveryLength) {
  for_each_target([] {
    for (const DType dtype : {DType::F16, DType::BF16})
      for (const std::int64_t size : kSizes) {
        const auto x = rounded(dtype, random_numbers(size, 1, 11)), y = rounded(dtype, random_numbers(size, -3, 3, 2));
        std::vector<double> sums, shares, less;
        for (std::size_t i = 0; i < x.size(); ++i) {
          sums.push_back(x[i] + y[i]);
          shares.push_back(y[i] / x[i]);
          less.push_back(x[i] < y[i]);
        }
        const Value a = tensor(dtype, {size}, x), b = tensor(dtype, {size}, y);
        EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Add}, {a, b})), rounded(dtype, sums));
        // Rounded to float32 first, as halves are computed.
        EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Div}, {b, a})), rounded(dtype, rounded(DType::F32, shares)));
        EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Less}, {a, b})), less);
      }
  });
}

TEST(SimdBinary, DoesNotRoundPlainNumbersBesideHalves) {
  for_each_target([] {
    // 257 is none of bfloat16's numbers, and would be 256 or 258.
    const Value x = tensor(DType::BF16, {3}, {256, 1, -2});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Sub}, {x, Value(257)})), (std::vector<double>{-1, -256, -260}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Mul}, {x, Value(0.5)})), (std::vector<double>{128, 0.5, -1}));
    const Value y = tensor(DType::F16, {2}, {1, 4});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Mul}, {y, Value(100000)})),
              (std::vector<double>{INFINITY, INFINITY}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Sub}, {Value(65536), y})), (std::vector<double>{INFINITY, INFINITY}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Minimum}, {y, Value(70000)})), (std::vector<double>{1, 4}));
  });
}

TEST(SimdBinary, MeetsOperandsOfOtherMemoryOrders) {
  for_each_target([] {
    for (const Dims& order : {Dims{0, 2, 3, 1}, Dims{3, 2, 1, 0}, Dims{1, 0, 3, 2}}) {
      expect_binary(kBinary[1], DType::F32, {4, 8, 13, 13}, {4, 8, 13, 13}, order);
      expect_binary(kBinary[1], DType::F32, {4, 8, 13, 13}, {8, 1, 1}, order);
      expect_binary(kBinary[1], DType::BF16, {4, 8, 13, 13}, {4, 1, 13, 13}, order);
    }
  });
}

TEST(SimdBinary, TakesPlainNumbersOnEitherSide) {
  for_each_target([] {
    const Value x = tensor(DType::F32, {5}, {1, 2, 3, 4, 5});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Sub}, {x, Value(2)})), (std::vector<double>{-1, 0, 1, 2, 3}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Sub}, {Value(2.5), x})),
              (std::vector<double>{1.5, .5, -.5, -1.5, -2.5}));
    const Value n = tensor(DType::I64, {3}, {7, -7, 0});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::FloorDivide}, {n, Value(2)})), (std::vector<double>{3, -4, 0}));
  });
}

TEST(SimdBinary, PassesNansThroughExtremes) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Value x = tensor(dtype, {4}, {NAN, 1, -0.0, 2}), y = tensor(dtype, {4}, {1, NAN, 0.0, 3});
      const double nan = NAN;
      expect_close(numbers(run_op(op::Binary{BinaryFn::Maximum}, {x, y})), {nan, nan, 0, 3}, 0);
      expect_close(numbers(run_op(op::Binary{BinaryFn::Minimum}, {x, y})), {nan, nan, 0, 2}, 0);
    }
  });
}

TEST(SimdBinary, WrapsIntegersAndDefinesDivisionByZero) {
  for_each_target([] {
    const Value x = tensor(DType::I32, {3}, {2147483647, -2147483648.0, 5}), y = tensor(DType::I32, {3}, {1, -1, 0});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Add}, {x, y})), (std::vector<double>{-2147483648.0, 2147483647, 5}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::FloorDivide}, {x, y})),
              (std::vector<double>{2147483647, -2147483648.0, 0}));
  });
}

TEST(SimdBinary, WrapsNarrowIntegersInTheirOwnType) {
  for_each_target([] {
    const auto bytes = [](const std::vector<double>& x) { return tensor(DType::I8, {std::ssize(x)}, x); };
    const Value x = bytes({127, -128, 100, -1, 0}), y = bytes({1, -1, 100, -128, 5});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Add}, {x, y})), (std::vector<double>{-128, 127, -56, 127, 5}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Mul}, {x, y})), (std::vector<double>{127, -128, 16, -128, 0}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::FloorDivide}, {x, y})), (std::vector<double>{127, -128, 1, 0, 0}));
    EXPECT_EQ(numbers(run_op(op::Unary{UnaryFn::Neg}, {x})), (std::vector<double>{-127, -128, -100, 1, 0}));
    // Beside bytes, 300 is 44; beside unsigned words of 16 bits, -1 is 65535.
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Minimum}, {x, Value(300)})),
              (std::vector<double>{44, -128, 44, -1, 0}));
    const Value words = tensor(DType::U16, {3}, {0, 7, 65535}), wide = tensor(DType::U32, {3}, {0, 7, 4294967295.0});
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Maximum}, {words, Value(-1)})), (std::vector<double>(3, 65535)));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Sub}, {words, Value(1)})), (std::vector<double>{65535, 6, 65534}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Add}, {wide, Value(1)})), (std::vector<double>{1, 8, 0}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::ShiftRight}, {wide, Value(31)})), (std::vector<double>{0, 0, 1}));
    EXPECT_EQ(numbers(run_op(op::Binary{BinaryFn::Less}, {wide, Value(8)})), (std::vector<double>{1, 1, 0}));
  });
}

template <class T>
void expect_products_of_bytes() {
  constexpr std::size_t count = 257;  // an odd number
  std::vector<T> x(count), y(count), z(count);
  for (int factor = 0; factor < 256; ++factor) {
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<T>(i);
      y[i] = static_cast<T>(static_cast<std::size_t>(factor) * (i + 1) + i / 3);
    }
    binary_block<T>(BinaryFn::Mul)(x.data(), 1, y.data(), 1, z.data(), count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(z[i], static_cast<T>(int{x[i]} * int{y[i]})) << i << " " << factor;
  }
}
TEST(SimdBinary, MultipliesBytes) {
  for_each_target([] {
    expect_products_of_bytes<std::int8_t>();
    expect_products_of_bytes<std::uint8_t>();
  });
}

TEST(SimdWhere, ChoosesForEveryElementTypeAndPattern) {
  for_each_target([] {
    const auto c = whole_numbers(12 * 300, 3), x = whole_numbers(12 * 300, 4), y = whole_numbers(300, 5);
    std::vector<double> flags, expected;
    for (std::size_t i = 0; i < c.size(); ++i) {
      flags.push_back(c[i] > 5);
      expected.push_back(flags[i] != 0 ? x[i] : y[i % 300]);
    }
    for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::I8, DType::I64}) {
      const Value condition = tensor(DType::Bool, {12, 300}, flags, Dims{1, 0});
      EXPECT_EQ(numbers(run_op(op::Where{}, {condition, tensor(dtype, {12, 300}, x), tensor(dtype, {300}, y)})),
                expected);
    }
    const Value number =
        run_op(op::Where{}, {tensor(DType::Bool, {3}, {1, 0, 1}), tensor(DType::F32, {3}, {1, 2, 3}), Value(0)});
    EXPECT_EQ(numbers(number), (std::vector<double>{1, 0, 3}));
  });
}

/// To the nearest number of eight digits, and of two the even one.
double nearest_bfloat16(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::ldexp(1, exponent - 8);
  return std::nearbyint(x / step) * step;
}

TEST(SimdCast, RoundsWholeNumbersToBfloat16Once) {
  std::vector<double> words{0, 1, 2147483647, 16777215, 16777216, 16777217};
  // Beside the middle between two neighbours, by less than a float tells.
  for (int exponent = 7; exponent < 31; ++exponent)
    for (const double digits : {128, 129, 254, 255})
      for (const double beside : {-2, -1, 0, 1, 2}) {
        const double number = std::floor(std::ldexp(digits + 0.5, exponent - 7)) + beside;
        if (number < 2147483648.0) words.push_back(number);
      }
  std::vector<double> expected;
  for (const double word : words) expected.push_back(nearest_bfloat16(word));
  std::vector<double> negative = words, negative_expected = expected;
  for (double& x : negative) x = -x;
  for (double& x : negative_expected) x = -x;
  std::vector<double> large, large_expected;
  for (const double word : words) {
    large.push_back(4294967295.0 - word);
    large_expected.push_back(nearest_bfloat16(large.back()));
  }
  const std::int64_t count = std::ssize(words);
  for_each_target([&] {
    const auto cast = [&](DType from, const std::vector<double>& x) {
      return numbers(run_op(op::Cast{DType::BF16}, {tensor(from, {count}, x)}));
    };
    EXPECT_EQ(cast(DType::I32, words), expected);
    EXPECT_EQ(cast(DType::I32, negative), negative_expected);
    EXPECT_EQ(cast(DType::U32, words), expected);
    EXPECT_EQ(cast(DType::U32, large), large_expected);
  });
}

TEST(SimdCast, ConvertsBetweenAllElementTypes) {
  for_each_target([] {
    const auto x = whole_numbers(77, 6);
    for (int from = 0; from < kDTypeCount; ++from)
      for (int to = 0; to < kDTypeCount; ++to) {
        const auto source = static_cast<DType>(from), target = static_cast<DType>(to);
        EXPECT_EQ(numbers(run_op(op::Cast{target}, {tensor(source, {7, 11}, x)})), rounded(target, rounded(source, x)));
        const Value wide = expanded(tensor(source, {1, 1}, {3}), {50, 60});
        EXPECT_EQ(numbers(run_op(op::Cast{target}, {wide})),
                  rounded(target, rounded(source, std::vector<double>(3000, 3))));
      }
  });
}

TEST(SimdCast, RoundsHalvesToNearestEven) {
  // Half a million floats of all exponents, against the scalar conversion.
  std::vector<double> x;
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 0x1ff3)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const auto size = static_cast<std::int64_t>(x.size());
  for_each_target([&] {
    for (const DType half : {DType::F16, DType::BF16}) {
      const Value narrow = run_op(op::Cast{half}, {tensor(DType::F32, {size}, x)});
      expect_close(numbers(narrow), rounded(half, x), 0);
      expect_close(numbers(run_op(op::Cast{DType::F32}, {narrow})), rounded(half, x), 0);
    }
  });
}

/// The numbers of a half type, from 0 to the largest, and what lies in the middle of each and the next.
std::vector<double> halves_of(DType half, std::uint16_t step) {
  std::vector<double> all;
  for (std::uint32_t bits = 0; bits < (half == DType::F16 ? 0x7c00u : 0x7f80u); bits += step) {
    const auto word = static_cast<std::uint16_t>(bits);
    all.push_back(half == DType::F16 ? static_cast<float>(F16::from_bits(word))
                                     : static_cast<float>(BF16::from_bits(word)));
  }
  return all;
}

TEST(SimdCast, RoundsOnceToHalvesFromEveryType) {
  for_each_target([] {
    for (const DType half : {DType::F16, DType::BF16})
      for (const DType from : {DType::F64, DType::I64, DType::U64, DType::I32, DType::U32}) {
        SCOPED_TRACE(text(from, " to ", half));
        const double largest = from == DType::I32 ? 0x1p31 : from == DType::U32 ? 0x1p32 : 0x1p63;
        std::vector<double> x, expected;
        const std::vector<double> halves = halves_of(half, 1);
        for (std::size_t i = 0; i + 1 < halves.size(); ++i) {
          const double low = halves[i], high = halves[i + 1], middle = low + (high - low) / 2;
          if (from != DType::F64 && (middle != std::floor(middle) || high >= largest)) continue;
          const bool whole = from != DType::F64 && middle < 0x1p53;
          const double below = whole ? middle - 1 : std::nextafter(middle, 0.0),
                       above = whole ? middle + 1 : std::nextafter(middle, INFINITY);
          x.insert(x.end(), {below, middle, above});
          expected.insert(expected.end(), {low, i % 2 == 0 ? low : high, high});
        }
        if (is_float(from) || from == DType::I32 || from == DType::I64)
          for (std::size_t i = 0, count = x.size(); i < count; ++i)
            x.push_back(-x[i]), expected.push_back(-expected[i]);
        ASSERT_GT(x.size(), 1000u);
        const Value narrow = run_op(op::Cast{half}, {tensor(from, {std::ssize(x)}, x)});
        EXPECT_EQ(numbers(narrow), expected);
      }
    // Numbers that a double does not hold.
    std::vector<std::int64_t> large;
    std::vector<double> expected;
    for (int exponent = 54; exponent < 63; ++exponent) {
      const std::int64_t low = std::int64_t{1} << exponent, middle = low + (low >> 8);
      const auto next = static_cast<double>(low + (low >> 7)), least = static_cast<double>(low);
      large.insert(large.end(), {middle - 1, middle, middle + 1, -middle + 1, -middle, -middle - 1});
      expected.insert(expected.end(), {least, least, next, -least, -least, -next});
    }
    Value x(make_ref<Node>(Desc{{std::ssize(large)}, DType::I64}, Device{}));
    std::ranges::copy(large, allocate(x).as<std::int64_t>());
    EXPECT_EQ(numbers(run_op(op::Cast{DType::BF16}, {x})), expected);
  });
}

TEST(SimdCast, TellsTheLimitsOfWholeNumbers) {
  for_each_target([] {
    const std::vector<double> x{NAN, INFINITY, -INFINITY, 3e9, -3e9, 2147483520, -2147483648.0, 1.9, -1.9, 0};
    const std::vector<double> expected{
        0, 2147483647, -2147483648.0, 2147483647, -2147483648.0, 2147483520, -2147483648.0, 1, -1, 0};
    for (std::size_t count = 1; count <= x.size(); ++count) {
      const auto some = static_cast<std::int64_t>(count);
      const std::vector<double> first(x.begin(), x.begin() + some), wanted(expected.begin(), expected.begin() + some);
      EXPECT_EQ(numbers(run_op(op::Cast{DType::I32}, {tensor(DType::F32, {some}, first)})), wanted);
    }
    for (const DType half : {DType::F16, DType::BF16}) {
      const std::vector<double> wanted{
          0, 2147483647, -2147483648.0, 2147483647, -2147483648.0, 2147483647, -2147483648.0, 1, -1, 0};
      EXPECT_EQ(numbers(run_op(op::Cast{DType::I32}, {tensor(half, {std::ssize(x)}, x)})), wanted);
    }
    for (const DType from : {DType::F32, DType::F64, DType::BF16})
      for (const auto& [to, least, most] : {std::tuple{DType::I8, -128, 127}, std::tuple{DType::I16, -32768, 32767},
                                            std::tuple{DType::U8, 0, 255}, std::tuple{DType::U16, 0, 65535}}) {
        std::vector<double> wanted;
        for (const double number : x)
          wanted.push_back(std::isnan(number) ? 0 : std::trunc(std::clamp<double>(number, least, most)));
        EXPECT_EQ(numbers(run_op(op::Cast{to}, {tensor(from, {std::ssize(x)}, x)})), wanted);
      }
    const std::vector<double> wide{1e39, -1e39, 0x1.ffffffp127, 0x1.fffffefp127, 1e-50, -1e-50};
    EXPECT_EQ(numbers(run_op(op::Cast{DType::F32}, {tensor(DType::F64, {6}, wide)})),
              (std::vector<double>{INFINITY, -INFINITY, INFINITY, 0x1.fffffep127, 0, 0}));
  });
}

TEST(SimdElementwise, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for_each_target([] {
    const Value x = tensor(DType::F32, {7, 30011}, random_numbers(7 * 30011, -3, 3));
    const Value y = tensor(DType::F32, {7, 1}, random_numbers(7, -3, 3));
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      results.push_back(numbers(run_op(op::Unary{UnaryFn::Gelu}, {x})));
      results.push_back(numbers(run_op(op::Binary{BinaryFn::Add}, {x, y})));
    }
    EXPECT_EQ(results[0], results[2]);
    EXPECT_EQ(results[1], results[3]);
  });
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::cpu::simd
