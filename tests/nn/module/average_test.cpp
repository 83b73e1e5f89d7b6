// Averages of weights, against loops in float64.
#include "kiln/nn/module/average.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

struct Net {
  nn::Linear first;
  nn::BatchNorm norm;
  nn::Linear second;
};

Net make_net() {
  autodiff.seed(1);
  return {nn::LinearConfig{3, 4}.init(autodiff), nn::BatchNormConfig{.channels = 4}.init(autodiff),
          nn::LinearConfig{4, 2}.init(autodiff)};
}

std::vector<double> weights_of(const Net& net) {
  std::vector<double> all;
  visit_params(net, [&](const std::string&, const auto& param) {
    for (const float element : param.to_vector()) all.push_back(static_cast<double>(element));
  });
  return all;
}

/// As a training loop might: other weights at each step, and other statistics.
Net stepped(const Net& net) {
  Net next = map_params(net, [](const std::string&, const Value& value) {
    return value * 0.9 + uniform(value.shape(), -1, 1, autodiff);
  });
  next.norm.running_mean = nn::Buffer<1>(next.norm.running_mean.get() * 0.5 + 1.0);
  return next;
}

/// Steps and updates, beside average = keep(n) * average + (1 - keep(n)) * weights.
template <class Config, class Keep>
void expect_average(const Config& config, Keep keep) {
  Net net = make_net();
  WeightAverage average = config.init(net);
  std::vector<double> expected = weights_of(net);
  EXPECT_EQ(weights_of(average.apply(net)), expected);
  for (int n = 1; n <= 40; ++n) {
    net = stepped(net);
    average.update(net);
    const std::vector<double> weights = weights_of(net);
    for (std::size_t i = 0; i < weights.size(); ++i) expected[i] = keep(n) * expected[i] + (1 - keep(n)) * weights[i];
  }
  EXPECT_EQ(average.updates(), 40);
  const std::vector<double> found = weights_of(average.apply(net));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-6) << i;
}

TEST(WeightAverage, FollowsExponentially) {
  expect_average(EmaConfig{.decay = 0.9}, [](int) { return 0.9; });
  expect_average(EmaConfig{.decay = 0.8, .warmup = true}, [](int n) { return std::min(0.8, (1.0 + n) / (10 + n)); });
}

TEST(WeightAverage, IsTheMeanOfAllUpdates) {
  expect_average(SwaConfig{}, [](int n) { return 1 - 1.0 / n; });
}

TEST(WeightAverage, TakesBuffersAsItIsTold) {
  const Net before = make_net(), after = stepped(before);
  for (const bool buffers : {false, true}) {
    WeightAverage average = EmaConfig{.decay = 0.75, .buffers = buffers}.init(before);
    average.update(after);
    // The running mean goes from 0 to 1.
    EXPECT_EQ(average.apply(after).norm.running_mean.get().to_vector(), std::vector<float>(4, buffers ? 0.25f : 1.0f));
  }
}

TEST(WeightAverage, LeavesFrozenWeightsAloneUntilTheyAreTrained) {
  Net net = freeze(make_net(), "first");
  WeightAverage average = EmaConfig{.decay = 0.5}.init(net);
  const auto frozen = net.first.weight.to_vector();
  net = stepped(net);
  average.update(net);
  EXPECT_EQ(average.apply(net).first.weight.to_vector(), net.first.weight.to_vector());
  EXPECT_TRUE(average.apply(net).first.weight.is_frozen());
  net = unfreeze(std::move(net));
  average.update(net);
  const auto start = net.first.weight.to_vector();
  net = stepped(net);
  average.update(net);
  const auto last = net.first.weight.to_vector(), found = average.apply(net).first.weight.to_vector();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], 0.5f * start[i] + 0.5f * last[i], 1e-6);
}

TEST(WeightAverage, OfHalvesIsKeptInFloat32) {
  const auto constant = [](double value) {
    return nn::Linear{.weight = nn::Param<2>(full({1, 1}, value, autodiff, DType::BF16).value()), .bias = {}};
  };
  WeightAverage average = EmaConfig{.decay = 0.999}.init(constant(1));
  double expected = 1;
  for (int n = 0; n < 500; ++n) {
    average.update(constant(2));
    expected = 0.999 * expected + 0.001 * 2;
  }
  const nn::Linear found = average.apply(constant(2));
  EXPECT_EQ(found.weight.dtype(), DType::BF16);
  EXPECT_NEAR(static_cast<double>(found.weight.to_float().to_vector()[0]), expected,
              1.0 / 128);  // a step would be lost in bfloat16
  EXPECT_GT(expected, 1.3);
}

TEST(WeightAverage, GoesOnFromARecord) {
  Net net = make_net();
  WeightAverage average = SwaConfig{}.init(net), other = SwaConfig{}.init(make_net());
  for (int n = 0; n < 3; ++n) average.update(net = stepped(net));
  const std::vector<std::byte> bytes = write_safetensors(record_of(average));
  other = from_record(view_safetensors(bytes, "average"), std::move(other), "average");
  EXPECT_EQ(other.updates(), 3);
  net = stepped(net);
  average.update(net);
  other.update(net);
  EXPECT_EQ(weights_of(other.apply(net)), weights_of(average.apply(net)));
}

TEST(WeightAverage, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { EmaConfig{.decay = 1.5}.init(make_net()); }),
            "ArgumentError: EmaConfig: decay = 1.5 must lie in [0, 1)");
  WeightAverage average = EmaConfig{}.init(nn::LinearConfig{3, 4}.init(autodiff));
  EXPECT_EQ(sentence_of([&] { average.update(nn::LinearConfig{2, 4}.init(autodiff)); }),
            "ShapeError: WeightAverage: the average of 'weight' has shape [4, 3], the model's is [4, 2]");
  EXPECT_EQ(sentence_of([&] { return average.apply(nn::LinearConfig{2, 4}.init(autodiff)); }),
            "ShapeError: WeightAverage: the average of 'weight' has shape [4, 3], the model's is [4, 2]");
}

}  // namespace
}  // namespace kiln
