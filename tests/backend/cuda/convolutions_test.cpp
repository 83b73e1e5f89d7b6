// Convolutions by cuDNN beside loops over doubles.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/backend/gpu/memory.hpp"
#include "kiln/core/random.hpp"
#include "kiln/core/tensor_data.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/backend/gpu/convolve.hpp"

namespace kiln::cuda::test {
namespace {

using gpu::Convolution;
using kiln::test::convolve_by_loops;
using enum Convolution::Kind;

struct Case {
  Shape x, weight, y;
  Spatial stride, padding, padding_after, dilation;
  bool common = true;  // that any cuDNN knows how
};
const Case kCases[] = {
    {{2, 3, 9}, {4, 3, 3}, {2, 4, 9}, {1}, {1}, {1}, {1}},
    {{2, 8, 12, 10}, {16, 8, 3, 3}, {2, 16, 6, 5}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 4, 9, 7}, {6, 2, 2, 3}, {1, 6, 8, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 2}, false},
    {{2, 3, 7, 8}, {4, 3, 3, 2}, {2, 4, 3, 9}, {2, 1}, {0, 0}, {1, 2}, {1, 1}, false},
    {{2, 2, 4, 5, 3}, {3, 2, 3, 3, 2}, {2, 3, 2, 5, 2}, {2, 1, 1}, {1, 1, 0}, {1, 1, 0}, {1, 1, 1}, false},
};
constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

/// A tensor of the device, and on the host what is in it.
struct Tensor {
  Shape sizes;
  Dims strides;
  DType dtype;
  TensorData data;
  std::size_t before;
  Block block;

  Tensor(Random& random, const Shape& shape, DType type, bool channels_last, std::int64_t offset)
      : sizes(shape),
        strides(contiguous_strides(shape)),
        dtype(type),
        data({numel(shape)}, type),
        before(static_cast<std::size_t>(offset) * size_of(type)),
        block(driver(), before + data.bytes().size()) {
    if (channels_last) {
      strides[1] = 1;
      std::int64_t next = shape[1];
      for (int dim = shape.size() - 1; dim > 1; next *= shape[dim--]) strides[dim] = next;
      strides[0] = next;
    }
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(random.uniform(-1, 1));
    data = TensorData::of<double>({numel(shape)}, std::span<const double>(values)).to(type);
    driver().upload(start(), data.bytes());
  }
  std::byte* start() const { return block.start() + before; }
  Convolution::Tensor on_device() const { return {start(), sizes, strides}; }
  Convolution::Tensor on_host() { return {data.bytes().data(), sizes, strides}; }
  TensorData downloaded() const {
    TensorData found({numel(sizes)}, dtype);
    driver().download(start(), found.bytes().size())->wait(found.bytes().data());
    return found;
  }
};

double tolerance(DType dtype) {
  return dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 2e-3 : 1.6e-2;
}

/// False where cuDNN does not know how.
bool run(const Case& is, DType dtype, Convolution::Kind kind, bool channels_last = false, std::int64_t offset = 0) {
  Random random(Key{7});
  Tensor x(random, is.x, dtype, channels_last, offset), weight(random, is.weight, dtype, channels_last, offset),
      y(random, is.y, dtype, channels_last, offset);
  Convolution asked{.kind = kind,
                    .dtype = dtype,
                    .x = x.on_device(),
                    .weight = weight.on_device(),
                    .y = y.on_device(),
                    .stride = is.stride,
                    .padding = is.padding,
                    .padding_after = is.padding_after,
                    .dilation = is.dilation};
  Tensor& made = kind == Forward ? y : kind == DataGradient ? x : weight;
  const auto terms = static_cast<double>(numel(is.x) + numel(is.y)) / static_cast<double>(is.x[0]);
  Convolution expected = asked;
  expected.x = x.on_host();
  expected.weight = weight.on_host();
  expected.y = y.on_host();
  convolve_by_loops(expected);
  const auto numbers = made.data.to_vector<double>();
  // The first at once, others when they are waited for; of many a graph is made.
  for (const int times : {1, 1, 6, 6, 6, 6}) {
    driver().clear(made.start(), made.data.bytes().size());
    for (int i = 0; i < times; ++i)
      if (!driver().convolve(asked)) return false;
    const auto found = made.downloaded().to_vector<double>();
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - numbers[i]));
    EXPECT_LE(worst, tolerance(dtype) * (std::sqrt(terms) + 1)) << times;
  }
  return true;
}

