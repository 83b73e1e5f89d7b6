#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

constexpr double kEpsilon = 1e-3;

/// Replaces the elements of x at `places` by (x - mean) / sqrt(variance + epsilon).
struct Moments {
  double mean = 0, variance = 0;
};
Moments normalise(Array& x, const std::vector<std::size_t>& places, bool centred = true) {
  Moments m;
  const auto count = static_cast<double>(places.size());
  if (centred)
    for (const std::size_t i : places) m.mean += x.v[i] / count;
  for (const std::size_t i : places) m.variance += (x.v[i] - m.mean) * (x.v[i] - m.mean) / count;
  for (const std::size_t i : places) x.v[i] = (x.v[i] - m.mean) / std::sqrt(m.variance + kEpsilon);
  return m;
}

/// The elements of x for which key(index) is `wanted`.
std::vector<std::size_t> places(const Array& x, const std::function<std::int64_t(const Dims&)>& key,
                                std::int64_t wanted) {
  std::vector<std::size_t> result;
  each_index(x.shape, [&](const Dims& i) {
    if (key(i) == wanted) result.push_back(static_cast<std::size_t>(x.offset(i)));
  });
  return result;
}

/// x * weight + bias by channel, where in[1] and in[2] are those.
Array affine(Array x, const std::vector<Array>& in) {
  each_index(x.shape, [&](const Dims& i) {
    if (in.size() > 1) x(i) *= in[1]({i[1]});
    if (in.size() > 2) x(i) += in[2]({i[1]});
  });
  return x;
}

/// x, then as many of weight and bias as `parameters` says.
std::vector<OperandSpec> channel_operands(const Shape& shape, int parameters) {
  std::vector<OperandSpec> operands{{shape}};
  if (parameters > 0) operands.push_back({{shape[1]}, 0.5, 1.5});
  if (parameters > 1) operands.push_back({{shape[1]}, -1, 1});
  return operands;
}
Value operand(const Values& in, std::size_t i) { return i < in.size() ? in[i] : Value(); }

OpCase batch_norm_row(std::string name, const Shape& shape, int parameters, bool gradient = true) {
  return {.name = std::move(name),
          .operands = channel_operands(shape, parameters),
          .function =
              [](const Values& in) {
                return Values{
                    batch_norm_training(in[0], {}, {}, operand(in, 1), operand(in, 2), {.epsilon = kEpsilon}).output};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array x = in[0];
                for (std::int64_t c = 0; c < shape[1]; ++c)
                  normalise(x, places(x, [](const Dims& i) { return i[1]; }, c));
                return std::vector<Array>{affine(x, in)};
              },
          .tolerance = 8,
          .gradient = gradient};
}

OpCase group_norm_row(std::string name, const Shape& shape, std::int64_t groups, int parameters, bool gradient = true) {
  return {.name = std::move(name),
          .operands = channel_operands(shape, parameters),
          .function =
              [=](const Values& in) {
                return Values{groups == shape[1] ? instance_norm(in[0], operand(in, 1), operand(in, 2), kEpsilon)
                                                 : group_norm(in[0], groups, operand(in, 1), operand(in, 2), kEpsilon)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array x = in[0];
                const auto group = [&](const Dims& i) { return i[0] * groups + i[1] / (shape[1] / groups); };
                for (std::int64_t g = 0; g < shape[0] * groups; ++g) normalise(x, places(x, group, g));
                return std::vector<Array>{affine(x, in)};
              },
          .tolerance = 8,
          .gradient = gradient};
}

/// Over the trailing dimensions `last` of x.
OpCase last_dims_row(std::string name, const Shape& shape, const Shape& last, bool centred, bool weighted,
                     bool gradient = true) {
  std::vector<OperandSpec> operands{{shape}};
  if (weighted) operands.push_back({last, 0.5, 1.5});
  return {.name = std::move(name),
          .operands = operands,
          .function =
              [=](const Values& in) {
                return Values{centred ? layer_norm(in[0], last.size(), kEpsilon)
                                      : rms_norm(in[0], operand(in, 1), kEpsilon)};
              },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array x = in[0];
                const auto width = static_cast<std::size_t>(numel(last));
                for (std::size_t row = 0; width && row < x.v.size() / width; ++row) {
                  std::vector<std::size_t> all;
                  for (std::size_t i = 0; i < width; ++i) all.push_back(row * width + i);
                  normalise(x, all, centred);
                  for (std::size_t i = 0; weighted && i < width; ++i) x.v[row * width + i] *= in[1].v[i];
                }
                return std::vector<Array>{x};
              },
          .tolerance = 8,
          .gradient = gradient};
}

