#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "kiln/backend/cpu/matmul/choose.hpp"
#include "kiln/backend/cpu/matmul/matmul.hpp"
#include "kiln/backend/cpu/simd/product/panel_rows.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "tests/backend/products.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu {
namespace {

Value multiply(const Value& a, const Value& b) {
  const Value in[] = {a, b};
  const Descs desc = op::Matmul{}.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  EXPECT_TRUE(matmul::run(op::Matmul{}, {in, {&out, 1}}));
  return out;
}

/// The operands are eighths, so that sums of them are exact.
void check(const Value& a, const Value& b) {
  const Value c = multiply(a, b);
  EXPECT_EQ(distance(numbers(c), product(a, b, c.shape())), 0) << text(a, " x ", b);
}

const std::vector<int> kOrders[] = {{0, 1}, {1, 0}};
void check_all_orders(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::F32) {
  for (const auto& order_a : kOrders)
    for (const auto& order_b : kOrders)
      check(random_tensor({m, k}, 1, order_a, dtype), random_tensor({k, n}, 2, order_b, dtype));
}

TEST(SimdMatmul, MultipliesSmallMatricesOfAnySizeAndOrder) {
  simd::for_each_target([] {
    for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 24, 25, 31})
      for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 65})
        for (const std::int64_t k : {1, 2, 15, 16, 17, 33}) check_all_orders(m, n, k);
  });
}

TEST(SimdMatmul, MultipliesDoubles) {
  simd::for_each_target([] {
    for (const std::int64_t m : {1, 5, 12, 26})
      for (const std::int64_t n : {1, 7, 8, 16, 19, 40})
        for (const std::int64_t k : {1, 9, 30}) check_all_orders(m, n, k, DType::F64);
    check_all_orders(250, 70, 400, DType::F64);
  });
}

TEST(SimdMatmul, MultipliesMatricesThatAreCutIntoPiecesAndBlocks) {
  for (const auto& [m, n, k] : std::initializer_list<std::array<std::int64_t, 3>>{{1, 1000, 300},
                                                                                  {1000, 1, 300},
                                                                                  {6, 700, 900},
                                                                                  {700, 6, 400},
                                                                                  {10, 500, 800},
                                                                                  {64, 10, 784},
                                                                                  {64, 300, 400},
                                                                                  {300, 64, 400},
                                                                                  {250, 300, 800},
                                                                                  {12, 400, 300},
                                                                                  {400, 11, 290},
                                                                                  {5, 1100, 150},
                                                                                  {9, 2060, 70},
                                                                                  {130, 1100, 40},
                                                                                  {3, 37, 9000},
                                                                                  {8, 34, 8000},
                                                                                  {2, 3000, 320}})
    check_all_orders(m, n, k);
  simd::for_each_target([] {
    check_all_orders(251, 91, 385);
    for (const std::int64_t m : {2, 4}) check_all_orders(m, 13, 200);
  });
  check_all_orders(241, 513, 385);
}

TEST(SimdMatmul, ReadsPartsOfLargerMatricesInPlace) {
  const Value big = random_tensor({90, 61}, 3);
  const Value part = view_of(big, {40, 50}, {61, 1}, 61 * 5 + 7);
  check(part, view_of(big, {50, 40}, {1, 61}, 61 * 9 + 3));
  check(part, view_of(big, {50, 45}, {61, 1}, 61 * 3 + 2));
  check(view_of(big, {40, 50}, {1, 61}, 8), view_of(big, {50, 37}, {61, 1}, 5));
  check(part, random_tensor({50, 9}, 4));
}

TEST(SimdMatmul, MovesRowsApartThatLieInTheSameSetsOfACache) {
  for (const DType dtype : {DType::F32, DType::F64})
    for (const std::int64_t m : {7, 12, 250})
      for (const std::int64_t k : {17, 384, 700}) {
        const Value big = random_tensor({m, 1024}, 3, {}, dtype);
        check(view_of(big, {m, k}, {1024, 1}, 5), random_tensor({k, 110}, 4, {}, dtype));
        check(view_of(big, {m, k}, {1024, 1}, 5), random_tensor({k, 600}, 4, {1, 0}, dtype));
      }
}

TEST(SimdMatmul, CopiesWhatItCannotReadInPlace) { check_what_is_copied(DType::F32, check); }

TEST(SimdMatmul, BroadcastsBatchDimensions) { check_batches(DType::F32, check); }

TEST(SimdMatmul, ReadsAttentionHeadsInPlace) { check_attention_heads(DType::F32, check); }

