// What padding hides reaches neither the outputs that somebody reads nor a gradient: NaN and infinities behind the end of a
// sequence against zeros there, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/nn/attention/attention.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/nn/transformer/transformer.hpp"

#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::cpu;

constexpr std::int64_t kBatch = 2, kTime = 5, kWidth = 8;

/// Row 0 has all 5 moments, row 1 the first 3.
Tensor<2, Bool> padding() {
  const Value there =
      from_data(TensorData::of<double>({kBatch, kTime}, std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}), cpu);
  return Tensor<2, Bool>(cast(there, DType::Bool));
}
Tensor<3> sequence(double hidden) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < kBatch * kTime * kWidth; ++i)
    numbers.push_back(i / kWidth >= 8 ? hidden : std::sin(0.7 * static_cast<double>(i)));
  return Tensor<3>(from_data(TensorData::of<double>({kBatch, kTime, kWidth}, numbers).to(DType::F32), cpu));
}
/// The sum of what somebody reads, each times a number of its own.
Tensor<0> read(const Tensor<3>& y) {
  const Value there = unsqueeze(padding().value(), 2);
  const Value numbers =
      reshape(arange(0.0, static_cast<double>(y.numel()), 1.0, y.device().inner(), DType::F32), y.shape());
  return Tensor<0>(sum(where(there, y.value() * cos(numbers), 0.0)));
}

template <class M, class F>
void expect_hidden(const M& model, F&& outputs, const std::string& what) {
  const auto made = [&](double hidden) {
    const auto result = value_and_grad(model, [&](const M& m) { return read(outputs(m, sequence(hidden))); });
    std::vector<std::pair<std::string, std::vector<double>>> all{
        {"loss", result.loss.data().template to_vector<double>()}};
    for (const auto& [path, grad] : result.grads.by_path)
      all.emplace_back(path, grad.data().template to_vector<double>());
    return all;
  };
  const auto right = made(0);
  EXPECT_GT(right.size(), 4u) << what;
  for (const double hidden : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto found = made(hidden);
    ASSERT_EQ(found.size(), right.size()) << what;
    for (std::size_t i = 0; i < right.size(); ++i)
      EXPECT_EQ(found[i], right[i]) << what << ", " << right[i].first << ", " << hidden;
  }
}

TEST(HiddenByPadding, ReachesNothingOfAttention) {
  cpu.seed(11);
  const nn::MultiHeadAttention m = nn::MultiHeadAttentionConfig{.width = kWidth, .heads = 2}.init(test::autodiff);
  for (const bool causal : {false, true})
    expect_hidden(
        m,
        [&](const nn::MultiHeadAttention& each, const Tensor<3>& x) {
          return each.forward(x, {.causal = causal, .padding = padding()});
        },
        causal ? "causal" : "whole");
  expect_hidden(
      m,
      [&](const nn::MultiHeadAttention& each, const Tensor<3>& context) {
        return each.forward(sequence(0.5), context, {.padding = padding()});
      },
      "of a context");
}

TEST(HiddenByPadding, ReachesNothingOfATransformer) {
  cpu.seed(12);
  for (const bool first : {false, true}) {
    const nn::TransformerEncoder encoder =
        nn::TransformerEncoderConfig{
            .layer = {.width = kWidth, .heads = 2, .hidden = 16, .dropout = 0, .norm_first = first}, .layers = 2}
            .init(test::autodiff);
    expect_hidden(
        encoder,
        [](const nn::TransformerEncoder& each, const Tensor<3>& x) { return each.forward(x, {.padding = padding()}); },
        "encoder");
    const nn::TransformerDecoder decoder =
        nn::TransformerDecoderConfig{
            .layer = {.width = kWidth, .heads = 2, .hidden = 16, .dropout = 0, .norm_first = first}, .layers = 1}
            .init(test::autodiff);
    expect_hidden(
        decoder,
        [](const nn::TransformerDecoder& each, const Tensor<3>& x) {
          return each.forward(x, x, {.self = {.causal = true, .padding = padding()}, .cross = {.padding = padding()}});
        },
        "decoder");
  }
}

}  // namespace
}  // namespace kiln
