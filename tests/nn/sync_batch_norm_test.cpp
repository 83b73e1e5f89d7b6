// Batch norm of several ranks against batch norm of one that has the whole batch.
#include "kiln/nn/norm/sync_batch_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/sequential.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

struct Found {
  std::vector<float> y, x_grad, weight_grad, bias_grad, mean, variance;
};

nn::BatchNorm norm_on(const Device& device) {
  nn::BatchNorm norm = nn::BatchNormConfig{.channels = 2}.init(device);
  norm.weight = nn::Param<1>(Tensor<1>::of({2, -0.5}, device));
  norm.bias = nn::Param<1>(Tensor<1>::of({0.25, 1}, device));
  return norm;
}

/// Rows `begin` to `end` of a batch [5, 2, 3], through the norm, and what a loss of all elements says.
Found through(const nn::BatchNorm& norm, std::int64_t begin, std::int64_t end, const Device& device, DType dtype) {
  std::vector<float> numbers, slopes;
  for (int i = 0; i < 30; ++i) {
    numbers.push_back(100 + static_cast<float>(std::sin(7 * i)));  // far from 0
    slopes.push_back(static_cast<float>(std::cos(5 * i)));
  }
  const auto part = [&](const std::vector<float>& of) {
    return Tensor<3>::of(std::vector<float>(of.begin() + begin * 6, of.begin() + end * 6), {end - begin, 2, 3}, device)
        .to(dtype);
  };
  const auto x = part(numbers).require_grad();
  const auto y = norm.forward(x);
  const auto grads = backward((y * part(slopes)).sum().value());
  const auto floats = [](const Value& value) { return value.data().to(DType::F32).to_vector<float>(); };
  return {floats(y.value()),
          floats(grads.of(x.value())),
          floats(grads.of(norm.weight.value())),
          floats(grads.of(norm.bias.value())),
          floats(norm.running_mean.value()),
          floats(norm.running_var.value())};
}

void expect_near(const std::vector<float>& found, const std::vector<float>& right, double tolerance) {
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], right[i], tolerance) << i;
}

void compare(const std::vector<std::int64_t>& ends, DType dtype, double tolerance) {
  const Device one = another(Device::cpu()).autodiff();
  const Found whole = through(norm_on(one), 0, 5, one, dtype);
  std::vector<Device> devices;
  for (std::size_t i = 0; i < ends.size(); ++i) devices.push_back(another(Device::cpu()).autodiff());
  std::vector<Found> parts(ends.size());
  on_each(devices, [&](const Ranks& ranks, const Device& device) {
    const auto rank = static_cast<std::size_t>(ranks->rank());
    parts[rank] =
        through(nn::sync_batch_norm(norm_on(device), ranks), rank ? ends[rank - 1] : 0, ends[rank], device, dtype);
  });
  Found all;
  for (const Found& part : parts) {
    all.y.insert(all.y.end(), part.y.begin(), part.y.end());
    all.x_grad.insert(all.x_grad.end(), part.x_grad.begin(), part.x_grad.end());
    all.weight_grad.resize(2);
    all.bias_grad.resize(2);
    for (std::size_t i = 0; i < 2; ++i) {
      all.weight_grad[i] += part.weight_grad[i];
      all.bias_grad[i] += part.bias_grad[i];
    }
    expect_near(part.mean, whole.mean, 1e-5 * 100);
    expect_near(part.variance, whole.variance, 1e-4);
    EXPECT_EQ(part.mean, parts[0].mean);
    EXPECT_EQ(part.variance, parts[0].variance);
  }
  expect_near(all.y, whole.y, tolerance);
  expect_near(all.x_grad, whole.x_grad, tolerance);
  expect_near(all.weight_grad, whole.weight_grad, 4 * tolerance);
  expect_near(all.bias_grad, whole.bias_grad, 4 * tolerance);
}

TEST(SyncBatchNorm, IsBatchNormOfTheWholeBatch) {
  compare({3, 5}, DType::F32, 1e-4);  // 3 and 2 rows
  compare({1, 4, 5}, DType::F32, 1e-4);
  compare({5}, DType::F32, 0);
  compare({2, 5}, DType::F16, 4e-2);
}

TEST(SyncBatchNorm, IsPutIntoAModelWhereverItHasBatchNorm) {
  const Device device = Device::cpu();
  nn::Sequential model(nn::LinearConfig{.in = 2, .out = 2}.init(device), norm_on(device));
  const auto ranks = thread_ranks(2);
  model = nn::sync_batch_norm(std::move(model), ranks[1]);
  EXPECT_EQ(*std::get<1>(model.layers()).ranks, ranks[1]);
  EXPECT_EQ(sentence_of([&] { return nn::sync_batch_norm(model, nullptr), 0; }),
            "ArgumentError: sync_batch_norm: no communicator was given");
  EXPECT_EQ(*norm_on(device).ranks, nullptr);
  const auto none = Tensor<2>(zeros({0, 2}, device));
  EXPECT_EQ(sentence_of([&] { return std::get<1>(model.layers()).forward(none); }),
            "ShapeError: BatchNorm: this rank's part of the batch, [0, 2], has no elements");
}

}  // namespace
}  // namespace kiln