TEST(SimdMatmul, CopesWithBatchesThatOverlapOrRunBackwards) {
  const Value line = random_tensor({200}, 17);
  check(view_of(line, {6, 5, 7}, {3, 7, 1}), random_tensor({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {-10, 7, 1}, 60), random_tensor({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {0, 7, 1}), random_tensor({6, 7, 4}, 18));
  check(view_of(line, {6, 1, 7}, {3, 7, 1}), random_tensor({7, 4}, 18));
}

TEST(SimdMatmul, GivesZerosForAnEmptySumAndNothingForEmptyOperands) { check_products_of_nothing(DType::F32, multiply); }

TEST(SimdMatmul, KeepsWhatIsNotFiniteInItsRowAndColumn) {
  simd::for_each_target([] {
    for (const auto& [m, n] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{35, 50}, {3, 50}, {35, 3}})
      for (const auto& order_a : kOrders)
        for (const auto& order_b : kOrders) {
          const Value a = random_tensor({m, 40}, 23, order_a), b = random_tensor({40, n}, 24, order_b);
          const Array left = read(a), right = read(b);
          const auto set = [](const Array& x, std::int64_t i, std::int64_t j, float number) {
            x.as<float>()[i * x.strides[0] + j * x.strides[1]] = number;
          };
          set(left, 2, 3, std::numeric_limits<float>::infinity());
          set(right, 7, 1, std::numeric_limits<float>::quiet_NaN());
          for (std::int64_t j = 0; j < n; ++j) set(right, 3, j, j == 2 ? 0.0f : -1.0f);
          const std::vector<double> c = numbers(multiply(a, b));
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              const double number = c[static_cast<std::size_t>(i * n + j)];
              if (j == 1 || (i == 2 && j == 2)) EXPECT_TRUE(std::isnan(number)) << i << ", " << j;  // inf * 0 is NaN
              else if (i == 2) EXPECT_EQ(number, -std::numeric_limits<double>::infinity()) << i << ", " << j;
              else EXPECT_TRUE(std::isfinite(number)) << i << ", " << j;
            }
        }
  });
}

/// Random bits in the order that `order` says.
template <class T>
Value random_integers(const Shape& shape, unsigned seed, std::vector<int> order) {
  const Value value = tensor(shape, dtype_of<T>);
  Dims strides = contiguous_strides(shape);
  if (order[0] == 1) strides = {1, shape[0]};
  const Array array = allocate(const_cast<Value&>(value), strides);
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < array.numel(); ++i) array.as<T>()[i] = static_cast<T>(random());
  return value;
}

template <class T>
void check_integers(std::int64_t m, std::int64_t n, std::int64_t k) {
  for (const auto& order_a : kOrders)
    for (const auto& order_b : kOrders) {
      const Value a = random_integers<T>({m, k}, 1, order_a), b = random_integers<T>({k, n}, 2, order_b);
      const Value c = multiply(a, b);
      const Array x = read(a), y = read(b), z = read(c);
      const auto element = [](const Array& array, std::int64_t i, std::int64_t j) {
        return array.as<T>()[i * array.strides[0] + j * array.strides[1]];
      };
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          std::uint64_t sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += static_cast<std::uint64_t>(element(x, i, l)) * static_cast<std::uint64_t>(element(y, l, j));
          ASSERT_EQ(element(z, i, j), static_cast<T>(sum)) << text(a, " x ", b, " at ", i, ", ", j);
        }
    }
}

TEST(SimdMatmul, WrapsSumsOfIntegersOfAnySize) {
  simd::for_each_target([] {
    const auto check_sizes = []<class T>(TypeTag<T>) {
      for (const std::int64_t m : {1, 3, 12, 14})
        for (const std::int64_t n : {1, 7, 16, 31, 33, 64, 67, 130})
          for (const std::int64_t k : {1, 17, 40}) check_integers<T>(m, n, k);
      check_integers<T>(3, 2, 150);  // sums in a vector's lanes
      check_integers<T>(2, 3, 1);
      check_integers<T>(62, 70, 400);
    };
    check_sizes(TypeTag<std::int8_t>());
    check_sizes(TypeTag<std::uint8_t>());
    check_sizes(TypeTag<std::int16_t>());
    check_sizes(TypeTag<std::uint16_t>());
    check_sizes(TypeTag<std::int32_t>());
    check_sizes(TypeTag<std::uint32_t>());
    check_sizes(TypeTag<std::int64_t>());
    check_sizes(TypeTag<std::uint64_t>());
  });
}

