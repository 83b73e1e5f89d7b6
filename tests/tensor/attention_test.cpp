// Attention, its masks and positions as a user writes them.
#include "kiln/tensor/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"

namespace kiln {
namespace {

Device device() { return Device::best().autodiff(); }

TEST(AttentionTensors, AttendWithMasksAndBiases) {
  const auto q = ones({1, 2, 3, 4}, device()).require_grad();
  const auto k = ones({1, 1, 3, 4}, device()), v = ones({1, 1, 3, 2}, device()) * 2;
  const Tensor<4> plain = attention(q, k, v);
  EXPECT_EQ(plain.shape(), (Shape{1, 2, 3, 2}));
  EXPECT_EQ(plain.to_vector(), std::vector<float>(12, 2));
  EXPECT_EQ(attention(q, k, v, {.causal = true}, causal_mask(3, 3, device())).to_vector(), std::vector<float>(12, 2));
  const Tensor<4> biased = attention(q, k, v, {.softcap = 5}, {}, alibi_bias(2, 3, 3, device()));
  EXPECT_TRUE(biased.sum().backward().find(q).has_value());
}

TEST(AttentionTensors, DecodeWithACacheOfKeysAsTheyEncodeAtOnce) {
  const auto q = randn({1, 2, 5, 4}, device(), Key{1}), k = randn({1, 2, 5, 4}, device(), Key{2});
  const auto v = randn({1, 2, 5, 4}, device(), Key{3});
  const Tensor<4> whole = attention(q, k, v, {.causal = true});
  const Tensor<4> last = attention(Tensor<4>(narrow(q, 2, 4, 1)), k, v, {.causal = true});
  const auto expected = Tensor<4>(narrow(whole, 2, 4, 1)).to_vector(), found = last.to_vector();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

TEST(AttentionTensors, MaskPaddingAndDistance) {
  const auto lengths = Tensor<1, Int>::of({1, 2}, device());
  EXPECT_EQ(padding_mask(lengths, 2).to_vector(), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(window_mask(2, 2, 1, false, device()).to_vector(), (std::vector<bool>{true, false, false, true}));
}

TEST(AttentionTensors, TellPositionsApart) {
  const auto [cosine, sine] = rotary_tables(arange(4, device()), 6);
  const Tensor<4> x = ones({1, 2, 4, 6}, device());
  const Tensor<4> turned = rotary(x, cosine, sine), neighbours = rotary(x, cosine, sine, RotaryPairs::Neighbours);
  EXPECT_EQ(turned.shape(), x.shape());
  // A turn keeps lengths.
  for (const Tensor<4>& y : {turned, neighbours}) EXPECT_NEAR(y.square().sum().item(), 48, 1e-4);
  const Tensor<2> waves = sinusoidal_positions(3, 4, device());
  EXPECT_NEAR(waves.to_vector()[4], std::sin(1.0), 1e-6);
}

}  // namespace
}  // namespace kiln
