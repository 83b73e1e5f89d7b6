// Products take along what is done to their results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "kiln/core/parallel.hpp"
#include "kiln/core/text.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;

/// Eighths between -1 and 1, of which sums are exact.
Value eighths(const Device& device, const Shape& shape, unsigned seed, DType dtype = DType::F32) {
  TensorData data(shape, DType::F32);
  std::mt19937 random(seed);
  for (float& number : data.as<float>()) number = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8;
  return cast(Value(device.backend().upload(std::move(data), device)), dtype);
}

std::vector<double> doubles(const Value& value) { return cast(value, DType::F64).data().to_vector<double>(); }

/// a [..., m, k] times b [..., k, n] with the same leading dimensions, in float64.
std::vector<double> product(const Value& a, const Value& b) {
  const std::vector<double> x = doubles(a), y = doubles(b);
  const int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  std::vector<double> result;
  for (int64_t row = 0; row < a.numel() / k; ++row) {
    result.resize(result.size() + static_cast<std::size_t>(n));
    double* const sums = result.data() + row * n;
    for (int64_t l = 0; l < k; ++l) {
      const double* const from = y.data() + (row / m * k + l) * n;
      for (int64_t j = 0; j < n; ++j) sums[j] += x[static_cast<std::size_t>(row * k + l)] * from[j];
    }
  }
  return result;
}

struct Operands {
  explicit Operands(const FusedDevice& fused, DType dtype = DType::F32)
      : x(eighths(fused.device, {512, 6}, 1, dtype)),
        w(eighths(fused.device, {6, 256}, 2, dtype)),
        bias(eighths(fused.device, {256}, 3, dtype)),
        residual(eighths(fused.device, {512, 256}, 4, dtype)) {
    fused.device.flush();
  }
  Value x, w, bias, residual;
};

TEST(Epilogues, JoinBiasActivationResidualAndScale) {
  const FusedDevice fused;
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    const Operands o(fused, dtype);
    EXPECT_EQ(runs(fused, [&] { return matmul(o.x, o.w) + o.bias; }), 1);
    EXPECT_EQ(runs(fused, [&] { return gelu(matmul(o.x, o.w) + o.bias); }), 1);
    EXPECT_EQ(runs(fused, [&] { return (matmul(o.x, o.w) * 0.5 + o.bias) + o.residual; }), 1);
    EXPECT_EQ(runs(fused, [&] { return matmul(o.x, o.w) * matmul(o.x, o.w); }), 1);
    EXPECT_EQ(runs(fused, [&] { return 1 - matmul(o.x, o.w); }), 1);
    EXPECT_EQ(runs(fused, [&] { return cast(matmul(o.x, o.w), DType::F64); }), 1);
    EXPECT_EQ(runs(fused, [&] { return matmul(matmul(o.x, o.w) + o.bias, transpose(o.residual)) * 2; }),
              3);  // and a view
  }
}