std::string missing_convolutions() {
  try {
    (void)cudnn::api();
    return "";
  } catch (const Error& error) { return error.what(); }
}

class CudaConvolutions : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_DEVICE();
    if (const std::string why = missing_convolutions(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(CudaConvolutions, AreThoseOfLoops) {
  for (const Case& is : kCases)
    for (const DType dtype : kTypes)
      for (const Convolution::Kind kind : {Forward, DataGradient, WeightGradient})
        for (const bool channels_last : {false, true}) {
          SCOPED_TRACE(text(dtype, " ", is.x, " ", is.weight, " ", static_cast<int>(kind), channels_last));
          const bool known = run(is, dtype, kind, channels_last);
          const bool must = fake_state() || (is.common && dtype == DType::F32 && !channels_last);
          EXPECT_TRUE(known || !must);
        }
}

// What is known of aligned operands is not believed of others.
TEST_F(CudaConvolutions, TakeOperandsThatLieAnywhere) {
  for (const DType dtype : kTypes)
    for (const std::int64_t offset : {0, 1, 2, 3, 8}) {
      SCOPED_TRACE(text(dtype, " ", offset));
      const bool known = run(kCases[1], dtype, Forward, false, offset);
      EXPECT_TRUE(known || !fake_state());
    }
}

TEST_F(CudaConvolutions, AreAskedForAgainWhereThereIsRoom) {
  if (!fake_state()) GTEST_SKIP() << "it would take all of a GPU's memory";
  const auto machine = make_ref<Driver>(0);
  const Block block(*machine, 4096);
  const Convolution asked{.dtype = DType::F32,
                          .x = {block.start(), {1, 1, 4}, {4, 4, 1}},
                          .weight = {block.start() + 1024, {1, 1, 3}, {3, 3, 1}},
                          .y = {block.start() + 2048, {1, 1, 2}, {2, 2, 1}},
                          .stride = {1},
                          .padding = {0},
                          .padding_after = {0},
                          .dilation = {1}};
  gpu::SharedLimit pool(machine->memory(), machine->budget());
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t bytes = std::size_t{256} << 20; bytes > 0; bytes /= 2)
    while (std::byte* const start = pool.map(bytes)) taken.emplace_back(start, bytes);
  EXPECT_FALSE(machine->convolve(asked));
  EXPECT_FALSE(machine->convolve(asked));
  for (const auto& [start, bytes] : taken) EXPECT_TRUE(pool.unmap(start, bytes));
  EXPECT_TRUE(machine->convolve(asked));
  machine->synchronize();
}

TEST_F(CudaConvolutions, OfOtherTypesAndOrdersAreLeftToOthers) {
  Block block(driver(), 4096);
  Convolution asked{.dtype = DType::F32,
                    .x = {block.start(), {1, 1, 4}, {4, 4, 1}},
                    .weight = {block.start() + 1024, {1, 1, 3}, {3, 3, 1}},
                    .y = {block.start() + 2048, {1, 1, 2}, {2, 2, 1}},
                    .stride = {1},
                    .padding = {0},
                    .padding_after = {0},
                    .dilation = {1}};
  EXPECT_TRUE(driver().convolve(asked));
  Convolution other = asked;
  other.dtype = DType::I32;
  EXPECT_FALSE(driver().convolve(other));
  other = asked;
  other.x.strides[2] = 0;
  EXPECT_FALSE(driver().convolve(other));
  other = asked;
  other.y.sizes[2] = 3;  // not what comes out
  EXPECT_FALSE(driver().convolve(other));
  EXPECT_FALSE(driver().convolve(other));
}

}  // namespace
}  // namespace kiln::cuda::test
