#include <cmath>

#include "kiln/ops/norm/channel_norm_ops.hpp"

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

/// Mean, variance and the gradient's two means of the elements at `places`; writes their results and gradients.
void normalise(const std::vector<std::size_t>& places, const std::vector<double>& x, const std::vector<double>& slopes,
               std::vector<double>& normal, std::vector<double>& gradient) {
  const auto count = static_cast<double>(places.size());
  double mean = 0, variance = 0, mean_slope = 0, mean_product = 0;
  for (const std::size_t i : places) mean += x[i] / count;
  for (const std::size_t i : places) variance += (x[i] - mean) * (x[i] - mean) / count;
  const double inverse = 1 / std::sqrt(variance + 1e-3);
  for (const std::size_t i : places) {
    normal[i] = (x[i] - mean) * inverse;
    mean_slope += slopes[i] / count;
    mean_product += slopes[i] * normal[i] / count;
  }
  for (const std::size_t i : places) gradient[i] = inverse * (slopes[i] - mean_slope - normal[i] * mean_product);
}

struct Case {
  std::int64_t batch, channels, inner, groups;  // groups 0: over the batch
  Dims order;                                   // of memory
};

TEST(SimdChannelNorm, NormalisesAndSplitsGradientsOnEveryTarget) {
  const Case cases[] = {{3, 5, 40, 0, {0, 1, 2}},   {3, 5, 40, 0, {0, 2, 1}},  {70, 37, 1, 0, {0, 1, 2}},
                        {2, 3, 5000, 0, {0, 1, 2}}, {3, 6, 40, 2, {0, 1, 2}},  {30, 37, 1, 1, {0, 1, 2}},
                        {2, 4, 3000, 2, {0, 2, 1}}, {2, 70, 400, 0, {0, 2, 1}}};
  for_each_target([&] {
    for (const auto& [batch, channels, inner, groups, order] : cases) {
      const Shape shape{batch, channels, inner};
      const std::int64_t count = numel(shape);
      std::vector<double> drawn = random_numbers(count, 3, 6, 1);
      for (std::size_t i = 0; i < drawn.size(); ++i)  // statistics of parts differ
        drawn[i] += static_cast<double>(static_cast<std::int64_t>(i) / (channels * inner) % 3);
      const auto x = rounded(DType::F32, drawn), g = rounded(DType::F32, random_numbers(count, -1, 1, 2)),
                 weight = rounded(DType::F32, random_numbers(channels, 0.5, 2, 3)),
                 bias = rounded(DType::F32, random_numbers(channels, -1, 1, 4));
      const auto channel = [&, c = channels, n = inner](std::size_t i) {
        return static_cast<std::size_t>(static_cast<std::int64_t>(i) / n % c);
      };
      std::vector<std::vector<std::size_t>> sets(static_cast<std::size_t>(groups ? batch * groups : channels));
      std::vector<double> slopes(x.size()), normal(x.size()), gradient(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto example = static_cast<std::int64_t>(i) / (channels * inner),
                   c = static_cast<std::int64_t>(channel(i));
        sets[static_cast<std::size_t>(groups ? example * groups + c / (channels / groups) : c)].push_back(i);
        slopes[i] = g[i] * weight[channel(i)];
      }
      for (const auto& set : sets) normalise(set, x, slopes, normal, gradient);
      std::vector<double> output(x.size()), dweight(weight.size()), dbias(weight.size()), mean(weight.size()),
          variance(weight.size());
      const double share = 1 / static_cast<double>(batch * inner);
      for (std::size_t i = 0; i < x.size(); ++i) {
        output[i] = normal[i] * weight[channel(i)] + bias[channel(i)];
        dweight[channel(i)] += g[i] * normal[i];
        dbias[channel(i)] += g[i];
        mean[channel(i)] += x[i] * share;
      }
      for (std::size_t i = 0; i < x.size(); ++i)
        variance[channel(i)] += (x[i] - mean[channel(i)]) * (x[i] - mean[channel(i)]) * share;

      const auto like_x = [&](const std::vector<double>& numbers) { return tensor(DType::F32, shape, numbers, order); };
      const auto per_channel = [&](const std::vector<double>& numbers) {
        return tensor(DType::F32, {static_cast<std::int64_t>(numbers.size())}, numbers);
      };
      const std::vector<Value> in{like_x(x), per_channel(weight), per_channel(bias), Value(1e-3)};
      const auto check = [&](const auto& forward, int results, const auto& backward, std::vector<Value> operands) {
        expect_close(numbers(run_op(forward, in, results, 0)), output, 1e-5, 1e-5);
        expect_close(numbers(run_op(backward, operands, 3, 0)), gradient, 1e-4, 1e-5);
        expect_close(numbers(run_op(backward, operands, 3, 1)), dweight, 1e-4, 1e-3);
        expect_close(numbers(run_op(backward, operands, 3, 2)), dbias, 1e-4, 1e-3);
      };
      if (groups) {
        check(op::GroupNorm{groups}, 1, op::GroupNormGrad{groups},
              {like_x(x), per_channel(weight), Value(1e-3), like_x(g)});
      } else {
        expect_close(numbers(run_op(op::BatchNorm{}, in, 3, 1)), mean, 1e-6);
        expect_close(numbers(run_op(op::BatchNorm{}, in, 3, 2)), variance, 1e-5);
        check(op::BatchNorm{}, 3, op::BatchNormGrad{},
              {like_x(x), per_channel(weight), Value(1e-3), per_channel(mean), per_channel(variance), like_x(g)});
      }
    }
  });
}

}  // namespace
}  // namespace kiln::cpu::simd
