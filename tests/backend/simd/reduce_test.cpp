#include <algorithm>
#include <cmath>

#include "kiln/core/parallel.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

using op::ReduceFn;

void expect_reduction(const Shape& shape, const Dims& dims, const Dims& order = {}) {
  for (const DType dtype : {DType::F32, DType::F64})
    for (const ReduceFn fn :
         {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Max, ReduceFn::Min, ReduceFn::Prod, ReduceFn::Length}) {
      SCOPED_TRACE(text(op::name(fn), " over ", dims, " of ", shape, " ", dtype));
      const auto x = rounded(dtype, fn == ReduceFn::Prod ? random_numbers(numel(shape), 0.999, 1.001)
                                                         : random_numbers(numel(shape), -1, 3));
      const Value z = run_op(op::Reduce{fn, dims}, {tensor(dtype, shape, x, order)});
      expect_close(numbers(z), expected_of(fn, x, shape, dims), dtype == DType::F32 ? 1e-7 : 1e-13, 1e-9);
    }
}

TEST(SimdReduce, FoldsAnyDimensions) {
  for_each_target([] {
    for (const std::int64_t size : {1, 3, 15, 16, 17, 31, 49, 64, 96, 127, 1000}) {
      expect_reduction({size}, {0});
      expect_reduction({size, 5}, {0});
      expect_reduction({5, size}, {1});
      expect_reduction({37, size}, {1});  // many lines together
      expect_reduction({3, size, 19}, {0, 2});
    }
    for (const std::int64_t columns : {2, 3, 7, 8, 13, 16, 24, 50, 63, 100}) expect_reduction({400, columns}, {0});
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 1}, Dims{0, 2}, Dims{1, 2}, Dims{0, 1, 2}, Dims{}})
      for (const Dims& order : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{2, 1, 0}, Dims{1, 2, 0}}) {
        expect_reduction({7, 8, 21}, dims, order);
        expect_reduction({3, 70, 5}, dims, order);
      }
  });
}

TEST(SimdReduce, FoldsManyElementsIntoFewResults) {
  for_each_target([] {
    expect_reduction({140000}, {0});
    expect_reduction({2, 70001}, {1});
    expect_reduction({70001, 2}, {0});
    expect_reduction({40, 8, 25, 25}, {0, 2, 3}, {0, 2, 3, 1});
    expect_reduction({40, 8, 25, 25}, {0, 2, 3});
    expect_reduction({70, 2100}, {0});
  });
}

TEST(SimdReduce, FoldsLinesOfHalves) {
  for_each_target([] {
    for (const DType half : {DType::F16, DType::BF16})
      for (const Shape& shape : {Shape{37, 49}, Shape{300, 20}, Shape{3, 5000}})
        for (const ReduceFn fn : {ReduceFn::Sum, ReduceFn::Max}) {
          SCOPED_TRACE(text(op::name(fn), " of ", half, " ", shape));
          std::vector<double> x, spread;
          for (std::int64_t i = 0; i < numel(shape); ++i) {
            x.push_back(static_cast<double>(i * 7 % 11 - 5) / 4);
            spread.insert(spread.end(), {x.back(), 99});
          }
          const Value all = tensor(half, shape, x), odd = every(2, tensor(half, {shape[0], 2 * shape[1]}, spread));
          const std::vector<double> expected = expected_of(fn, x, shape, {1});
          EXPECT_EQ(numbers(run_op(op::Reduce{fn, {1}}, {all})), rounded(half, expected));
          EXPECT_EQ(numbers(run_op(op::Reduce{fn, {1}}, {odd})), rounded(half, expected));
        }
  });
}

TEST(SimdReduce, FoldsSomeRowsOfManyColumns) {
  for_each_target([] {
    for (const std::int64_t rows : {15, 16, 17, 31, 32, 63})
      for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
        const Shape shape{rows, 100};
        SCOPED_TRACE(text(shape, " ", dtype));
        // Any two neighbours of the large ones are more than a float holds; all else is added without rounding.
        std::vector<double> x;
        for (std::int64_t i = 0; i < numel(shape); ++i) x.push_back(static_cast<double>(i * 7 % 13 - 6) / 4);
        for (const std::size_t column : {5, 64, 99})
          for (std::size_t row = 0; row < 8; ++row) x[row * 100 + column] = row < 4 ? 0x1.8p127 : -0x1.8p127;
        for (const ReduceFn fn : {ReduceFn::Sum, ReduceFn::Max}) {
          const Value z = run_op(op::Reduce{fn, {0}}, {tensor(dtype, shape, x)});
          EXPECT_EQ(numbers(z), rounded(dtype, expected_of(fn, x, shape, {0}))) << op::name(fn);
        }
      }
  });
}

