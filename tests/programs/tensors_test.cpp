// A first program: make tensors, compute, index, read.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

using namespace kiln;

TEST(Tensors, AreMadeComputedIndexedAndRead) {
  const Device device = Device::best();                    // or Device::cpu(), Device::parse("reference")
  auto a = Tensor<2>::of({{1, 2, 3}, {4, 5, 6}}, device);  // float32 [2, 3]
  auto i = arange(6, device);                              // Tensor<1, Int>
  auto b = i.reshape(3, 2).to_float();                     // the number of arguments is the rank: Tensor<2>
  auto c = a.matmul(b) * 2 - 1;                            // scalars on either side
  EXPECT_EQ(fmt::format("{}\n{}", c, c.shape()),
            "[[31. 43.]\n"
            " [67. 97.]]\n"
            "[2, 2]");

  Tensor<1> row = a(0);                // an integer drops a dimension, at compile time
  Tensor<2> cut = a(s(), s(-2, end));  // Python's slices: s(from, to, step)
  Tensor<2> set = a.assign(zeros({2, 2}, device), s(), s(0, 2));
  Tensor<2, Bool> big = a > 3;
  Tensor<1> picked = a.mask_select(big);
  auto [values, indices] = a.topk(2, /*dim=*/-1);
  auto [rows, cols] = a.dims();
  EXPECT_EQ(to_text(row), "[1. 2. 3.]");
  EXPECT_EQ(to_text(cut), "[[2. 3.]\n [5. 6.]]");
  EXPECT_EQ(to_text(set), "[[0. 0. 3.]\n [0. 0. 6.]]");
  EXPECT_EQ(to_text(big), "[[false false false]\n [ true  true  true]]");
  EXPECT_EQ(to_text(picked), "[4. 5. 6.]");
  EXPECT_EQ(to_text(values), "[[3. 2.]\n [6. 5.]]");
  EXPECT_EQ(to_text(indices), "[[2 1]\n [2 1]]");
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(cols, 3);

  float mean = a.mean().item();  // rank 0, then a number: what waits for the device
  std::vector<float> numbers = a.to_vector<float>();
  EXPECT_EQ(mean, 3.5f);
  EXPECT_EQ(numbers, (std::vector<float>{1, 2, 3, 4, 5, 6}));

  Value any(a);         // rank and kind at run time
  Tensor<2> back(any);  // or an error that says what it is
  EXPECT_EQ(back.to_vector(), numbers);
}

TEST(Tensors, OfNoDimensionsComeFromEmptyBraces) {
  const Device device = Device::best();
  const Tensor<0> zero = zeros({}, device), one = ones({}, device), half = full({}, 0.5, device);
  const Tensor<0, Int> seven = full<Int>({}, 7, device);
  EXPECT_EQ((zero + one + half).item(), 1.5f);
  EXPECT_EQ(seven.item(), 7);
  const Tensor<0> drawn = uniform({}, 2, 3, device, Key{1});
  EXPECT_TRUE(drawn.item() >= 2 && drawn.item() < 3);
}

TEST(Tensors, AreDividedByTensorsRounded) {
  const auto x = Tensor<1, Int>::of({-7, 7, -8}, Device::best()), y = Tensor<1, Int>::of({2, -2, 3}, Device::best());
  EXPECT_EQ(div(x, y, Rounding::Floor).to_vector(), (std::vector<std::int64_t>{-4, -4, -3}));
  EXPECT_EQ(div(x, y, Rounding::Trunc).to_vector(), (std::vector<std::int64_t>{-3, -3, -2}));
}

// Where more than a stride is added, zeros follow what x reaches, and what padding took off comes back first.
TEST(Tensors, ArePaddedBehindTransposedConvolutions) {
  const Device device = Device::best();
  const auto x = Tensor<3>::ones({1, 1, 5}, device), weight = Tensor<3>::ones({1, 1, 3}, device);
  EXPECT_EQ(conv_transpose(x, weight, {}, {.dilation = {2}}, {1}).to_vector(),
            (std::vector<float>{1, 1, 2, 2, 3, 2, 2, 1, 1, 0}));
  EXPECT_EQ(conv_transpose(x, weight, {}, {.padding = {1}, .dilation = {2}}, {1}).to_vector(),
            (std::vector<float>{1, 2, 2, 3, 2, 2, 1, 1}));
  EXPECT_THROW((void)conv_transpose(x, weight, {}, {.dilation = {2}}, {2}), ArgumentError);
}
