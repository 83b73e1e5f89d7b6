// A pointwise convolution and the depthwise one that alone reads it run together, a line at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kiln/core/parallel.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;

struct Case {
  int64_t batch, in, channels, height, width, kernel, stride, before, after, dilation;

  int64_t result(int64_t size) const { return (size + before + after - dilation * (kernel - 1) - 1) / stride + 1; }
  ConvOptions depthwise() const {
    return {.stride = {stride, stride},
            .padding = {before, before},
            .dilation = {dilation, dilation},
            .padding_after = {after, after},
            .groups = channels};
  }
  Shape between() const { return {batch, channels, height, width}; }
  Shape y() const { return {batch, channels, result(height), result(width)}; }
};
void PrintTo(const Case& c, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << text(c.batch, " images ", Shape{c.in, c.height, c.width}, ", ", c.channels, " channels, kernel ", c.kernel,
               ", stride ", c.stride, ", padding ", c.before, " and ", c.after, ", dilation ", c.dilation);
}

/// Eighths between -1 and 1, of which sums are exact, or normally distributed numbers.
Value numbers(const Device& device, const Shape& shape, unsigned seed, bool exact, DType dtype) {
  TensorData data(shape, DType::F32);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& number : data.as<float>())
    number = exact ? static_cast<float>(static_cast<int>(random() % 17) - 8) / 8 : normal(random);
  return cast(Value(device.backend().upload(std::move(data), device)), dtype);
}

struct Operands {
  Operands(const Device& device, const Case& c, bool exact, DType dtype = DType::F32)
      : x(numbers(device, {c.batch, c.in, c.height, c.width}, 1, exact, dtype)),
        wide(numbers(device, {c.channels, c.in, 1, 1}, 2, exact, dtype)),
        wide_bias(numbers(device, {c.channels}, 3, exact, dtype)),
        deep(numbers(device, {c.channels, 1, c.kernel, c.kernel}, 4, exact, dtype)),
        deep_bias(numbers(device, {c.channels}, 5, exact, dtype)),
        // Channels-last, as what a convolution leaves.
        residual(conv(numbers(device, c.y(), 6, exact, dtype), numbers(device, {c.channels, 1, 1, 1}, 7, exact, dtype),
                      {}, {.groups = c.channels})) {
    device.flush();
  }
  Value x, wide, wide_bias, deep, deep_bias, residual;
};

/// With what there may be before and after.
enum class Kind { Bare, Biased, Clamped, Residual };
Value first(const Operands& o, Kind kind) {
  const Value y = conv(o.x, o.wide, kind == Kind::Bare ? Value() : o.wide_bias);
  return kind >= Kind::Clamped ? relu6(y) : y;
}
Value second(const Operands& o, const Case& c, Kind kind, const Value& between) {
  const Value y = conv(between, o.deep, kind == Kind::Bare ? Value() : o.deep_bias, c.depthwise());
  return kind == Kind::Clamped ? relu(y) : kind == Kind::Residual ? relu(y + o.residual) : y;
}
constexpr Kind kKinds[] = {Kind::Bare, Kind::Biased, Kind::Clamped, Kind::Residual};

std::vector<double> values(const Value& value) { return value.data().to_vector<double>(); }

class Chains : public testing::TestWithParam<Case> {};

TEST_P(Chains, ComputeWhatTheLoopsSay) {
  const Case& c = GetParam();
  const FusedDevice fused;
  const Operands o(fused.device, c, true);
  const Value y = second(o, c, Kind::Clamped, first(o, Kind::Clamped));
  EXPECT_EQ(runs(fused), 1);
  const std::vector<double> found = values(y), x = values(o.x), wide = values(o.wide), wide_bias = values(o.wide_bias),
                            deep = values(o.deep), deep_bias = values(o.deep_bias);
  const int64_t pixels = c.height * c.width, height = c.result(c.height), width = c.result(c.width);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(c.batch * c.channels * height * width));
  const auto at = [](const std::vector<double>& list, int64_t i) { return list[static_cast<std::size_t>(i)]; };
  std::vector<double> plane(static_cast<std::size_t>(pixels));
  for (int64_t n = 0, i = 0; n < c.batch; ++n)
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        double sum = at(wide_bias, channel);
        for (int64_t in = 0; in < c.in; ++in)
          sum += at(x, (n * c.in + in) * pixels + pixel) * at(wide, channel * c.in + in);
        plane[static_cast<std::size_t>(pixel)] = std::clamp(sum, 0.0, 6.0);
      }
      for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column, ++i) {
          double sum = at(deep_bias, channel);
          for (int64_t a = 0; a < c.kernel; ++a)
            for (int64_t b = 0; b < c.kernel; ++b) {
              const int64_t p = row * c.stride - c.before + a * c.dilation,
                            q = column * c.stride - c.before + b * c.dilation;
              if (p < 0 || q < 0 || p >= c.height || q >= c.width) continue;
              sum += at(plane, p * c.width + q) * at(deep, (channel * c.kernel + a) * c.kernel + b);
            }
          ASSERT_EQ(at(found, i), std::max(sum, 0.0)) << i;
        }
    }
}