TEST(SimdReduce, KeepsTheMemoryOrderOfItsOperand) {
  const Value x = tensor(DType::F32, {2, 3, 4, 4}, random_numbers(96, 0, 1), {0, 2, 3, 1});
  const Value z = run_op(op::Reduce{ReduceFn::Sum, {0}}, {x});
  EXPECT_EQ(z.node()->strides[1], 1);
  EXPECT_EQ(z.node()->strides[3], 3);
}

TEST(SimdReduce, DefinesTheFoldOfNothing) {
  for_each_target([] {
    const Value nothing = tensor(DType::F32, {2, 0}, {});
    EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, {1}}, {nothing})), (std::vector<double>{0, 0}));
    EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Prod, {1}}, {nothing})), (std::vector<double>{1, 1}));
    EXPECT_TRUE(std::isnan(numbers(run_op(op::Reduce{ReduceFn::Mean, {1}}, {nothing}))[0]));
    EXPECT_TRUE(numbers(run_op(op::Reduce{ReduceFn::Sum, {0}}, {nothing})).empty());
  });
}

TEST(SimdReduce, LetsNanWin) {
  for_each_target([] {
    for (const std::int64_t at : {0, 5, 63, 99})
      for (const ReduceFn fn : {ReduceFn::Max, ReduceFn::Min, ReduceFn::Sum}) {
        auto x = random_numbers(100, 0, 1);
        x[static_cast<std::size_t>(at)] = NAN;
        EXPECT_TRUE(std::isnan(numbers(run_op(op::Reduce{fn, {0}}, {tensor(DType::F32, {100}, x)}))[0]));
        EXPECT_TRUE(std::isnan(
            numbers(run_op(op::Reduce{fn, {0}}, {tensor(DType::F32, {50, 2}, x)}))[static_cast<std::size_t>(at % 2)]));
        // In one of many columns, the others of which are as they would be without it.
        for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
          std::vector<double> columns(100 * 70, 0.5);
          columns[static_cast<std::size_t>(at * 70 + 33)] = NAN;
          std::vector<double> found = numbers(run_op(op::Reduce{fn, {0}}, {tensor(dtype, {100, 70}, columns)}));
          EXPECT_TRUE(std::isnan(found[33]));
          found[33] = found[0];
          EXPECT_EQ(found, std::vector<double>(70, fn == ReduceFn::Sum ? 50 : 0.5));
        }
      }
  });
}

/// Elements whose squares leave the range of the type, alone or beside ordinary ones, zeros, infinities and NaN.
TEST(SimdReduce, HasLengthsOfElementsOfAnySize) {
  const std::pair<Shape, Dims> cases[] = {{{40, 5}, {1}},    {{40, 63}, {1}},      {{9, 300}, {1}},  {{2, 70001}, {1}},
                                          {{5, 40}, {0}},    {{300, 40}, {0}},     {{70, 100}, {0}}, {{400, 7}, {0}},
                                          {{17, 1100}, {0}}, {{6, 20, 70}, {0, 2}}};
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::BF16, DType::F64})
      for (const auto& [shape, dims] : cases) {
        const double tiny = dtype == DType::F64 ? 0x1p-1000 : 0x1p-120, huge = dtype == DType::F64 ? 0x1p1000 : 0x1p115;
        // Every result has elements of one size of its own, but for a few of another.
        const double sizes[] = {1, tiny, huge, 0, 0x1p-60, 0x1p-43};
        const std::vector<double> some = rounded(dtype, random_numbers(numel(shape), 1, 2));
        Shape kept = shape;
        for (const auto dim : dims) kept[static_cast<int>(dim)] = 1;
        const auto results = static_cast<std::size_t>(numel(kept));
        std::vector<double> x(some.size());
        std::vector<long double> squares(results);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const auto result = static_cast<std::size_t>(broadcast_position(static_cast<std::int64_t>(i), shape, kept));
          x[i] = some[i] * sizes[(result + (i % 97 == 5)) % 6];
          if (result == 7 && i % 11 == 0) x[i] = -INFINITY;
          if (result == 8 && i % 11 == 0) x[i] = i % 2 ? NAN : INFINITY;
          squares[result] += static_cast<long double>(x[i]) * x[i];
        }
        std::vector<double> expected;
        for (const long double each : squares) expected.push_back(static_cast<double>(std::sqrt(each)));
        SCOPED_TRACE(text(dtype, " ", shape, " over ", dims));
        expect_close(numbers(run_op(op::Reduce{ReduceFn::Length, dims}, {tensor(dtype, shape, x)})),
                     rounded(dtype, expected),
                     dtype == DType::F32   ? 1.5e-7
                     : dtype == DType::F64 ? 1e-14
                                           : 0.008,
                     0);
      }
  });
}

