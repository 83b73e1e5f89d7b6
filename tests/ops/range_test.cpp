// Lengths, deviations and distances near both ends of the range of float32 and float64: what is in range is right, though
// its squares are not. Expected numbers are those of long doubles, whose range is larger.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/linalg/length.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/reduce/masked.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {
namespace {

using List = std::vector<long double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

const List kFirst{3, -4, 1.5, 0.25, 2}, kSecond{-1, 2, 5, -0.5, 1};

/// Of x, a line, and y, another one.
struct Ranged {
  std::string name;
  std::function<Value(const Value& x, const Value& y)> function;
  std::function<long double(const List& x, const List& y)> meaning;
  int degree = 1;  // of the result in a scale of both
};

long double power_sum(const List& x, long double p) {
  long double sum = 0;
  for (const long double each : x) sum += std::pow(std::abs(each), p);
  return sum;
}
long double dot(const List& x, const List& y) {
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
List minus(const List& x, const List& y) {
  List result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(x[i] - y[i]);
  return result;
}
long double spread(const List& x, int correction) {
  long double mean = 0, sum = 0;
  for (const long double each : x) mean += each / static_cast<long double>(x.size());
  for (const long double each : x) sum += (each - mean) * (each - mean);
  return std::sqrt(sum / static_cast<long double>(static_cast<int>(x.size()) - correction));
}
List centred(List x) {
  long double mean = 0;
  for (const long double each : x) mean += each / static_cast<long double>(x.size());
  for (long double& each : x) each -= mean;
  return x;
}
long double cosine(const List& x, const List& y) { return dot(x, y) / std::sqrt(dot(x, x) * dot(y, y)); }

Value rows(const Value& x, const Value& y) { return stack(Values{x, y}, 0); }
Value everywhere(const Value& x) { return full(x.shape(), true, x.device().inner(), DType::Bool); }

const Ranged kRanged[] = {
    {"vector_norm", [](const Value& x, const Value&) { return vector_norm(x); },
     [](const List& x, const List&) { return std::sqrt(dot(x, x)); }},
    {"vector_norm_3", [](const Value& x, const Value&) { return vector_norm(x, 3); },
     [](const List& x, const List&) { return std::pow(power_sum(x, 3), 1 / 3.0L); }},
    {"vector_norm_1.5", [](const Value& x, const Value&) { return vector_norm(x, 1.5); },
     [](const List& x, const List&) { return std::pow(power_sum(x, 1.5L), 1 / 1.5L); }},
    {"frobenius", [](const Value& x, const Value& y) { return matrix_norm(rows(x, y)); },
     [](const List& x, const List& y) { return std::sqrt(dot(x, x) + dot(y, y)); }},
    {"masked_norm", [](const Value& x, const Value&) { return masked_norm(x, everywhere(x), 2, {0}); },
     [](const List& x, const List&) { return std::sqrt(dot(x, x)); }},
    {"vector_normalize", [](const Value& x, const Value&) { return at(vector_normalize(x, 2, -1, 0), 0, 1); },
     [](const List& x, const List&) { return x[1] / std::sqrt(dot(x, x)); }, 0},
    {"cosine_similarity", [](const Value& x, const Value& y) { return cosine_similarity(x, y, -1, 0); }, cosine, 0},
    {"pairwise_distance", [](const Value& x, const Value& y) { return pairwise_distance(x, y); },
     [](const List& x, const List& y) { return std::sqrt(dot(minus(x, y), minus(x, y))); }},
    {"cdist", [](const Value& x, const Value& y) { return at(at(cdist(rows(x, y), rows(x, y)), 0, 0), 0, 1); },
     [](const List& x, const List& y) { return std::sqrt(dot(minus(x, y), minus(x, y))); }},
    {"cdist_3", [](const Value& x, const Value& y) { return at(at(cdist(rows(x, y), rows(x, y), 3), 0, 0), 0, 1); },
     [](const List& x, const List& y) { return std::pow(power_sum(minus(x, y), 3), 1 / 3.0L); }},
    {"cdist_through_matmul",
     [](const Value& x, const Value& y) { return at(at(cdist(rows(x, y), rows(x, y), 2, true), 0, 0), 0, 1); },
     [](const List& x, const List& y) { return std::sqrt(dot(minus(x, y), minus(x, y))); }},
    {"pdist", [](const Value& x, const Value& y) { return at(pdist(rows(x, y)), 0, 0); },
     [](const List& x, const List& y) { return std::sqrt(dot(minus(x, y), minus(x, y))); }},
    {"deviation", [](const Value& x, const Value&) { return deviation(x, {0}); },
     [](const List& x, const List&) { return spread(x, 1); }},
    {"nanstd", [](const Value& x, const Value&) { return nanstd(x, {0}, 0); },
     [](const List& x, const List&) { return spread(x, 0); }},
    {"masked_std", [](const Value& x, const Value&) { return masked_std(x, everywhere(x), {0}); },
     [](const List& x, const List&) { return spread(x, 1); }},
    {"corrcoef", [](const Value& x, const Value& y) { return at(at(corrcoef(rows(x, y)), 0, 0), 0, 1); },
     [](const List& x, const List& y) { return cosine(centred(x), centred(y)); }, 0},
};

/// factor * list as that type holds it, and its gradient where `tracked`.
Value line(const List& list, double factor, DType dtype, const Device& device) {
  std::vector<double> numbers;
  for (const long double each : list) numbers.push_back(static_cast<double>(each) * factor);
  return from_data(TensorData::of<double>({static_cast<std::int64_t>(numbers.size())}, numbers).to(dtype), device);
}

/// Powers of two, so that the type holds the lists exactly.
std::vector<double> scales(DType dtype) {
  if (dtype == DType::F64)
    return {std::ldexp(1, -1000), std::ldexp(1, -500), 1, std::ldexp(1, 500), std::ldexp(1, 1018)};
  return {std::ldexp(1, -120), std::ldexp(1, -60), 1, std::ldexp(1, 50), std::ldexp(1, 66), std::ldexp(1, 122)};
}

TEST(Range, OfLengthsIsThatOfTheType) {
  for (const auto& [name, device] : devices_under_test())
    for (const Ranged& each : kRanged)
      for (const DType dtype : {DType::F32, DType::F64})
        for (const double scale : scales(dtype)) {
          const double right = static_cast<double>(each.meaning(kFirst, kSecond)) * (each.degree ? scale : 1);
          const double near = std::abs(right) * (dtype == DType::F64 ? 1e-13 : 2e-6);
          const std::string what = text(each.name, " at ", scale, ", ", name, " ", dtype);
          const Value x = line(kFirst, scale, dtype, device), y = line(kSecond, scale, dtype, device);
          EXPECT_NEAR(each.function(x, y).item(), right, near) << what;
          // Tracked values take another way.
          const Device auto_device = device.autodiff();
          const Value a = to_device(x, auto_device).require_grad(), b = to_device(y, auto_device).require_grad();
          const Value made = each.function(a, b);
          EXPECT_NEAR(made.item(), right, near) << what << ", tracked";
          // Euler: of a function of degree n, x . f'(x) is n f(x).
          const Values grads = grad(made, Values{a, b});
          double sum = 0;
          for (const auto& [of, list] : {std::pair{grads[0], kFirst}, std::pair{grads[1], kSecond}})
            for (std::size_t i = 0; i < list.size(); ++i)
              sum +=
                  of.data().at(static_cast<std::int64_t>(i)) * (each.degree ? 1 : scale) * static_cast<double>(list[i]);
          const double degree = each.degree ? static_cast<double>(each.meaning(kFirst, kSecond)) : 0;
          EXPECT_NEAR(sum, degree, (dtype == DType::F64 ? 1e-12 : 2e-5) * std::max(1.0, std::abs(degree)))
              << what << ", gradient";
        }
}

/// The length of a line as long doubles have it, rounded once.
double length(const TensorData& data, std::int64_t first, std::int64_t count) {
  long double sum = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    const long double x = data.at(i);
    sum += x * x;
  }
  const long double root = std::sqrt(sum);
  return data.dtype() == DType::F32 ? static_cast<float>(root) : static_cast<double>(root);
}

// Ordinary lengths of float32 are rounded once. In float64, scaling is by powers of two: no bit changes.
TEST(Range, LeavesOrdinaryLengthsAsTheyWere) {
  const Device device = Device::cpu();
  for (const DType dtype : {DType::F32, DType::F64})
    for (const double scale : {1e-12, 1e-3, 1.0, 1e6, 1e12}) {
      const Value x = normal({64, 50}, 0, scale, device, dtype, Key{7});
      const auto bytes = [](const Value& value) {
        const TensorData data = value.data();
        return std::vector<std::byte>(data.bytes().begin(), data.bytes().end());
      };
      const TensorData data = x.data(), lengths = vector_norm(x, 2, {1}).data();
      if (dtype == DType::F32)
        for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(lengths.at(i), length(data, 50 * i, 50)) << scale;
      else EXPECT_EQ(bytes(vector_norm(x, 2, {1})), bytes(sqrt(sum(square(x), {1})))) << scale;
      EXPECT_EQ(bytes(deviation(x, {1})), bytes(sqrt(variance(x, {1})))) << text(dtype, " ", scale);
      const Value tracked = to_device(x, device.autodiff()).require_grad();
      EXPECT_EQ(bytes(vector_norm(tracked, 2, {1})), bytes(vector_norm(x, 2, {1}))) << text(dtype, " ", scale);
    }
}

TEST(Range, HasInfinitiesNanAndZeros) {
  for (const auto& [name, device] : devices_under_test())
    for (const bool tracked : {false, true}) {
      const auto of = [&](std::vector<double> numbers) {
        const Value x =
            from_data(TensorData::of<double>({static_cast<std::int64_t>(numbers.size())}, numbers).to(DType::F32),
                      tracked ? device.autodiff() : device);
        return tracked ? x.require_grad() : x;
      };
      const std::string what = text(name, tracked ? ", tracked" : "");
      EXPECT_EQ(vector_norm(of({1, -kInf})).item(), kInf) << what;
      EXPECT_EQ(vector_norm(of({1e30, -kInf}), 3).item(), kInf) << what;
      EXPECT_TRUE(std::isnan(vector_norm(of({1e30, std::nan("")})).item())) << what;
      EXPECT_EQ(vector_norm(of({0, 0})).item(), 0) << what;
      EXPECT_EQ(vector_norm(of({0, 0}), 3).item(), 0) << what;
      EXPECT_EQ(vector_norm(of({})).item(), 0) << what;
      EXPECT_EQ(vector_norm(of({3e38, 3e38})).item(), kInf) << what;  // it is beyond the type
      EXPECT_EQ(deviation(of({5, 5, 5}), {0}).item(), 0) << what;
    }
}

TEST(Range, OfLossesAndInterpolation) {
  for (const auto& [name, device] : devices_under_test()) {
    const auto of = [&, &own = device](std::initializer_list<double> numbers) {
      return from_data(TensorData::of<double>({static_cast<std::int64_t>(numbers.size())}, std::vector<double>(numbers))
                           .to(DType::F32),
                       own);
    };
    // 45 degrees apart, whatever the lengths.
    for (const double scale : {1e-5, 1.0, 1e12, 1e20, 1e30}) {
      const Value a = reshape(of({scale, 0}), {1, 2}), b = reshape(of({scale, scale}), {1, 2});
      EXPECT_NEAR(cosine_embedding_loss(a, b, ones({1}, device)).item(), 1 - std::sqrt(0.5), scale < 1e-3 ? 0.02 : 1e-6)
          << text(name, " ", scale);
    }
    // (1e20)^2 / 1e22 is 1e18, and log(1e22) nothing beside it.
    EXPECT_NEAR(gaussian_nll_loss(of({1e20}), of({0}), of({1e22})).item(), 0.5e18, 1e12) << name;
    EXPECT_NEAR(lerp(of({-3e38}), of({3e38}), of({0.75})).item(), 1.5e38, 1e32) << name;
    EXPECT_NEAR(lerp(of({-3e38}), of({3e38}), 0.25).item(), -1.5e38, 1e32) << name;
  }
}

}  // namespace
}  // namespace kiln::test
