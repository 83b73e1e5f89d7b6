// Normalisations and embeddings as a user writes them.
#include "kiln/tensor/normalization.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/embedding.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;

/// The mean of all elements, and of their squares.
template <int D>
std::pair<double, double> moments(const Tensor<D>& x) {
  return {x.mean().item(), x.square().mean().item()};
}

TEST(NormTensors, HaveMeanZeroAndVarianceOne) {
  const auto x = randn({4, 6, 5}, best_autodiff(), Key{1}) * 3 + 7;
  const Tensor<1> none;
  const auto trained = batch_norm_training(x, zeros({6}, best_autodiff()), ones({6}, best_autodiff()));
  for (const Tensor<3>& y :
       {trained.output, group_norm(x, 3), instance_norm(x), layer_norm(x), batch_norm_training(x, none, none).output}) {
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_NEAR(moments(y).first, 0, 1e-5);
    EXPECT_NEAR(moments(y).second, 1, 1e-3);
  }
  EXPECT_NEAR(moments(rms_norm(x)).second, 1, 1e-4);
  EXPECT_NEAR(moments(rms_norm(x, full({5}, 2, best_autodiff()))).second, 4, 1e-3);
  const auto weight = ones({5}, best_autodiff());
  EXPECT_NEAR(moments(layer_norm(x, weight, weight)).first, 1, 1e-5);
}

TEST(NormTensors, MoveRunningStatisticsThatInferenceUses) {
  const auto x = randn({64, 2}, best_autodiff(), Key{2}) * 3 + 7;
  Tensor<1> running_mean = zeros({2}, best_autodiff()), running_variance = ones({2}, best_autodiff());
  for (int step = 0; step < 60; ++step) {
    const auto normed = batch_norm_training(x, running_mean, running_variance, {}, {}, {.momentum = 0.2});
    running_mean = normed.running_mean;
    running_variance = normed.running_variance;
  }
  const Tensor<2> y = batch_norm(x, running_mean, running_variance);
  EXPECT_NEAR(moments(y).first, 0, 1e-3);
  EXPECT_NEAR(moments(y).second, 63.0 / 64, 1e-3);
}

TEST(NormTensors, DampenBesideStrongChannels) {
  const auto x = full({1, 3, 2}, 2, best_autodiff());
  EXPECT_NEAR(local_response_norm(x, {.size = 3, .alpha = 3, .beta = 0.5, .k = 1}).to_vector()[2], 2 / std::sqrt(13.0),
              1e-6);
}

TEST(NormTensors, DropElements) {
  EXPECT_EQ(dropout(ones({8}, best_autodiff()), 0).to_vector(), std::vector<float>(8, 1));
}

TEST(EmbeddingTensors, LookUpRowsAndBags) {
  const auto table = Tensor<2>::of({{1, 2}, {3, 4}, {5, 6}}, best_autodiff()).require_grad();
  const auto indices = Tensor<2, Int>::of({{0, 2}, {1, 1}}, best_autodiff());
  EXPECT_EQ(embedding(table, indices).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(embedding_bag(table, indices).to_vector(), (std::vector<float>{6, 8, 6, 8}));
  EXPECT_EQ(embedding_bag(table, indices, {.mode = BagMode::Max}).to_vector(), (std::vector<float>{5, 6, 3, 4}));
  const auto list = Tensor<1, Int>::of({0, 2, 1}, best_autodiff()),
             offsets = Tensor<1, Int>::of({0, 0, 2}, best_autodiff());
  EXPECT_EQ(embedding_bag(table, list, offsets, {.mode = BagMode::Mean}).to_vector(),
            (std::vector<float>{0, 0, 3, 4, 3, 4}));
}

TEST(LinearTensors, MultiplyByTheTransposedWeight) {
  const auto x = Tensor<1>::of({1, 2}, best_autodiff());
  const auto weight = Tensor<2>::of({{1, 0}, {0, 1}, {1, 1}}, best_autodiff());
  EXPECT_EQ(linear(x, weight).to_vector(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(linear(x.unsqueeze(0), weight, ones({3}, best_autodiff())).to_vector(), (std::vector<float>{2, 3, 4}));
}

}  // namespace
}  // namespace kiln