std::vector<OpCase> channel_norm_rows() {
  const Shape image{2, 4, 2, 3};
  return {
      batch_norm_row("batch_norm", {3, 2, 4}, 2),
      batch_norm_row("batch_norm_plain", {3, 2, 4}, 0),
      batch_norm_row("batch_norm_weight", {3, 2, 2, 2}, 1),
      batch_norm_row("batch_norm_of_features", {5, 3}, 2),
      batch_norm_row("batch_norm_of_volumes", {2, 2, 2, 1, 2}, 2),
      batch_norm_row("batch_norm_of_lines", {2, 3, 24}, 2),
      batch_norm_row("batch_norm_of_rows", {12, 17}, 2),
      batch_norm_row("batch_norm_wide", {4, 19, 300}, 2, false),
      batch_norm_row("batch_norm_of_many_features", {131, 37}, 2, false),
      batch_norm_row("batch_norm_of_no_channels", {3, 0, 4}, 2),
      {.name = "batch_norm_inference",
       .operands = {{{2, 3, 2}}, {{3}, -1, 1}, {{3}, 0.5, 2}, {{3}, 0.5, 1.5}, {{3}, -1, 1}},
       .function = [](const Values& in) { return Values{batch_norm(in[0], in[1], in[2], in[3], in[4], kEpsilon)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             Array x = in[0];
             each_index(x.shape, [&](const Dims& i) {
               const Dims c{i[1]};
               x(i) = (x(i) - in[1](c)) / std::sqrt(in[2](c) + kEpsilon) * in[3](c) + in[4](c);
             });
             return std::vector<Array>{x};
           },
       .tolerance = 4},
      group_norm_row("group_norm", image, 2, 2),
      group_norm_row("group_norm_plain", image, 2, 0),
      group_norm_row("group_norm_weight", {2, 6}, 3, 1),
      group_norm_row("group_norm_of_all_channels", {2, 3, 2}, 1, 2),
      group_norm_row("group_norm_wide", {3, 8, 77}, 4, 2, false),
      group_norm_row("group_norm_of_nothing", {0, 4, 3}, 2, 2),
      group_norm_row("instance_norm", {2, 3, 4}, 3, 2),
      group_norm_row("instance_norm_plain", {2, 2, 2, 3}, 2, 0),
      last_dims_row("layer_norm_plain", {3, 5}, {5}, true, false),
      last_dims_row("layer_norm_plain_over_two_dims", {2, 3, 2}, {3, 2}, true, false),
      last_dims_row("layer_norm_plain_wide", {70, 131}, {131}, true, false, false),
      last_dims_row("rms_norm", {3, 5}, {5}, false, true),
      last_dims_row("rms_norm_plain", {2, 2, 4}, {4}, false, false),
      last_dims_row("rms_norm_over_two_dims", {2, 3, 2}, {3, 2}, false, true),
      last_dims_row("rms_norm_wide", {70, 131}, {131}, false, true, false),
      last_dims_row("rms_norm_of_nothing", {0, 4}, {4}, false, true),
      {.name = "local_response_norm",
       .operands = {{{2, 5, 2}}},
       .function =
           [](const Values& in) {
             return Values{local_response_norm(in[0], {.size = 4, .alpha = 0.6, .beta = 0.75, .k = 2})};
           },
       .meaning =
           [](const std::vector<Array>& in) {
             Array x = in[0];
             each_index(x.shape, [&](const Dims& i) {
               double total = 0;
               for (std::int64_t c = i[1] - 2; c <= i[1] + 1; ++c)
                 if (c >= 0 && c < 5) total += in[0]({i[0], c, i[2]}) * in[0]({i[0], c, i[2]});
               x(i) /= std::pow(2 + 0.6 / 4 * total, 0.75);
             });
             return std::vector<Array>{x};
           },
       .tolerance = 4},
  };
}

const Family kChannelNormFamily(&channel_norm_rows);

// ---- long ones: the kernels against float64 -------------------------------------------------------------------------

Value numbers(const Shape& shape, const Device& device, std::uint64_t seed, DType dtype) {
  return to_device(cast(normal(shape, 0, 1, Device::cpu(), DType::F32, Key{seed}), dtype), device);
}

using NormFunction = std::function<Value(const Value& x, const Value& weight, const Value& bias)>;

/// Output and gradients in `dtype`, of the same numbers; x lies in memory in the order of `order`.
std::vector<TensorData> results_of(const NormFunction& function, const Shape& shape, const Dims& order, bool shifted,
                                   const char* name, DType dtype) {
  const Device device = Device::parse(name).autodiff();
  Shape stored;
  Dims back = order;
  for (int i = 0; i < order.size(); ++i) {
    stored.push_back(shape[static_cast<int>(order[i])]);
    back[static_cast<int>(order[i])] = i;
  }
  const Value offset = full({}, shifted ? 100.0 : 0.0, device, dtype);
  const Value x = permute(numbers(stored, device, 1, dtype) + offset, back).detach().require_grad();
  const Value weight = numbers({shape[1]}, device, 2, dtype).require_grad();
  const Value bias = numbers({shape[1]}, device, 3, dtype).require_grad();
  const Value output = function(x, weight, bias);
  const Gradients gradients = backward(sum(output * permute(numbers(stored, device, 4, dtype), back)));
  return {output.data(), gradients.of(x).data(), gradients.of(weight).data(),
          gradients.find(bias).value_or(zeros_like(bias)).data()};
}

TEST(ChannelNorms, OfLargeTensorsAgreeWithFloat64) {
  const NormFunction batch = [](const Value& x, const Value& weight, const Value& bias) {
    return batch_norm_training(x, {}, {}, weight, bias).output;
  };
  const NormFunction groups = [](const Value& x, const Value& weight, const Value& bias) {
    return group_norm(x, 4, weight, bias);
  };
  const NormFunction rms = [](const Value& x, const Value& weight, const Value&) { return rms_norm(x, weight); };
  struct Long {
    const char* name;
    NormFunction function;
    Shape shape;
    Dims order;
  };
  const Long cases[] = {
      {"batch", batch, {5, 12, 31, 17}, {0, 1, 2, 3}},
      {"batch, channels last", batch, {5, 12, 31, 17}, {0, 2, 3, 1}},
      {"batch, many channels last", batch, {3, 131, 9, 5}, {0, 2, 3, 1}},
      {"batch, other order", batch, {5, 12, 31, 17}, {3, 0, 2, 1}},
      {"batch of features", batch, {700, 45}, {0, 1}},
      {"batch of turned features", batch, {700, 45}, {1, 0}},
      {"batch of long images", batch, {2, 3, 30000}, {0, 1, 2}},
      {"groups", groups, {5, 12, 31, 17}, {0, 1, 2, 3}},
      {"groups, channels last", groups, {5, 12, 31, 17}, {0, 2, 3, 1}},
      {"groups of features", groups, {300, 52}, {0, 1}},
      {"rms", rms, {300, 259}, {0, 1}},
      {"rms of few", rms, {1000, 3}, {0, 1}},
  };
  for (const auto& [name, function, shape, order] : cases)
    for (const bool shifted : {false, true}) {
      if (shifted && std::string_view(name).starts_with("rms")) continue;
      const auto fast = results_of(function, shape, order, shifted, "cpu", DType::F32);
      const auto exact = results_of(function, shape, order, shifted, "reference", DType::F64);
      for (std::size_t i = 0; i < fast.size(); ++i)
        EXPECT_EQ(difference(fast[i].to(DType::F64), exact[i], {2e-4, shifted ? 2e-3 : 2e-4}), "")
            << name << (shifted ? ", shifted" : "") << ", result " << i;
    }
}

TEST(BatchNorm, ReturnsItsStatisticsAndTheNewRunningOnes) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : {DType::F32, DType::BF16}) {
      const Device device = Device::parse(name).autodiff();
      const Value x = cast(from_data(TensorData::of<float>({2, 2, 1}, {1, 10, 3, 30}), device), dtype).require_grad();
      const Value mean = from_data(TensorData::of<float>({2}, {0, 100}), device);
      const Value variance = from_data(TensorData::of<float>({2}, {1, 2}), device);
      const BatchNormResult result = batch_norm_training(x, mean, variance, {}, {}, {.momentum = 0.5});
      const auto list = [](const Value& value) { return value.data().to_vector<float>(); };
      EXPECT_EQ(list(result.mean), (std::vector<float>{2, 20}));
      EXPECT_EQ(list(result.variance), (std::vector<float>{1, 100}));
      EXPECT_EQ(list(result.running_mean), (std::vector<float>{1, 60}));
      EXPECT_EQ(list(result.running_variance), (std::vector<float>{1.5, 101}));
      EXPECT_TRUE(result.output.tracked());
      for (const Value& statistic : {result.mean, result.variance, result.running_mean, result.running_variance})
        EXPECT_FALSE(statistic.tracked());
      EXPECT_TRUE(batch_norm_training(x, {}, {}).running_mean.empty());
    }
}

TEST(BatchNorm, KeepsItsFiguresFarFromZero) {
  // A difference of squares would lose the variance of 1e4 + {0, 1} in float32.
  const Value x = from_data(TensorData::of<float>({4, 1}, {10000, 10001, 10000, 10001}), Device::cpu());
  const BatchNormResult result = batch_norm_training(x, {}, {});
  EXPECT_EQ(result.variance.data().to_vector<float>(), std::vector<float>{0.25});
  const Value wide = reshape(x, {1, 1, 4});
  EXPECT_NEAR(group_norm(wide, 1).data().at(1), 0.5 / std::sqrt(0.25 + 1e-5), 1e-5);
}

}  // namespace
}  // namespace kiln::test
