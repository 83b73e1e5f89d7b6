// Integers wrap around, modulo 2 to the number of their bits, wherever they are added or multiplied; int64 goes through
// no double on its way.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

using Numbers = std::vector<std::int64_t>;
using Unsigned = std::uint64_t;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = -kMost - 1;
constexpr DType kIntegers[] = {DType::I64, DType::I32, DType::I16, DType::I8,
                               DType::U64, DType::U32, DType::U16, DType::U8};

Value of(const Numbers& numbers, const Device& device, DType dtype = DType::I64) {
  return from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers).to(dtype),
                   device);
}
Numbers elements(const Value& x) { return x.data().to_vector<std::int64_t>(); }

/// The low bits of a number, as an element of that type.
std::int64_t low_bits(Unsigned number, DType dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(static_cast<T>(number));
    else return std::int64_t{0};
  });
}

/// The ends of a type and what lies beside 0, often enough for whole vectors and a rest.
Numbers ends_of(DType dtype) {
  const std::int64_t least = low_bits(is_integer(dtype) ? Unsigned{1} << (8 * size_of(dtype) - 1) : 0, dtype);
  Numbers list;
  for (int i = 0; i < 7; ++i)
    for (const std::int64_t number : {least, low_bits(static_cast<Unsigned>(least) - 1, dtype), std::int64_t{-1},
                                      std::int64_t{0}, std::int64_t{3}, low_bits(0x7654321089abcdef, dtype)})
      list.push_back(low_bits(static_cast<Unsigned>(number), dtype));
  return list;
}

template <class Check>
void on_each_device_and_type(Check check) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : kIntegers) {
      SCOPED_TRACE(text(name, " ", dtype));
      check(Device::parse(name), dtype);
    }
}

TEST(Integers, WrapAroundInSumsDifferencesAndProducts) {
  on_each_device_and_type([](const Device& device, DType dtype) {
    const Numbers x = ends_of(dtype);
    for (std::size_t shift = 0; shift < 6; ++shift) {
      Numbers y = x;
      std::rotate(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(shift), y.end());
      Numbers sum, difference, product, opposite, square;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto a = static_cast<Unsigned>(x[i]), b = static_cast<Unsigned>(y[i]);
        sum.push_back(low_bits(a + b, dtype));
        difference.push_back(low_bits(a - b, dtype));
        product.push_back(low_bits(a * b, dtype));
        opposite.push_back(low_bits(0 - a, dtype));
        square.push_back(low_bits(a * a, dtype));
      }
      const Value first = of(x, device, dtype), second = of(y, device, dtype);
      EXPECT_EQ(elements(first + second), sum);
      EXPECT_EQ(elements(first - second), difference);
      EXPECT_EQ(elements(first * second), product);
      EXPECT_EQ(elements(neg(first)), opposite);
      EXPECT_EQ(elements(kiln::square(first)), square);
      EXPECT_EQ(elements(first + y[0])[0], sum[0]);
      EXPECT_EQ(elements(y[0] - first)[0], low_bits(0 - static_cast<Unsigned>(difference[0]), dtype));
    }
    const std::int64_t least = x[0];
    if (least < 0 && dtype != DType::U64) {
      EXPECT_EQ(elements(abs(of({least}, device, dtype)))[0], least);
      EXPECT_EQ(elements(floor_divide(of({least}, device, dtype), -1))[0], least);
    }
  });
}