// Rows of columns, tensors and bounds, in any order: kernels may do some of it before they store a sum.
TEST(Epilogues, AddAndBoundElementsInTheOrderOfTheProgram) {
  const FusedDevice fused;
  const Device& device = fused.device;
  struct Sizes {
    Shape x, w;
  };
  for (const auto& [x_shape, w_shape] :
       {Sizes{{1030, 9}, {9, 140}}, Sizes{{520, 800}, {800, 300}}, Sizes{{2100, 33}, {33, 65}},
        Sizes{{3, 300, 40}, {3, 40, 200}}, Sizes{{400, 20}, {20, 400}}, Sizes{{5, 30}, {30, 30'000}}})
    for (const bool turned : {false, true}) {
      Shape lying = w_shape;
      std::swap(lying.end()[-1], lying.end()[-2]);
      const Value x = eighths(device, x_shape, 1),
                  w = turned ? transpose(eighths(device, lying, 2)) : eighths(device, w_shape, 2);
      Shape shape = x_shape;
      shape.back() = w_shape.back();
      const Value row = eighths(device, {shape.back()}, 3), rows = eighths(device, {1, shape.back()}, 4),
                  column = eighths(device, {shape.end()[-2], 1}, 5), all = eighths(device, shape, 6);
      const std::vector<double> sums = product(x, w), r = doubles(row), s = doubles(rows), c = doubles(column),
                                t = doubles(all);
      const auto n = static_cast<std::size_t>(shape.back()), m = static_cast<std::size_t>(shape.end()[-2]);
      const auto check = [&](auto&& program, auto&& expected) {
        const Value found = program();
        device.flush();  // without the cast
        const std::vector<double> y = doubles(found);
        for (std::size_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(y[i], expected(sums[i], r[i % n], s[i % n], c[i / n % m], t[i]))
              << text(x_shape, " x ", w_shape, ", ", i);
      };
      const auto y = [&] { return matmul(x, w); };
      check([&] { return y() + row; }, [](double p, double b, double, double, double) { return p + b; });
      check([&] { return rows + y(); }, [](double p, double, double b, double, double) { return p + b; });
      check([&] { return y() + column; }, [](double p, double, double, double b, double) { return p + b; });
      check([&] { return y() + row + all; }, [](double p, double b, double, double, double a) { return p + b + a; });
      check([&] { return y() + all + row; }, [](double p, double b, double, double, double a) { return p + b + a; });
      check([&] { return y() + row + rows; }, [](double p, double b, double d, double, double) { return p + b + d; });
      check([&] { return relu(y() + row); },
            [](double p, double b, double, double, double) { return std::max(p + b, 0.0); });
      check([&] { return relu(y()) + row; },
            [](double p, double b, double, double, double) { return std::max(p, 0.0) + b; });
      check([&] { return minimum(maximum(y() + row + all, -0.5), 0.75); },
            [](double p, double b, double, double, double a) { return std::clamp(p + b + a, -0.5, 0.75); });
    }
}

TEST(Epilogues, JoinThroughAnotherShape) {
  const FusedDevice fused;
  const Value x = eighths(fused.device, {4, 128, 6}, 1), w = eighths(fused.device, {256, 6}, 2),
              residual = eighths(fused.device, {4, 128, 256}, 3);
  fused.device.flush();
  const auto program = [&] { return reshape(matmul(reshape(x, {512, 6}), transpose(w)), {4, 128, 256}) + residual; };
  EXPECT_EQ(runs(fused, program), 3);  // two are views
  const std::vector<double> expected = product(reshape(x, {512, 6}), transpose(w)), add = doubles(residual),
                            found = doubles(program());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found[i], expected[i] + add[i]) << i;
}

TEST(Epilogues, WaitForOtherOperands) {
  const FusedDevice fused;
  const Operands o(fused);
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value early = matmul(o.x, o.w), other = cumsum(o.residual, 0);
                   return early + other;
                 }),
            2);
}

TEST(Epilogues, LeaveProductsThatOthersSee) {
  const FusedDevice fused;
  const Operands o(fused);
  const auto multiplied = [&] { return matmul(o.x, o.w); };
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value p = multiplied();
                   return std::tuple(p, p + 1);
                 }),
            2);
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value p = multiplied();
                   return std::tuple(cumsum(p, 0), p + 1);
                 }),
            3);
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value p = multiplied(), view = reshape(p, {256, 512});
                   return std::tuple(view, view + 1);
                 }),
            3);
  // No handle refers to what else was made of it.
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value p = multiplied();
                   (void)cumsum(p, 0);
                   return p + 1;
                 }),
            1);
}

