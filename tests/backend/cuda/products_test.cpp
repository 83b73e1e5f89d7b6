// Products by cuBLASLt beside a loop over doubles.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/random.hpp"
#include "kiln/core/tensor_data.hpp"
#include "tests/backend/cuda/machine.hpp"

namespace kiln::cuda::test {
namespace {

using gpu::Product;

struct Case {
  DType dtype, c_dtype;
  std::int64_t batch, m, n, k;
  bool a_transposed = false, b_transposed = false, one_b = false;
  std::int64_t gap = 0;     // elements between rows
  std::int64_t offset = 0;  // elements before the first
  double alpha = 1, beta = 0;
  bool bias = false;
  Product::Function function = Product::Function::None;
};

/// What is uploaded, and the same rounded to its type.
struct Operand {
  std::int64_t rows, columns, stride, batch_stride;
  bool transposed;
  std::vector<double> values;  // by place in memory
  std::unique_ptr<Block> block;
  std::byte* start = nullptr;

  std::size_t place(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(batch * batch_stride + (transposed ? j * stride + i : i * stride + j));
  }
  double at(std::int64_t batch, std::int64_t i, std::int64_t j) const { return values[place(batch, i, j)]; }
};

Operand draw(Random& random, DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed,
             std::int64_t gap, bool one, std::int64_t offset) {
  Operand made{rows, columns, (transposed ? rows : columns) + gap, 0, transposed, {}, nullptr, nullptr};
  const std::int64_t size = made.stride * (transposed ? columns : rows);
  if (!one) made.batch_stride = size;
  if ((transposed ? columns : rows) == 1) made.stride = 0;  // there is no next line
  const std::int64_t count = one ? size : size * batch;
  for (std::int64_t i = 0; i < count; ++i) made.values.push_back(random.uniform(-1, 1));
  const TensorData data = TensorData::of<double>({count}, std::span<const double>(made.values)).to(dtype);
  const auto rounded = data.to_vector<double>();
  made.values.assign(rounded.begin(), rounded.end());
  const std::size_t before = static_cast<std::size_t>(offset) * size_of(dtype);
  made.block = std::make_unique<Block>(driver(), before + data.bytes().size());
  made.start = made.block->start() + before;
  driver().upload(made.start, data.bytes());
  return made;
}

double apply(Product::Function function, double x) {
  if (function == Product::Function::Relu) return x > 0 ? x : 0;
  if (function == Product::Function::None) return x;
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double tolerance(DType dtype) {
  return dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 2e-3 : 1.6e-2;
}

/// False where cuBLASLt does not know how.
bool run(const Case& is) {
  Random random(Key{static_cast<std::uint64_t>(is.m * 1000 + is.n * 10 + is.k)});
  const Operand a = draw(random, is.dtype, is.batch, is.m, is.k, is.a_transposed, is.gap, false, is.offset);
  const Operand b = draw(random, is.dtype, is.batch, is.k, is.n, is.b_transposed, is.gap, is.one_b, is.offset);
  const Operand c = draw(random, is.c_dtype, is.batch, is.m, is.n, false, is.gap, false, is.offset);
  const Operand bias = draw(random, is.c_dtype, 1, 1, is.n, false, 0, true, is.offset);
  const Product product{.dtype = is.dtype,
                        .batch = is.batch,
                        .m = is.m,
                        .n = is.n,
                        .k = is.k,
                        .a = {a.start, a.stride, a.batch_stride, a.transposed},
                        .b = {b.start, b.stride, b.batch_stride, b.transposed},
                        .c = c.start,
                        .c_stride = c.stride,
                        .c_batch_stride = c.batch_stride,
                        .c_dtype = is.c_dtype,
                        .alpha = is.alpha,
                        .beta = is.beta,
                        .bias = is.bias ? bias.start : nullptr,
                        .function = is.function};
  if (!driver().multiply(product)) return false;
  TensorData found({static_cast<std::int64_t>(c.values.size())}, is.c_dtype);
  driver().download(c.start, found.bytes().size())->wait(found.bytes().data());
  const auto values = found.to_vector<double>();
  double worst = 0, untouched = 0;
  std::vector<bool> written(c.values.size());
  for (std::int64_t batch = 0; batch < is.batch; ++batch)
    for (std::int64_t i = 0; i < is.m; ++i)
      for (std::int64_t j = 0; j < is.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < is.k; ++l) sum += a.at(batch, i, l) * b.at(batch, l, j);
        const double x = is.alpha * sum + is.beta * c.at(batch, i, j) + (is.bias ? bias.at(0, 0, j) : 0);
        const double expected = apply(is.function, x);
        const std::size_t place = c.place(batch, i, j);
        worst = std::max(worst, std::abs(values[place] - expected) / (std::sqrt(static_cast<double>(is.k)) + 1));
        written[place] = true;
      }
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!written[i]) untouched += values[i] != c.values[i];
  EXPECT_LE(worst, is.c_dtype == is.dtype ? tolerance(is.dtype) : 1e-5);  // tensor cores sum a little less exactly
  EXPECT_EQ(untouched, 0) << "elements between rows were written";
  return true;
}

std::string missing_products() {
  try {
    (void)cublas::api();
    return "";
  } catch (const Error& error) { return error.what(); }
}

class CudaProducts : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_DEVICE();
    if (const std::string why = missing_products(); !why.empty()) GTEST_SKIP() << why;
  }
};

constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

TEST_F(CudaProducts, AreThoseOfALoop) {
  for (const DType dtype : kTypes)
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true})
        for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 48, 32},
                                      {17, 33, 65},
                                      {1, 40, 24},
                                      {40, 1, 24},
                                      {8, 8, 1},
                                      {1, 1, 1},
                                      {130, 200, 300}}) {
          SCOPED_TRACE(text(dtype, " ", m, " ", n, " ", k, " ", a_transposed, b_transposed));
          EXPECT_TRUE(run({.dtype = dtype,
                           .c_dtype = dtype,
                           .batch = 1,
                           .m = m,
                           .n = n,
                           .k = k,
                           .a_transposed = a_transposed,
                           .b_transposed = b_transposed}));
        }
}

TEST_F(CudaProducts, TakeBatchesGapsAndWhatIsThere) {
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(text(dtype));
    Case is{.dtype = dtype, .c_dtype = dtype, .batch = 5, .m = 24, .n = 40, .k = 16};
    EXPECT_TRUE(run(is));
    is.one_b = true;
    EXPECT_TRUE(run(is));
    is.gap = 8;
    EXPECT_TRUE(run(is));
    is.gap = 3;
    is.a_transposed = true;
    EXPECT_TRUE(run(is));
    is.alpha = -0.5;
    is.beta = 2;
    EXPECT_TRUE(run(is));
  }
}

// What is known of aligned operands is not believed of others.
TEST_F(CudaProducts, TakeOperandsThatLieAnywhere) {
  for (const DType dtype : kTypes)
    for (const std::int64_t offset : {0, 1, 2, 3, 8}) {
      SCOPED_TRACE(text(dtype, " ", offset));
      EXPECT_TRUE(run({.dtype = dtype,
                       .c_dtype = dtype,
                       .batch = 2,
                       .m = 24,
                       .n = 40,
                       .k = 16,
                       .offset = offset,
                       .bias = dtype != DType::F64}));
    }
}

TEST_F(CudaProducts, OfHalvesMayBeFloats) {
  for (const DType dtype : {DType::F16, DType::BF16})
    EXPECT_TRUE(run({.dtype = dtype, .c_dtype = DType::F32, .batch = 2, .m = 32, .n = 64, .k = 48}));
}

TEST_F(CudaProducts, EndInABiasAndAFunction) {
  using enum Product::Function;
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16})
    for (const Product::Function function : {None, Relu, GeluTanh})
      for (const bool bias : {false, true}) {
        SCOPED_TRACE(text(dtype, " ", static_cast<int>(function), bias));
        EXPECT_TRUE(run({.dtype = dtype,
                         .c_dtype = dtype,
                         .batch = 1,
                         .m = 32,
                         .n = 64,
                         .k = 48,
                         .bias = bias,
                         .function = function}));
      }
}

TEST_F(CudaProducts, OfOtherTypesAreLeftToOthers) {
  EXPECT_FALSE(run({.dtype = DType::I32, .c_dtype = DType::I32, .batch = 1, .m = 8, .n = 8, .k = 8}));
  EXPECT_FALSE(run({.dtype = DType::F32, .c_dtype = DType::F16, .batch = 1, .m = 8, .n = 8, .k = 8}));
}

}  // namespace
}  // namespace kiln::cuda::test