TEST(Integers, WrapAroundWhereManyAreFolded) {
  on_each_device_and_type([](const Device& device, DType dtype) {
    const Numbers x = ends_of(dtype);
    const auto count = static_cast<std::int64_t>(x.size());
    Unsigned sum = 0, product = 1;
    Numbers sums, products;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sums.push_back(static_cast<std::int64_t>(sum += static_cast<Unsigned>(x[i])));
      products.push_back(static_cast<std::int64_t>(product *= static_cast<Unsigned>(x[i] | 1)));
    }
    const Value line = of(x, device, dtype), odd = of(
                                                 [&] {
                                                   Numbers list = x;
                                                   for (auto& number : list) number |= 1;
                                                   return list;
                                                 }(),
                                                 device, dtype);
    // Sums and products are int64, whose unsigned sum has the same bits.
    EXPECT_EQ(elements(kiln::sum(line))[0], sums.back());
    EXPECT_EQ(elements(prod(odd))[0], products.back());
    EXPECT_EQ(elements(cumsum(line, 0)), sums);
    EXPECT_EQ(elements(cumprod(odd, 0)), products);
    EXPECT_EQ(elements(kiln::sum(expand(line, {3, count}), {0}))[3],
              low_bits(3 * static_cast<Unsigned>(x[3]), DType::I64));

    Unsigned squares = 0;
    for (const std::int64_t number : x) squares += static_cast<Unsigned>(number) * static_cast<Unsigned>(number);
    EXPECT_EQ(elements(matmul(reshape(line, {1, count}), reshape(line, {count, 1})))[0], low_bits(squares, dtype));

    const Value place = zeros({count}, device, DType::I64), start = of({x[1]}, device, dtype);
    const std::int64_t added = low_bits(static_cast<Unsigned>(x[1]) + sum, dtype),
                       multiplied = low_bits(static_cast<Unsigned>(x[1]) * product, dtype);
    EXPECT_EQ(elements(scatter_add(start, 0, place, line))[0], added);
    EXPECT_EQ(elements(select_add(start, 0, place, line))[0], added);
    EXPECT_EQ(elements(scatter(start, 0, place, odd, Update::Mul))[0], multiplied);
    EXPECT_EQ(elements(fold(reshape(line, {1, count}), 0, count, 1))[1], x[1]);
    EXPECT_EQ(elements(fold(expand(reshape(start, {1, 1}), {3, 2}), 0, 4, 1))[1],
              low_bits(2 * static_cast<Unsigned>(x[1]), dtype));
  });
}

TEST(Integers, AreCountedExactlyBeyondWhatDoublesHold) {
  constexpr std::int64_t p = (std::int64_t{1} << 53) + 1;
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name);
    const auto range = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
      return elements(arange(start, end, step, device));
    };
    EXPECT_EQ(range(p, p + 3, 1), (Numbers{p, p + 1, p + 2}));
    EXPECT_EQ(range(p, p + 9, 4), (Numbers{p, p + 4, p + 8}));
    EXPECT_EQ(range(p + 3, p, -1), (Numbers{p + 3, p + 2, p + 1}));
    EXPECT_EQ(range(kMost - 1, kMost, 1), Numbers{kMost - 1});
    EXPECT_EQ(range(kMost, kLeast, kLeast), (Numbers{kMost, -1}));
    EXPECT_EQ(range(kLeast, kMost, kMost), (Numbers{kLeast, -1, kMost - 1}));
    EXPECT_EQ(range(3, 3, 5), Numbers{});
    EXPECT_EQ(range(3, 4, -5), Numbers{});
    // Whole numbers in float64 are the nearest to each, rather than a sum of rounded ones.
    EXPECT_EQ(arange(p, p + 4, 1, device, DType::F64).data().to_vector<double>(),
              (std::vector<double>{9007199254740992, 9007199254740994, 9007199254740996, 9007199254740996}));
    EXPECT_EQ(elements(arange(0, 2.5, 1, device)), (Numbers{0, 1, 2}));
  }
}

TEST(Integers, OutOfRangeIndicesAreToldUpToTheLeast) {
  for (const char* name : {"cpu", "reference"})
    for (const std::int64_t index : {kLeast, kMost, std::int64_t{-4}, std::int64_t{3}}) {
      const Device device = Device::parse(name);
      const Value x = ones({3}, device), at = of({index}, device);
      for (const auto& call : std::vector<std::function<Value()>>{
               [&] { return gather(x, 0, at); }, [&] { return select(x, 0, at); },
               [&] { return select_add(x, 0, at, ones({1}, device)); }, [&] { return take(x, at); }})
        EXPECT_THROW((void)call().data(), IndexError) << name << ' ' << index;
    }
}

}  // namespace
}  // namespace kiln
