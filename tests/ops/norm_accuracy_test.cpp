// Norms of numbers that vary by little beside their mean: the mean is rounded, and what that leaves must not come out as
// if the numbers varied by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln {
namespace {

using Norm = std::function<Value(const Value&)>;
/// The group of element i of x.
using Grouping = std::function<std::int64_t(std::int64_t)>;

struct Case {
  std::string name;
  Shape shape;
  Norm norm;
  Grouping group;
};

std::vector<Case> cases_of(const Device& device, DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](std::string name, const Shape& shape, Norm norm, Grouping group) {
    cases.push_back({text(name, " ", shape), shape, std::move(norm), std::move(group)});
  };
  for (const std::int64_t width : {2, 3, 7, 16, 100, 259, 1000, 4097, 10000}) {
    const Grouping row = [width](std::int64_t i) { return i / width; };
    const Value weight = ones({width}, device, dtype), bias = zeros({width}, device, dtype);
    add("layer_norm", {3, width}, [=](const Value& x) { return layer_norm(x, weight, bias); }, row);
    add("layer_norm, plain", {3, width}, [](const Value& x) { return layer_norm(x); }, row);
    add(
        "group_norm", {3, 2, width}, [](const Value& x) { return group_norm(x, 1); },
        [width](std::int64_t i) { return i / (2 * width); });
    add("instance_norm", {2, 3, width}, [](const Value& x) { return instance_norm(x); }, row);
    const Norm batch = [](const Value& x) { return batch_norm_training(x, {}, {}).output; };
    add("batch_norm", {2, 3, width}, batch, [width](std::int64_t i) { return i / width % 3; });
    add("batch_norm of features", {width, 5}, batch, [](std::int64_t i) { return i % 5; });
  }
  return cases;
}

/// The definition, in long double.
std::vector<double> normalised(const std::vector<double>& x, const Grouping& group) {
  std::vector<long double> count, mean, variance;
  const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(group(i)); };
  const auto size = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = 0; i < size; ++i)
    if (at(i) >= count.size()) count.resize(at(i) + 1);
  mean.resize(count.size());
  variance.resize(count.size());
  for (std::int64_t i = 0; i < size; ++i) count[at(i)] += 1, mean[at(i)] += x[static_cast<std::size_t>(i)];
  for (std::size_t g = 0; g < count.size(); ++g) mean[g] /= count[g];
  for (std::int64_t i = 0; i < size; ++i) {
    const long double distance = x[static_cast<std::size_t>(i)] - mean[at(i)];
    variance[at(i)] += distance * distance / count[at(i)];
  }
  std::vector<double> result;
  for (std::int64_t i = 0; i < size; ++i)
    result.push_back(static_cast<double>((x[static_cast<std::size_t>(i)] - mean[at(i)]) /
                                         std::sqrt(variance[at(i)] + static_cast<long double>(1e-5))));
  return result;
}

TEST(Norms, OfEqualElementsAreZero) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
      const Device device = Device::parse(name);
      for (const Case& c : cases_of(device, dtype))
        for (const double number : {0.1, -100.3, 10000.37, 3.3e7, 1e-30}) {
          const std::vector<double> found = c.norm(full(c.shape, number, device, dtype)).data().to_vector<double>();
          double most = 0;
          for (const double z : found) most = std::max(most, std::isnan(z) ? INFINITY : std::abs(z));
          EXPECT_EQ(most, 0) << c.name << " of " << number << ", " << name << ' ' << kiln::name(dtype);
        }
    }
}

TEST(Norms, FarFromZeroAreThoseOfFloat64) {
  struct Numbers {
    DType dtype;
    double mean, deviation, tolerance;
  };
  for (const char* name : {"cpu", "reference"})
    for (const auto& [dtype, mean, deviation, tolerance] :
         {Numbers{DType::F32, 1e4, 1e-2, 2e-5}, Numbers{DType::F32, -1e6, 0.5, 2e-5},
          Numbers{DType::F64, 1e4, 1e-2, 1e-9}, Numbers{DType::BF16, 1e4, 300, 1e-2}}) {
      const Device device = Device::parse(name);
      for (const Case& c : cases_of(device, dtype)) {
        const Value drawn = normal(c.shape, 0, deviation, Device::cpu(), DType::F64, Key{7}) + mean;
        const Value x = from_data(drawn.data().to(dtype), device);
        const std::vector<double> expected = normalised(x.data().to_vector<double>(), c.group);
        const std::vector<double> found = c.norm(x).data().to_vector<double>();
        double worst = 0;
        for (std::size_t i = 0; i < found.size(); ++i)
          worst = std::max(worst, std::abs(found[i] - expected[i]) / std::max(1.0, std::abs(expected[i])));
        EXPECT_LE(worst, tolerance) << c.name << ", " << name << ' ' << kiln::name(dtype);
      }
    }
}

TEST(Norms, FarFromZeroHaveTheGradientsOfFloat64) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name).autodiff(), exact = Device::parse("reference").autodiff();
    const std::vector<Case> cases = cases_of(device, DType::F32), exact_cases = cases_of(exact, DType::F64);
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const Shape& shape = cases[k].shape;
      const TensorData x = (normal(shape, 0, 1e-2, Device::cpu(), DType::F64, Key{7}) + 1e4).data().to(DType::F32);
      const TensorData weights = normal(shape, 0, 1, Device::cpu(), DType::F32, Key{8}).data();
      const auto gradient = [&](const Case& c, const Device& on, DType dtype) {
        const Value operand = from_data(x.to(dtype), on).require_grad();
        return backward(sum(c.norm(operand) * from_data(weights.to(dtype), on))).of(operand).data().to(DType::F64);
      };
      const TensorData found = gradient(cases[k], device, DType::F32),
                       expected = gradient(exact_cases[k], exact, DType::F64);
      double largest = 0, worst = 0;
      for (std::int64_t i = 0; i < expected.numel(); ++i) {
        largest = std::max(largest, std::abs(expected.at(i)));
        worst = std::max(worst, std::abs(found.at(i) - expected.at(i)));
      }
      // Of two elements nearly nothing is left: what is subtracted is as large as the slopes, over the deviation.
      EXPECT_LE(worst, 1e-4 * largest + 1e-3) << cases[k].name << ", " << name;
    }
  }
}

TEST(Variance, FarFromZeroIsThatOfFloat64) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name);
    for (const std::int64_t count : {3, 100, 10000}) {
      const TensorData x = (normal({count}, 0, 1e-2, Device::cpu(), DType::F64, Key{3}) + 1e4).data().to(DType::F32);
      long double mean = 0, squares = 0;
      for (const double number : x.to_vector<double>()) mean += number / static_cast<long double>(count);
      for (const double number : x.to_vector<double>()) squares += (number - mean) * (number - mean);
      const auto expected = static_cast<double>(squares / static_cast<long double>(count - 1));
      EXPECT_NEAR(variance(from_data(x, device), {0}, 1).item(), expected, 2e-6 * expected) << name << ' ' << count;
      EXPECT_EQ(deviation(full({count}, 10000.37, device), {0}).item(), 0) << name << ' ' << count;
    }
  }
}

}  // namespace
}  // namespace kiln