TEST(Epilogues, LeaveWhatTheyCannotFinish) {
  const FusedDevice fused;
  const Operands o(fused), wide(fused, DType::F64);
  const Value row = eighths(fused.device, {1, 6}, 5), many = eighths(fused.device, {6, 140'000}, 6),
              rows = eighths(fused.device, {2, 140'000}, 7), small = eighths(fused.device, {6, 6}, 8);
  fused.device.flush();
  EXPECT_EQ(runs(fused, [&] { return matmul(row, many) + rows; }), 2);                  // repeated
  EXPECT_EQ(runs(fused, [&] { return transpose(matmul(o.x, o.w)) * 2; }), 3);           // in another order
  EXPECT_EQ(runs(fused, [&] { return matmul(wide.x, wide.w) * 2; }), 2);                // float64
  EXPECT_EQ(runs(fused, [&] { return sum(square(matmul(o.x, o.w)), {1}, true); }), 2);  // reduced
  EXPECT_EQ(runs(fused, [&] { return matmul(small, small) * 2; }), 2);                  // in the cache anyway
}

TEST(Epilogues, JoinTheLastOfSeveralProducts) {
  const FusedDevice fused;
  const Operands o(fused);
  const Value h = eighths(fused.device, {512, 6}, 7), u = eighths(fused.device, {6, 256}, 8);
  fused.device.flush();
  EXPECT_EQ(runs(fused, [&] { return matmul(o.x, o.w) + matmul(h, u) + o.bias; }), 2);
  const std::vector<double> one = product(o.x, o.w), other = product(h, u), add = doubles(o.bias),
                            found = doubles(matmul(o.x, o.w) + matmul(h, u) + o.bias);
  for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(found[i], one[i] + other[i] + add[i % 256]) << i;
}

struct Sizes {
  Shape batch;
  int64_t m, n, k;
};

// One row and few, few columns, pieces that have rows whole and others, several blocks of terms.
const Sizes kSizes[] = {{{}, 1, 140'000, 5},  {{}, 2, 70'000, 9},     {{}, 14'000, 10, 40}, {{}, 12'000, 11, 300},
                        {{}, 514, 257, 30},   {{}, 300, 500, 65},     {{}, 250, 1100, 30},  {{}, 9, 16'000, 20},
                        {{7}, 400, 60, 20},   {{2, 3}, 130, 200, 40}, {{3}, 250, 260, 130}, {{}, 520, 512, 100},
                        {{}, 140, 1030, 400}, {{400}, 16, 24, 16},    {{}, 4100, 33, 7}};

/// [..., rows, columns], whose columns lie side by side if `across`.
Value matrix(const FusedDevice& fused, const Shape& batch, int64_t rows, int64_t columns, bool across, unsigned seed,
             DType dtype) {
  Shape shape = batch;
  shape.push_back(across ? columns : rows);
  shape.push_back(across ? rows : columns);
  const Value value = eighths(fused.device, shape, seed, dtype);
  return across ? transpose(value) : value;
}

/// program(product, row, column, whole) against the same in float64, element by element. Returns the largest error.
template <class Program, class Expected>
double error_of(const FusedDevice& fused, const Sizes& s, DType dtype, bool a_across, bool b_across, Program&& program,
                Expected&& expected) {
  Shape whole = s.batch;
  whole.push_back(s.m);
  whole.push_back(s.n);
  const Value a = matrix(fused, s.batch, s.m, s.k, a_across, 1, dtype),
              b = matrix(fused, s.batch, s.k, s.n, b_across, 2, dtype), row = eighths(fused.device, {s.n}, 3, dtype),
              column = eighths(fused.device, {s.m, 1}, 4, dtype), residual = eighths(fused.device, whole, 5, dtype);
  fused.device.flush();
  const std::vector<double> found = doubles(program(matmul(a, b), row, column, residual)), sums = product(a, b),
                            rows = doubles(row), columns = doubles(column), all = doubles(residual);
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto j = static_cast<int64_t>(i);
    worst = std::max(worst, std::abs(found[i] - expected(sums[i], rows[static_cast<std::size_t>(j % s.n)],
                                                         columns[static_cast<std::size_t>(j / s.n % s.m)], all[i])));
  }
  EXPECT_EQ(found.size(), sums.size());
  return worst;
}

TEST(Epilogues, ComputeWhatTheLoopsSay) {
  const FusedDevice fused;
  for (const Sizes& sizes : kSizes)
    for (const auto& [a_across, b_across] : {std::pair(false, false), {false, true}, {true, false}, {true, true}})
      EXPECT_EQ(error_of(
                    fused, sizes, DType::F32, a_across, b_across,
                    [](const Value& p, const Value& row, const Value& column, const Value& whole) {
                      return relu(p * 0.5 + row) - column * whole;
                    },
                    [](double p, double row, double column, double whole) {
                      return std::max(p * 0.5 + row, 0.0) - column * whole;
                    }),
                0)
          << text(sizes.batch, " ", sizes.m, " x ", sizes.n, " x ", sizes.k, " ", a_across, b_across);
}

TEST(Epilogues, RoundProductsOfHalvesFirst) {
  const FusedDevice fused;
  const auto rounded = [](DType dtype, double number) {
    return dtype == DType::BF16 ? static_cast<double>(static_cast<float>(BF16(static_cast<float>(number))))
                                : static_cast<double>(static_cast<float>(F16(static_cast<float>(number))));
  };
  for (const DType dtype : {DType::BF16, DType::F16})
    for (const Sizes& sizes : kSizes)
      for (const bool b_across : {false, true})
        EXPECT_EQ(error_of(
                      fused, sizes, dtype, false, b_across,
                      [](const Value& p, const Value& row, const Value&, const Value&) {
                        return cast(p, DType::F32) * 3 + cast(row, DType::F32);
                      },
                      [&](double p, double row, double, double) { return rounded(dtype, p) * 3 + row; }),
                  0)
            << text(dtype, " ", sizes.batch, " ", sizes.m, " x ", sizes.n, " x ", sizes.k, " ", b_across);
}

TEST(Epilogues, GiveTheSameBitsAsTheOpsAlone) {
  const FusedDevice fused;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const auto numbers = [&](const Shape& shape) {
    TensorData data(shape, DType::F32);
    for (float& number : data.as<float>()) number = normal(random);
    return data;
  };
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{130, 1030, 900}, {600, 256, 100}, {2100, 64, 600}}) {
    const TensorData x = numbers({m, k}), w = numbers({n, k}), b = numbers({n});
    const auto computed = [&](const Device& device, int threads) {
      set_num_threads(threads);
      const auto on = [&](const TensorData& data) {
        TensorData copy = data;
        return Value(device.backend().upload(std::move(copy), device));
      };
      const Value y =
          tanh(linear(on(x), on(w), on(b)) * 0.1);  // in a statement of its own, whose end lets go of the product
      return y.data().to_vector<float>();
    };
    const int before = num_threads();
    const std::vector<float> alone = computed(Device::cpu(), before);
    for (const int threads : {1, 2, 5}) EXPECT_EQ(computed(fused.device, threads), alone) << m << ", " << threads;
    set_num_threads(before);
  }
}

// Several kernels multiply halves, each adding up in its own order: the same one does with and without an epilogue.
TEST(Epilogues, GiveTheSameBitsAsTheOpsAloneOfHalves) {
  const FusedDevice fused;
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  const auto numbers = [&](const Shape& shape) {
    TensorData data(shape, DType::F32);
    for (float& number : data.as<float>()) number = normal(random);
    return data;
  };
  for (const DType dtype : {DType::BF16, DType::F16})
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{3, 50'000, 300}, {50'000, 3, 300}, {270, 500, 700}, {5000, 30, 300}}) {
      const TensorData x = numbers({m, k}), w = numbers({k, n});
      const auto computed = [&](const Device& device) {
        const auto on = [&](TensorData data) {
          return cast(Value(device.backend().upload(std::move(data), device)), dtype);
        };
        const Value a = on(x), b = on(w);
        device.flush();
        const Value y = relu(matmul(a, b) * 0.5);  // in a statement of its own, whose end lets go of the product
        device.flush();
        return cast(y, DType::F32).data().to_vector<float>();
      };
      EXPECT_EQ(computed(fused.device), computed(Device::cpu())) << text(dtype, " ", m, " x ", n, " x ", k);
    }
}

