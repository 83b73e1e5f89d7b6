// The transforms of signals, called on tensors: their ranks, and that there is a way back.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/signal.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best;

template <int D>
void expect_near(const Tensor<D>& found, const Tensor<D>& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_LT((found - expected).abs().max().item(), 1e-5);
}

TEST(Transform, EachHasAnInverse) {
  const Tensor<4> z = randn({2, 3, 5, 2}, best(), Key{1});
  expect_near(ifft(fft(z)), z);
  expect_near(ifft2(fft2(z)), z);
  expect_near(ifftn(fftn(z)), z);
  const Tensor<3> x = randn({2, 4, 6}, best(), Key{2});
  const Tensor<4> spectrum = rfft2(x);
  EXPECT_EQ(spectrum.shape(), (Shape{2, 4, 4, 2}));
  expect_near(irfft2(spectrum), x);
  expect_near(irfftn(rfftn(x)), x);
  expect_near(idct(dct(x)), x);
}

TEST(Transform, OfAnImpulseIsFlat) {
  const auto impulse = Tensor<2>::of({{1, 0}, {0, 0}, {0, 0}}, best());
  expect_near(fft(impulse, {.dim = 0}), Tensor<2>::of({{1, 0}, {1, 0}, {1, 0}}, best()));
}

TEST(Transform, HilbertKeepsTheSignalAsItsRealPart) {
  const Tensor<1> x = randn({8}, best(), Key{3});
  const Tensor<2> analytic = hilbert(x);
  expect_near(real(analytic), x);
}

}  // namespace
}  // namespace kiln