TEST_P(Chains, GiveTheSameBitsAsOneAfterTheOther) {
  const Case& c = GetParam();
  const FusedDevice fused;
  const int before = num_threads();
  for (const Kind kind : kKinds) {
    const Operands o(fused.device, c, false);
    const Value between = first(o, kind);
    fused.device.flush();
    const std::vector<double> apart = values(second(o, c, kind, between));
    for (const int threads : {1, 2, 3, 7, 16}) {
      set_num_threads(threads);
      const Value y = second(o, c, kind, first(o, kind));
      EXPECT_EQ(runs(fused), 1);
      EXPECT_EQ(values(y), apart) << threads << " threads";
    }
    set_num_threads(before);
    const Operands plain(Device::cpu(), c, false);
    EXPECT_EQ(values(second(plain, c, kind, first(plain, kind))), apart) << "unfused";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Chains,
                         testing::Values(Case{1, 24, 144, 56, 56, 3, 1, 1, 1, 1},   //
                                         Case{1, 16, 96, 71, 64, 3, 2, 1, 1, 1},    //
                                         Case{3, 32, 70, 40, 33, 3, 1, 1, 1, 1},    // parts of vectors and tiles
                                         Case{9, 64, 160, 14, 14, 3, 2, 0, 1, 1},   // as many images as threads
                                         Case{1, 17, 48, 90, 65, 5, 1, 2, 2, 1},    //
                                         Case{2, 20, 40, 70, 50, 3, 1, 2, 2, 2},    //
                                         Case{1, 16, 33, 100, 90, 3, 1, 0, 3, 1},   // padding at one end
                                         Case{1, 16, 64, 65, 65, 2, 3, 0, 0, 1},    // lines that nobody reads
                                         Case{1, 30, 64, 5, 900, 3, 1, 1, 1, 1}));  // few lines

TEST(Chains, LeaveAloneWhatOthersReadOrIsSmall) {
  const FusedDevice fused;
  const Case large{1, 16, 64, 80, 80, 3, 1, 1, 1, 1}, small{1, 16, 64, 20, 20, 3, 1, 1, 1, 1};
  const Operands o(fused.device, large, false), few(fused.device, small, false);
  {
    const Value between = first(o, Kind::Clamped), y = second(o, large, Kind::Clamped, between);
    EXPECT_EQ(runs(fused), 2) << "the program sees what lies between";
    EXPECT_EQ(values(between).size(), static_cast<std::size_t>(numel(large.between())));
  }
  {
    const Value between = first(o, Kind::Clamped);
    const Value y = second(o, large, Kind::Clamped, between) + between;
    EXPECT_EQ(values(y).size(), static_cast<std::size_t>(numel(large.y())));
  }
  const Value y = second(few, small, Kind::Clamped, first(few, Kind::Clamped));
  EXPECT_EQ(runs(fused), 2) << "it stays in a cache";
  // The second's operand is the first's result, and its residual as well.
  const Value between = relu6(conv(o.x, o.wide, {}));
  const std::vector<double> found = values(relu(conv(between, o.deep, {}, large.depthwise()) + between));
  fused.device.flush();
  const std::vector<double> expected = values(relu(conv(between, o.deep, {}, large.depthwise()) + between));
  EXPECT_EQ(found, expected);
}

// Types, sums and epilogues that the kernel does not take: one runs after the other.
TEST(Chains, RunOneAfterTheOtherWhereTheyMust) {
  const FusedDevice fused;
  for (const auto& [in, dtype] :
       {std::pair{16, DType::BF16}, std::pair{16, DType::F16}, std::pair{16, DType::F64}, std::pair{96, DType::F32}}) {
    const Case c{1, in, 64, 80, 80, 3, 1, 1, 1, 1};
    const Operands o(fused.device, c, true, dtype);
    for (const bool simple : {true, false}) {
      const auto made = [&](bool apart) {
        Value between = simple ? first(o, Kind::Clamped) : tanh(first(o, Kind::Biased));
        if (apart) fused.device.flush();
        const Value y = second(o, c, Kind::Biased, between);
        return simple ? relu(y) : sigmoid(y);
      };
      const Value together = made(false);
      EXPECT_EQ(values(together), values(made(true))) << text(in, ' ', dtype);
    }
  }
}

}  // namespace
}  // namespace kiln::test