TEST(SimdReduce, GivesAColumnTheSameBitsWhateverStandsBesideIt) {
  for_each_target([] {
    for (const std::int64_t columns : {8, 19, 37})
      for (const auto& [fn, other] :
           {std::pair{ReduceFn::Length, 0.0}, {ReduceFn::Length, 1e30}, {ReduceFn::Sum, 3e38}}) {
        const std::int64_t rows = 64;
        std::vector<double> x = rounded(DType::F32, random_numbers(rows * columns, 0.1, 3));
        const auto reduced = [&] {
          return numbers(run_op(op::Reduce{fn, {0}}, {tensor(DType::F32, {rows, columns}, x, {})}));
        };
        const std::vector<double> usual = reduced();
        for (std::int64_t i = 0; i < rows; ++i) x[static_cast<std::size_t>(i * columns + columns - 2)] = other;
        const std::vector<double> beside = reduced();
        for (std::int64_t j = 0; j < columns; ++j) {
          if (j == columns - 2) continue;
          EXPECT_EQ(beside[static_cast<std::size_t>(j)], usual[static_cast<std::size_t>(j)])
              << columns << " columns of " << op::name(fn) << " beside " << other << ", number " << j;
        }
      }
  });
}

TEST(SimdReduce, KeepsSumsThatAreTooLargeInBetween) {
  // Any two neighbours of one sign add up to more than the largest float; all together are a number that a double still
  // has beside some hundreds of them, whatever is added first.
  static constexpr double kLeft = 0x1p100;
  for_each_target([] {
    for (const std::int64_t run : {1, 2, 4, 8, 16, 64, 128}) {
      std::vector<double> x(1 << 10);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i) / run % 2 ? -0x1.8p127 : 0x1.8p127;
      x.push_back(kLeft);
      const auto count = static_cast<std::int64_t>(x.size());
      SCOPED_TRACE(run);
      EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, {0}}, {tensor(DType::F32, {count}, x)}))[0], kLeft);
      for (const std::int64_t width : {8, 24, 100}) {
        std::vector<double> columns;
        for (const double number : x) columns.insert(columns.end(), static_cast<std::size_t>(width), number);
        for (const DType dtype : {DType::F32, DType::BF16})
          EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, {0}}, {tensor(dtype, {count, width}, columns)})),
                    std::vector<double>(static_cast<std::size_t>(width), kLeft));
      }
    }
    // One large number in four vectors of so many lanes, two in eight.
    for (const std::int64_t lanes : {1, 2, 4, 8, 16}) {
      std::vector<double> x(1 << 10);
      for (std::int64_t i = 0; i < 1 << 10; i += 4 * lanes)
        std::fill_n(x.begin() + i, lanes, i / (8 * lanes) % 2 ? -0x1.8p127 : 0x1.8p127);
      x.push_back(kLeft);
      for (const DType dtype : {DType::F32, DType::BF16})
        EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, {0}}, {tensor(dtype, {(1 << 10) + 1}, x)}))[0], kLeft);
    }
  });
}

