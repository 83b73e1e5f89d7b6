// Convolutions take along what is done to their results, as matrix products do (epilogues_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "kiln/backend/cpu/engines.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;

struct Case {
  int64_t batch, in, out, size, kernel, stride, padding;

  int64_t result() const { return (size + 2 * padding - kernel) / stride + 1; }
  Shape x() const { return {batch, in, size, size}; }
  Shape weight() const { return {out, in, kernel, kernel}; }
  Shape y() const { return {batch, out, result(), result()}; }
  ConvOptions options() const { return {.stride = {stride, stride}, .padding = {padding, padding}}; }
};

void PrintTo(const Case& c, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << text("x ", c.x(), ", weight ", c.weight(), ", stride ", c.stride, ", padding ", c.padding);
}

/// Eighths between -1 and 1, of which sums are exact, or normally distributed numbers.
TensorData numbers(const Shape& shape, unsigned seed, bool exact) {
  TensorData data(shape, DType::F32);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& number : data.as<float>())
    number = exact ? static_cast<float>(static_cast<int>(random() % 17) - 8) / 8 : normal(random);
  return data;
}

Value on(const Device& device, TensorData data) { return Value(device.backend().upload(std::move(data), device)); }

struct Operands {
  Operands(const Device& device, const Case& c, bool exact, DType dtype = DType::F32)
      : x(cast(on(device, numbers(c.x(), 1, exact)), dtype)),
        weight(cast(on(device, numbers(c.weight(), 2, exact)), dtype)),
        bias(cast(on(device, numbers({c.out}, 3, exact)), dtype)),
        scale(cast(on(device, numbers({c.out, 1, 1}, 4, exact)), dtype)),
        residual(cast(on(device, numbers(c.y(), 5, exact)), dtype)) {
    device.flush();
  }
  Value x, weight, bias, scale, residual;
};

Value convolved(const Operands& o, const Case& c) { return conv(o.x, o.weight, o.bias, c.options()); }
Value finished(const Operands& o, const Value& y) { return relu((y - 0.5) * o.scale + o.residual); }
/// A block of a residual network.
Value block(const Operands& o, const Case& c) { return finished(o, convolved(o, c)); }

class ConvEpilogues : public testing::TestWithParam<Case> {};

TEST_P(ConvEpilogues, ComputeWhatTheLoopsSay) {
  const Case& c = GetParam();
  const FusedDevice fused;
  const Operands o(fused.device, c, true);
  const auto values = [](const Value& value) { return value.data().to_vector<double>(); };
  const std::vector<double> found = values(block(o, c)), x = values(o.x), w = values(o.weight), bias = values(o.bias),
                            scale = values(o.scale), residual = values(o.residual);
  const int64_t side = c.result();
  ASSERT_EQ(found.size(), static_cast<std::size_t>(c.batch * c.out * side * side));
  for (int64_t n = 0, i = 0; n < c.batch; ++n)
    for (int64_t out = 0; out < c.out; ++out)
      for (int64_t row = 0; row < side; ++row)
        for (int64_t column = 0; column < side; ++column, ++i) {
          double sum = bias[static_cast<std::size_t>(out)];
          for (int64_t in = 0; in < c.in; ++in)
            for (int64_t a = 0; a < c.kernel; ++a)
              for (int64_t b = 0; b < c.kernel; ++b) {
                const int64_t p = row * c.stride - c.padding + a, q = column * c.stride - c.padding + b;
                if (p < 0 || q < 0 || p >= c.size || q >= c.size) continue;
                sum += x[static_cast<std::size_t>(((n * c.in + in) * c.size + p) * c.size + q)] *
                       w[static_cast<std::size_t>(((out * c.in + in) * c.kernel + a) * c.kernel + b)];
              }
          const auto at = static_cast<std::size_t>(i);
          const double expected = std::max((sum - 0.5) * scale[static_cast<std::size_t>(out)] + residual[at], 0.0);
          ASSERT_EQ(found[at], expected) << i;
        }
}

TEST_P(ConvEpilogues, GiveTheSameBitsAsOneAfterTheOther) {
  const Case& c = GetParam();
  const FusedDevice fused;
  const int before = num_threads();
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    const Operands o(fused.device, c, false, dtype);
    const auto values = [](const Value& value) { return cast(value, DType::F32).data().to_vector<float>(); };
    const Value y = convolved(o, c);
    fused.device.flush();
    const std::vector<float> apart = values(finished(o, y));
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      EXPECT_EQ(values(block(o, c)), apart) << text(dtype, ", ", threads, " threads");
    }
    set_num_threads(before);
    EXPECT_EQ(values(block(Operands(Device::cpu(), c, false, dtype), c)), apart) << "unfused";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvEpilogues,
                         testing::Values(Case{50, 1, 8, 28, 3, 1, 0},    // few channels
                                         Case{1, 8, 16, 100, 3, 1, 1},   //
                                         Case{1, 32, 48, 64, 3, 1, 1},   // tiles of 2 x 2
                                         Case{1, 24, 40, 60, 3, 1, 1},   // rows of an image
                                         Case{2, 20, 33, 121, 5, 2, 2},  //
                                         Case{1, 24, 40, 60, 1, 1, 0},   //
                                         Case{40, 17, 24, 15, 3, 1, 0},  // images
                                         Case{1, 16, 256, 7, 3, 1, 1},   // few pixels
                                         Case{2, 16, 64, 2, 3, 1, 1}));