TEST(SimdMatmul, GivesZerosForEmptySumsOfIntegers) {
  for (const DType dtype : {DType::I8, DType::I16, DType::I32, DType::I64}) {
    Value a = tensor({2, 0}, dtype), b = tensor({0, 3}, dtype);
    allocate(a), allocate(b);
    const Value c = multiply(a, b);
    const Array z = read(c);
    for (std::size_t i = 0; i < 6 * size_of(dtype); ++i) EXPECT_EQ(z.data[i], std::byte{0});
  }
}

TEST(SimdMatmul, MultipliesHalvesByFewVectors) {
  simd::for_each_target([] {
    for (const DType dtype : {DType::F16, DType::BF16})
      for (const std::int64_t few : {1, 2, 3, 4})
        for (const std::int64_t many : {1, 5, 16, 31, 130, 300})
          for (const std::int64_t k : {1, 7, 16, 33, 100})
            for (const auto& order : kOrders)
              for (const bool turned : {false, true}) {
                const Value a = random_tensor({turned ? many : few, k}, 1, turned ? order : kOrders[0], dtype),
                            b = random_tensor({k, turned ? few : many}, 2, turned ? kOrders[1] : order, dtype);
                const Value in[] = {a, b};
                Value c = tensor({a.dim(0), b.dim(1)}, dtype);
                const Algorithm algorithm = matmul::choose(matmul::MatmulCase::of(a, b)).algorithm;
                EXPECT_TRUE(algorithm == Algorithm::FewHalves ||
                            dtype == DType::F16);  // which not all machines convert
                ASSERT_TRUE(matmul::run(op::Matmul{}, {in, {&c, 1}}));
                std::vector<double> expected = product(a, b, c.shape());  // exact, as operands are eighths
                for (double& number : expected)
                  number = dtype == DType::F16 ? static_cast<float>(F16(number)) : static_cast<float>(BF16(number));
                ASSERT_EQ(numbers(c), expected) << text(a, " x ", b);
              }
  });
}

TEST(SimdMatmul, ReadsHalvesThatLieApart) {
  const Value big = random_tensor({90, 61}, 3, {}, DType::BF16),
              c = [&] { return multiply(view_of(big, {1, 20}, {61, 1}, 7), view_of(big, {20, 1}, {61, 1}, 9)); }();
  EXPECT_LT(distance(numbers(c), product(view_of(big, {1, 20}, {61, 1}, 7), view_of(big, {20, 1}, {61, 1}, 9), {1, 1})),
            1.0 / 256);
}

TEST(SimdMatmul, LeavesOtherTypesToOtherKernels) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    const Value half = tensor({5, 5}, dtype);
    EXPECT_EQ(matmul::choose(matmul::MatmulCase::of(half, half)).algorithm, Algorithm::Float32);
  }
  const Value in[] = {tensor({5, 5}, DType::Bool), tensor({5, 5}, DType::Bool)};
  Value out = tensor({5, 5}, DType::Bool);
  EXPECT_FALSE(matmul::run(op::Matmul{}, {in, {&out, 1}}));
}

TEST(SimdMatmul, TakesTheNextWayWhereOneIsLeftOut) {
  const auto way_of = [](const Value& a, const Value& b, std::string_view without) {
    const Value in[] = {a, b};
    Value copies[2], out = tensor({a.dim(0), b.dim(1)}, a.dtype());
    const Product p = product_of({in, {&out, 1}}, copies);
    disable(algorithms_in(without));
    const simd::ProductWay way = matmul::choose_way(p);
    disable({});
    return way;
  };
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Value rows = random_tensor({3, 300}, 1, {}, dtype), wide = random_tensor({300, 500}, 2, {}, dtype),
                lines = random_tensor({300, 500}, 2, {1, 0}, dtype), many = random_tensor({500, 300}, 3, {}, dtype);
    EXPECT_EQ(way_of(rows, wide, "").algorithm, Algorithm::FewRows);
    EXPECT_EQ(way_of(rows, wide, "few_rows").algorithm, Algorithm::ProductTiles);
    EXPECT_EQ(way_of(rows, lines, "few_rows").algorithm, Algorithm::Dots);
    EXPECT_EQ(way_of(rows, lines, "dots").algorithm, Algorithm::ProductTiles);
    EXPECT_EQ(way_of(many, wide, "").algorithm, Algorithm::ProductTiles);
    EXPECT_TRUE(way_of(many, random_tensor({300, 3}, 4, {}, dtype), "").transposed);
    EXPECT_FALSE(way_of(many, wide, "").transposed);
  }
}

