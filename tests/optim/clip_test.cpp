// Clipping at both ends of the range of each type, and what infinities and NaN do.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/ops/functions.hpp"
#include "kiln/optim/clip.hpp"
#include "kiln/optim/lbfgs.hpp"
#include "kiln/optim/rule.hpp"
#include "kiln/optim/scaler.hpp"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Numbers = std::vector<double>;

Value line(const Numbers& numbers, DType dtype, const Device& device) {
  return from_data(TensorData::of<double>({static_cast<std::int64_t>(numbers.size())}, numbers).to(dtype), device);
}
GradientsParams gradients(const Numbers& a, const Numbers& b, DType dtype, const Device& device) {
  GradientsParams grads;
  grads.by_path["a"] = line(a, dtype, device);
  grads.by_path["b"] = line(b, dtype, device);
  return grads;
}
Numbers numbers(const GradientsParams& grads) {
  Numbers all;
  for (const auto& [path, grad] : grads.by_path)
    for (const double each : grad.data().to_vector<double>()) all.push_back(each);
  return all;
}

void expect_near(const Numbers& found, const Numbers& right, double share, const std::string& what) {
  ASSERT_EQ(found.size(), right.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], right[i], share * std::abs(right[i])) << what << ", element " << i;
}

const std::vector<Device>& devices() {
  static const std::vector<Device> all{Device::cpu(), Device::parse("reference")};
  return all;
}

struct Scale {
  DType dtype;
  double scale, share;
};
const Scale kScales[] = {{DType::F32, 1e-30, 1e-6},  {DType::F32, 1e-3, 1e-6},   {DType::F32, 1e18, 1e-6},
                         {DType::F32, 1e20, 1e-6},   {DType::F32, 6.7e37, 1e-6}, {DType::F64, 1e-200, 1e-13},
                         {DType::F64, 1e100, 1e-13}, {DType::F64, 1e200, 1e-13}, {DType::F64, 3.5e307, 1e-13},
                         {DType::BF16, 1e30, 1e-2}};

// 3, 0, 4 and 12 are as long as 13.
TEST(Clip, HasTheNormOfGradientsOfAnySize) {
  for (const Device& device : devices())
    for (const auto& [dtype, scale, share] : kScales) {
      if (scale * 13 > 3e38 && dtype == DType::F32) continue;  // it is beyond the type
      if (scale * 13 > 1e308) continue;
      const auto norm = global_norm(gradients({3 * scale, 0}, {4 * scale, 12 * scale}, dtype, device)).value();
      EXPECT_EQ(norm.dtype(), dtype == DType::F64 ? DType::F64 : DType::F32);
      EXPECT_NEAR(norm.item(), 13 * scale, share * 13 * scale) << text(device, " ", dtype, " ", scale);
    }
}

// Also where the norm itself is beyond the type.
TEST(Clip, ScalesGradientsOfAnySize) {
  for (const Device& device : devices())
    for (const auto& [dtype, size, share] : kScales) {
      const double scale = size / 2.4;  // 12 of these are still in range
      const std::string what = text(device, " ", dtype, " ", scale);
      const Numbers a{3 * scale, 0}, b{4 * scale, 12 * scale};
      const double limit = scale < 1 ? 1e3 : 1.3;
      const double all = limit / 13, of_a = limit / 3, of_b = limit / std::sqrt(160);
      const bool stays = scale * 13 < limit;
      const double unit = scale;
      expect_near(numbers(clip_by_global_norm(gradients(a, b, dtype, device), limit)),
                  stays ? Numbers{3 * unit, 0, 4 * unit, 12 * unit} : Numbers{3 * all, 0, 4 * all, 12 * all}, share,
                  what);
      expect_near(numbers(clip_by_norm(gradients(a, b, dtype, device), limit)),
                  stays ? Numbers{3 * unit, 0, 4 * unit, 12 * unit} : Numbers{3 * of_a, 0, 4 * of_b, 12 * of_b}, share,
                  what + ", each");
      // Parameters are 10 long, so that gradients may be as long as `limit`.
      std::map<std::string, Value> params{{"a", line({10, 0}, dtype, device)}, {"b", line({0, 10}, dtype, device)}};
      expect_near(numbers(clip_adaptively(gradients(a, b, dtype, device), params, limit / 10)),
                  stays ? Numbers{3 * unit, 0, 4 * unit, 12 * unit} : Numbers{3 * of_a, 0, 4 * of_b, 12 * of_b}, share,
                  what + ", adaptively");
    }
}

TEST(Clip, MakesAllNanWhereOneIsInfiniteOrNan) {
  for (const Device& device : devices())
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64})
      for (const double wrong : {kInf, -kInf, std::nan("")}) {
        const std::string what = text(device, " ", dtype, " ", wrong);
        const auto given = [&] { return gradients({1, 0}, {wrong, 2}, dtype, device); };
        for (const double each : numbers(clip_by_global_norm(given(), 1))) EXPECT_TRUE(std::isnan(each)) << what;
        EXPECT_FALSE(std::isfinite(global_norm(given()).item())) << what;
        const Numbers own = numbers(clip_by_norm(given(), 2));
        EXPECT_EQ(own[0], 1) << what;
        EXPECT_TRUE(std::isnan(own[2]) && std::isnan(own[3])) << what;
        const std::map<std::string, Value> params{{"a", line({10, 0}, dtype, device)},
                                                  {"b", line({0, 10}, dtype, device)}};
        const Numbers units = numbers(clip_adaptively(given(), params, 1));
        EXPECT_EQ(units[0], 1) << what;
        EXPECT_TRUE(std::isnan(units[2]) && std::isnan(units[3])) << what;
        const Numbers bounded = numbers(clip_by_value(given(), 1));
        if (std::isnan(wrong)) EXPECT_TRUE(std::isnan(bounded[2])) << what;
        else EXPECT_EQ(bounded[2], wrong > 0 ? 1 : -1) << what;
        EXPECT_EQ(bounded[3], 1) << what;
      }
}

TEST(Rules, HaveNormsOfParametersOfAnySize) {
  for (const Device& device : devices())
    for (const auto& [dtype, scale] : {std::pair{DType::F32, 1e-25},
                                       {DType::F32, 1.0},
                                       {DType::F32, 1e25},
                                       {DType::F64, 1e-200},
                                       {DType::F64, 1e200}}) {
      const Value x = line({3 * scale, 4 * scale, 12 * scale, 0}, dtype, device);
      EXPECT_NEAR(rules::norm(x).item(), 13 * scale, 1e-6 * scale) << text(device, " ", dtype, " ", scale);
      EXPECT_NEAR(rules::root_mean_square(x).item(), 6.5 * scale, 1e-6 * scale) << text(device, " ", dtype, " ", scale);
    }
}

// A step in which no gradient was looked at says nothing of overflows.
TEST(GradientScaler, LearnsNothingFromNoGradients) {
  GradientScaler scaler = GradientScalerConfig{.exponent = 10, .interval = 2}.init();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(scaler.unscale(GradientsParams{}).by_path.empty());
  EXPECT_EQ(scaler.scale(), 1024);
}

}  // namespace
}  // namespace kiln