/// Sums, maxima and minima, which kernels do before they store what they made.
TEST(ConvEpilogues, DoSimpleThingsInRegistersWithTheSameBits) {
  struct Kind {
    int64_t in, out, size, kernel, stride, padding, groups;
  };
  const Kind kinds[] = {{24, 96, 20, 1, 1, 0, 1},   // short sums
                        {40, 33, 9, 1, 1, 0, 1},    // a part of a vector
                        {72, 72, 17, 3, 1, 1, 72},  // channels by themselves
                        {40, 40, 15, 3, 2, 1, 40},  //
                        {8, 24, 18, 3, 1, 1, 1},    // few channels
                        {16, 256, 4, 3, 1, 3, 1}};  // few pixels, lines of nothing but padding
  for (const Kind& kind : kinds) {
    const auto& [in, out, size, kernel, stride, padding, groups] = kind;
    const ConvOptions options{.stride = {stride, stride}, .padding = {padding, padding}, .groups = groups};
    const int64_t side = (size + 2 * padding - kernel) / stride + 1;
    TensorData pixels = numbers({2, in, size, size}, 1, false), offsets = numbers({out}, 3, false);
    pixels.as<float>()[5] = std::numeric_limits<float>::quiet_NaN();
    pixels.as<float>()[77] = -std::numeric_limits<float>::infinity();
    offsets.as<float>()[1] = -0.0f;
    const auto bits = [&](const Device& device, int which) {
      const Value x = on(device, pixels), w = on(device, numbers({out, in / groups, kernel, kernel}, 2, false)),
                  bias = on(device, offsets), residual = on(device, numbers({2, out, side, side}, 5, false)),
                  low = on(device, numbers({}, 6, true)), high = on(device, numbers({}, 7, true));
      const Value shift = conv(on(device, numbers({2, in, size, size}, 8, false)), w, {}, options);  // channels last
      device.flush();
      const Value y = conv(x, w, bias, options);
      const Value results[] = {relu(y),         relu6(y),           minimum(maximum(y, low), high),
                               maximum(y, 0.5), minimum(y, 0.0),    relu(y + shift),
                               shift + y,       relu(y + residual), maximum(minimum(y, 0.25), -1.0)};
      std::vector<std::uint32_t> words;
      for (const float number : results[which].data().to_vector<float>())
        words.push_back(std::bit_cast<std::uint32_t>(number));
      return words;
    };
    for (int which = 0; which < 9; ++which)
      EXPECT_EQ(bits(FusedDevice().device, which), bits(Device::cpu(), which)) << text(in, " to ", out, ", ", which);
  }
}

TEST(ConvEpilogues, AreOneOperation) {
  const FusedDevice fused;
  const auto runs = [&](auto&& program) {
    const Value held = program();
    const int before = fused.counter->runs;
    fused.device.flush();
    return fused.counter->runs - before;
  };
  const Case c{2, 6, 10, 8, 3, 1, 1};
  const Operands o(fused.device, c, true);
  EXPECT_EQ(runs([&] { return block(o, c); }), 1);
  EXPECT_EQ(runs([&] { return relu(conv(o.x, o.weight, {}, c.options())); }), 1);
  EXPECT_EQ(runs([&] { return reshape(conv(o.x, o.weight, {}, c.options()), {20, 64}) * 2; }), 3);  // another order
}

TEST(ConvEpilogues, NeedNoMemoryForTheConvolution) {
  if (!cpu::onednn_kernels) GTEST_SKIP() << "a product of this size is one of its windows, which are laid out";
  const int before_threads = num_threads();
  set_num_threads(2);
  const FusedDevice fused;
  const Case c{1, 16, 48, 200, 3, 1, 1};
  const Operands o(fused.device, c, true);
  const auto most = [&](const Device& device) {
    const int64_t before = device.memory().in_use;
    Device::cpu().reset_memory_peak();
    const Value y = relu(conv(o.x, o.weight, o.bias, c.options()));
    device.flush();
    return Device::cpu().memory().peak - before;
  };
  most(fused.device);  // threads get memory of their own
  const int64_t result = 48 * 200 * 200 * 4, operand = 16 * 200 * 200 * 4;
  EXPECT_LT(most(fused.device), result + operand + result / 2);
  set_num_threads(before_threads);
}

}  // namespace
}  // namespace kiln::test