TEST(Epilogues, WriteResultsThatFitIntoNoCache) {
  const FusedDevice fused;
  for (const DType dtype : {DType::F32, DType::BF16}) {
    const int64_t rows = dtype == DType::F32 ? 1030 : 2060, columns = 4100;  // more than 32 MiB with the residual
    const Value x = eighths(fused.device, {rows, 3}, 1, dtype), w = eighths(fused.device, {3, columns}, 2, dtype),
                residual = eighths(fused.device, {rows, columns}, 3, dtype);
    fused.device.flush();
    EXPECT_EQ(runs(fused, [&] { return matmul(x, w) * 2 - residual; }), 1);
    const std::vector<double> found = doubles(matmul(x, w) * 2 - residual), sums = product(x, w),
                              all = doubles(residual);
    for (std::size_t i = 0; i < sums.size(); ++i)
      ASSERT_NEAR(found[i], sums[i] * 2 - all[i], dtype == DType::F32 ? 0 : 0.05) << i;
  }
}

TEST(Epilogues, NeedNoMemoryForTheProduct) {
  const FusedDevice fused;
  // Much larger than what threads hold for themselves, some 400 KiB each.
  const Value x = eighths(fused.device, {16000, 64}, 1), w = eighths(fused.device, {64, 1024}, 2);
  fused.device.flush();
  const int64_t before = fused.device.memory().in_use;
  Device::cpu().reset_memory_peak();
  const Value y = relu(matmul(x, w) + 1);
  fused.device.flush();
  EXPECT_LT(Device::cpu().memory().peak - before, 24000 * 1024 * 4);
}

TEST(Epilogues, RunOnABackendWithoutFastKernels) {
  const Device device(make_ref<fusion::Fusion>(Device::parse("reference").handle()));
  const Value x = eighths(device, {600, 3}, 1), w = eighths(device, {3, 220}, 2), b = eighths(device, {220}, 3);
  const std::vector<double> found = doubles(relu(matmul(x, w) + b)), sums = product(x, w), add = doubles(b);
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(found[i], std::max(sums[i] + add[i % 220], 0.0)) << i;
}

}  // namespace
}  // namespace kiln::test