TEST(SimdMatmul, GivesTheSameNumbersWhateverIsLeftOut) {
  for (const std::string_view list : {"dots", "few_rows", "dots,few_rows"}) {
    disable(algorithms_in(list));
    for (const auto& [m, n, k] : std::initializer_list<std::array<std::int64_t, 3>>{
             {1, 1000, 300}, {1000, 1, 300}, {6, 700, 900}, {12, 400, 300}, {3, 37, 9000}, {2, 3000, 320}})
      check_all_orders(m, n, k);
    check_all_orders(5, 64, 400, DType::F64);
    disable({});
  }
}

TEST(SimdMatmul, RoundsSumsAsFloat32Does) {
  // Not eighths: each sum is within a few roundings of the float64 one.
  const Value a = random_tensor({70, 900}, 25), b = random_tensor({900, 90}, 26);
  std::mt19937 random(27);
  for (const Value* x : {&a, &b})
    for (std::int64_t i = 0; i < read(*x).numel(); ++i)
      read(*x).as<float>()[i] = std::uniform_real_distribution<float>(-1, 1)(random);
  const Value c = multiply(a, b);
  EXPECT_LT(distance(numbers(c), product(a, b, c.shape())), 1e-6);
}

/// Few rows by panels side by side are what each panel gives alone.
template <class T>
void check_few_rows() {
  const simd::ProductTiles<T>& tiles = simd::product_tiles<T>();
  std::mt19937 random(27);
  const auto fractions = [&](std::int64_t count) {
    std::vector<T> result(static_cast<std::size_t>(count));
    for (T& number : result) number = static_cast<T>(random()) / T(4294967296.0) - T(0.5);
    return result;
  };
  for (std::int64_t m = 1; m <= 19; ++m)
    for (const std::int64_t panels : {1, 2, 3, 4, 5, 9})
      for (const std::int64_t k : {1, 7, 40}) {
        const std::int64_t width = panels * tiles.panel, a_row = k + 3, c_row = width + 5, step = k * tiles.panel;
        const std::vector<T> a = fractions(m * a_row), b = fractions(panels * step), before = fractions(m * c_row);
        for (const bool add : {false, true}) {
          std::vector<T> together = before, alone = before;
          simd::panel_rows<T>()(a.data(), a_row, m, b.data(), step, panels, together.data(), c_row, k, add);
          for (std::int64_t p = 0; p < panels; ++p) {
            T* const to = alone.data() + p * tiles.panel;
            tiles.multiply({a.data(), a_row, 1, a_row * simd::rows_of_tile(m, tiles.rows)},
                           {b.data() + p * step, tiles.panel, 1}, {to, c_row, to, c_row}, m, tiles.panel, k, add,
                           nullptr);
          }
          EXPECT_EQ(together, alone) << m << " rows, " << panels << " panels, " << k << " deep";
        }
      }
}

TEST(SimdMatmul, MultipliesFewRowsByPanelsSideBySide) {
  simd::for_each_target([] { check_few_rows<float>(), check_few_rows<double>(); });
}

TEST(SimdMatmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_any_threads(
      {{random_fractions({512, 300}, 25), random_fractions({300, 500}, 26)},
       {random_fractions({512, 300}, 25, {1, 0}), random_fractions({300, 500}, 26)},
       {random_fractions({512, 300}, 25), random_fractions({300, 500}, 26, {1, 0})},
       {random_fractions({64, 1024}, 25), random_fractions({1024, 512}, 26, {1, 0})},
       {random_fractions({1, 1000}, 25), random_fractions({1000, 900}, 26)},
       {random_fractions({3, 1000}, 25), random_fractions({1000, 2500}, 26)},
       {random_fractions({4, 1000}, 25), random_fractions({1000, 900}, 26, {1, 0})},
       {random_fractions({8, 8000}, 25), random_fractions({8000, 34}, 26, {1, 0})},
       {random_fractions({50, 64, 65}, 25), random_fractions({50, 65, 66}, 26)},
       {random_fractions({1000, 97}, 25, {1, 0}), random_fractions({97, 300}, 26)},
       {random_fractions({97, 700}, 25, {1, 0}), random_fractions({700, 300}, 26, {1, 0})},
       {random_fractions({900, 3}, 25), random_fractions({3, 800}, 26, {1, 0})},
       {random_fractions({900, 700}, 25), random_fractions({700, 3}, 26)},
       {random_fractions({12, 700}, 25), random_fractions({700, 900}, 26)},
       {random_tensor({2, 3000}, 25, {}, DType::BF16), random_tensor({3000, 900}, 26, {}, DType::BF16)},
       {random_tensor({3, 300}, 25, {}, DType::F16), random_tensor({300, 2500}, 26, {}, DType::F16)}},
      multiply);
}

}  // namespace
}  // namespace kiln::cpu