TEST(SimdReduce, KeepsProductsThatAreTooSmallInBetween) {
  const auto product = [](DType dtype, std::int64_t columns, std::initializer_list<std::pair<int, double>> factors) {
    std::vector<double> x;
    for (const auto& [rows, factor] : factors) x.insert(x.end(), static_cast<std::size_t>(rows * columns), factor);
    const auto rows = static_cast<std::int64_t>(x.size()) / columns;
    return numbers(run_op(op::Reduce{ReduceFn::Prod, {0}}, {tensor(dtype, {rows, columns}, x)}));
  };
  for_each_target([&] {
    for (const std::int64_t columns : {3, 8, 32, 100}) {
      const auto all = [&](double number) { return std::vector<double>(static_cast<std::size_t>(columns), number); };
      EXPECT_EQ(product(DType::F32, columns, {{991, 0.5}, {1, -0.5}, {982, 2}}), all(-std::ldexp(1, -10)));
      EXPECT_EQ(product(DType::F32, columns, {{3000, 0.5}}), all(0));
      EXPECT_EQ(product(DType::F64, columns, {{1060, 0.5}}), all(std::ldexp(1, -1060)));
    }
  });
}

TEST(SimdReduce, FindsInfinityBesideItsOpposite) {
  for_each_target([] {
    for (const std::int64_t at : {0, 5, 63, 98}) {
      auto x = random_numbers(100, 0, 1);
      x[static_cast<std::size_t>(at)] = INFINITY, x[static_cast<std::size_t>(at + 1)] = -INFINITY;
      const auto fold = [&](ReduceFn fn) {
        return numbers(run_op(op::Reduce{fn, {0}}, {tensor(DType::F32, {100}, x)}))[0];
      };
      EXPECT_EQ(fold(ReduceFn::Max), INFINITY);
      EXPECT_EQ(fold(ReduceFn::Min), -INFINITY);
      EXPECT_TRUE(std::isnan(fold(ReduceFn::Sum)));
    }
  });
}

TEST(SimdArgReduce, FindsTheFirstExtremeOrTheFirstNan) {
  using op::ArgFn;
  for_each_target([] {
    for (const std::int64_t length : {1, 2, 16, 17, 100, 1000})
      for (const DType dtype : {DType::F32, DType::F64}) {
        auto x = random_numbers(3 * length, -1, 1);
        const std::int64_t low = length / 3, high = length / 2, last = length - 1;
        for (const std::int64_t at : {high, last}) x[static_cast<std::size_t>(at)] = 5;                // row 0: twice
        x[static_cast<std::size_t>(length + low)] = -INFINITY;                                         // row 1
        for (const std::int64_t at : {low, last}) x[static_cast<std::size_t>(2 * length + at)] = NAN;  // row 2
        const Value rows = tensor(dtype, {3, length}, x, {1, 0});
        const auto most = numbers(run_op(op::ArgReduce{ArgFn::ArgMax, 1}, {rows}));
        const auto least = numbers(run_op(op::ArgReduce{ArgFn::ArgMin, 1}, {rows}));
        EXPECT_EQ(most[0], static_cast<double>(high));
        EXPECT_EQ(least[1], static_cast<double>(low));
        EXPECT_EQ(most[2], static_cast<double>(low));
        EXPECT_EQ(least[2], static_cast<double>(low));
      }
  });
}

TEST(SimdReduce, SumsSmallNumbersBesideLargeOnes) {
  // 1 + 2^20 times 2^-24: added one after the other in single precision, the small ones would vanish.
  std::vector<double> x((1 << 20) + 1, 0x1p-24);
  x[0] = 1;
  for_each_target([&] {
    EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, {0}}, {tensor(DType::F32, {(1 << 20) + 1}, x)}))[0], 1.0625);
  });
}

TEST(SimdReduce, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  const Value x = tensor(DType::F64, {40, 9001}, random_numbers(40 * 9001, -1, 1));
  for (const Dims& dims : {Dims{0}, Dims{1}, Dims{0, 1}}) {
    set_num_threads(1);
    const auto one = numbers(run_op(op::Reduce{ReduceFn::Sum, dims}, {x}));
    set_num_threads(2);
    EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, dims}, {x})), one);
  }
  const Value planes = tensor(DType::F32, {6, 301, 40}, random_numbers(6 * 301 * 40, -1, 1));
  set_num_threads(1);
  const auto one = numbers(run_op(op::Reduce{ReduceFn::Sum, {0, 2}}, {planes}));
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(numbers(run_op(op::Reduce{ReduceFn::Sum, {0, 2}}, {planes})), one);
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::cpu::simd
