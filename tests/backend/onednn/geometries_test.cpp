// A sample of what bin/sweep_onednn compares, and every kind of geometry that some version of oneDNN got wrong. ctest runs
// it under several instruction sets, each of which has kernels of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kiln/backend/cpu/kernel.hpp"

#include "tests/backend/onednn/agreement.hpp"

namespace kiln::cpu::onednn {
namespace {

/// Before anything asks for memory.
[[maybe_unused]] const int kPoisoned = ::setenv("KILN_POISON", "1", 1);

constexpr Pass kPasses[] = {Pass::Forward, Pass::Data, Pass::Weight};
constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F16};

void expect_right(const Finding& finding, const char* what, Pass pass, DType dtype, const Geometry& g) {
  EXPECT_FALSE(finding.failed()) << what << ' ' << name(pass) << ' ' << text(dtype) << ": " << name(finding.what)
                                 << " by " << finding.error << ' ' << finding.implementation << ' ' << describe(g);
}

/// All of it: primitives and kernels, passes and types. `variant` chooses among biases, orders and places in memory.
void expect_right(const Geometry& g, std::uint64_t variant, bool kernels = true) {
  const Truth truth(g, variant);
  const bool bias = variant % 3 == 0, plain = variant % 8 < 4;
  for (const Pass pass : kPasses)
    for (const DType dtype : kTypes) {
      if (dtype != DType::F16)
        expect_right(check_primitive(g, truth, pass, dtype, bias, static_cast<std::int64_t>(variant % 37)), "primitive",
                     pass, dtype, g);
      if (kernels) expect_right(check_kernel(g, truth, pass, dtype, bias, plain), "kernel", pass, dtype, g);
    }
}

TEST(OneDnnGeometries, ThatWereWrongAreRight) {
  const char* const kWrong[] = {
      // a window wider than x
      "n=1 ic=32 oc=64 g=1 x=7x7 k=5x5 s=1x1 p=4x4 q=4x4 d=2x2",
      "n=1 ic=32 oc=64 g=1 x=8x7 k=5x5 s=1x1 p=4x4 q=4x4 d=2x2",
      "n=1 ic=32 oc=64 g=1 x=1x11 k=1x7 s=1x1 p=0x6 q=0x6 d=1x2",
      "n=1 ic=64 oc=64 g=1 x=60x7 k=3x5 s=1x1 p=1x4 q=1x4 d=1x2",
      "n=1 ic=64 oc=64 g=2 x=7x7 k=5x5 s=1x1 p=4x4 q=4x4 d=2x2",
      "n=1 ic=32 oc=64 g=1 x=9 k=6 s=1 p=4 q=4 d=2",
      // a window as large as x, or a stride that passes over some of it
      "n=1 ic=4 oc=56 g=1 x=8x14 k=4x4 s=7x7 p=3x3 q=3x3 d=2x2",
      "n=3 ic=1 oc=32 g=1 x=7x4 k=5x6 s=1x3 p=2x2 q=2x2 d=1x1",
      "n=3 ic=7 oc=56 g=7 x=31x7 k=4x7 s=1x4 p=1x2 q=1x0 d=1x1",
      // pixels behind the only window
      "n=3 ic=12 oc=32 g=1 x=15x6 k=3x5 s=1x2 p=0x0 q=0x0 d=1x1",
      "n=3 ic=33 oc=3 g=1 x=11x3 k=2x2 s=2x2 p=0x0 q=0x0 d=1x1",
      // dilated windows that stick out on both sides
      "n=2 ic=24 oc=48 g=1 x=2x11 k=4x7 s=1x1 p=4x11 q=4x11 d=3x5",
      "n=1 ic=14 oc=56 g=1 x=5x2x2 k=2x2x2 s=1x1x1 p=2x2x2 q=2x2x2 d=4x4x4",
      // a stride larger than the row; long rows with pixels behind the last window
      "n=1 ic=29 oc=24 g=1 x=1x1 k=3x3 s=2x2 p=1x1 q=1x1 d=1x1",
      "n=2 ic=43 oc=56 g=1 x=3x95 k=2x3 s=2x1 p=0x0 q=0x0 d=1x1",
      "n=2 ic=48 oc=4 g=1 x=125 k=4 s=2 p=0 q=0 d=1",
      // volumes that no window sees whole
      "n=1 ic=64 oc=1 g=1 x=4x10x39 k=3x3x3 s=3x3x3 p=0x0x0 q=0x0x0 d=1x1x1",
      // an odd number of channels under a large kernel
      "n=1 ic=45 oc=45 g=1 x=5x5x5 k=5x5x5 s=1x1x1 p=0x0x0 q=0x0x0 d=1x1x1",
      // wide paddings and strides
      "n=1 ic=16 oc=16 g=1 x=1x59 k=1x7 s=1x2 p=0x15 q=0x15 d=1x5",
      "n=1 ic=40 oc=16 g=1 x=3x63 k=1x7 s=1x3 p=0x24 q=0x24 d=1x4",
      "n=2 ic=24 oc=14 g=1 x=6x33 k=3x7 s=1x2 p=1x24 q=1x24 d=1x4",
      // strided 1 x 1 of few channels
      "n=1 ic=7 oc=64 g=1 x=20x10 k=1x1 s=2x2 p=0x0 q=0x0 d=1x1",
      "n=1 ic=1 oc=16 g=1 x=9x4 k=1x1 s=1x2 p=0x0 q=0x0 d=1x1",
      "n=1 ic=8 oc=16 g=1 x=37x38 k=1x1 s=1x2 p=0x0 q=0x0 d=1x2",
      "n=2 ic=1 oc=4 g=1 x=8x13 k=1x1 s=2x1 p=0x0 q=0x0 d=1x2",
      // 1 x 1
      "n=1 ic=16 oc=37 g=1 x=6x5 k=1x1 s=1x1 p=0x0 q=0x0 d=1x1",
      "n=1 ic=3 oc=37 g=1 x=8x37 k=1x1 s=2x1 p=0x0 q=0x0 d=1x2",
      "n=2 ic=32 oc=32 g=2 x=6x5 k=1x1 s=1x1 p=0x0 q=0x0 d=1x1",
      // no window inside a volume
      "n=1 ic=16 oc=16 g=2 x=5x6x11 k=7x6x2 s=2x4x5 p=3x2x1 q=3x2x1 d=1x1x1",
      "n=1 ic=24 oc=16 g=1 x=3x4x4 k=3x2x2 s=2x2x1 p=1x1x1 q=1x1x1 d=1x1x1",
      "n=1 ic=16 oc=16 g=1 x=7x3x6 k=7x1x2 s=2x1x1 p=3x0x1 q=3x0x1 d=1x1x1",
      "n=1 ic=32 oc=16 g=1 x=3x1x7 k=2x7x3 s=1x1x1 p=1x3x1 q=1x3x1 d=1x1x1",
      // a stride beyond the row
      "n=4 ic=16 oc=24 g=1 x=1x1 k=3x3 s=2x2 p=1x1 q=1x1 d=1x1",
      "n=3 ic=4 oc=32 g=1 x=1 k=4 s=4 p=2 q=2 d=1",
      "n=3 ic=32 oc=8 g=8 x=29x2 k=5x2 s=1x3 p=7x1 q=7x0 d=5x1",
      // dilated rows
      "n=4 ic=8 oc=8 g=8 x=32x32 k=3x3 s=1x1 p=2x2 q=2x2 d=2x2",
      "n=3 ic=32 oc=32 g=32 x=40x40 k=1x1 s=1x1 p=0x0 q=0x0 d=2x2",
      "n=1 ic=24 oc=15 g=1 x=5x36 k=2x3 s=1x1 p=0x2 q=0x2 d=2x1",
      "n=2 ic=40 oc=64 g=1 x=5x5 k=1x1 s=1x1 p=0x0 q=0x0 d=2x2",
      "n=1 ic=41 oc=41 g=1 x=9x6 k=3x3 s=1x1 p=1x1 q=1x1 d=3x3",
      // pixels between the windows or behind the last
      "n=1 ic=16 oc=32 g=1 x=39x39 k=2x2 s=7x7 p=0x0 q=2x2 d=1x1",
      "n=2 ic=48 oc=32 g=1 x=8x8x12 k=3x3x3 s=5x5x5 p=0x0x0 q=0x0x0 d=1x1x1",
      "n=1 ic=19 oc=2 g=1 x=15x31x13 k=3x1x3 s=2x2x2 p=0x0x0 q=0x0x0 d=1x1x1",
      "n=1 ic=4 oc=56 g=1 x=8x14 k=4x4 s=7x7 p=3x3 q=3x3 d=2x2",
      "n=1 ic=14 oc=56 g=1 x=7x8x21 k=2x1x1 s=2x2x2 p=0x0x0 q=0x0x0 d=1x1x1",
      "n=1 ic=13 oc=24 g=1 x=14x12x23 k=3x3x4 s=2x2x2 p=0x0x0 q=0x0x0 d=1x1x1",
      // windows of nothing but padding
      "n=1 ic=28 oc=4 g=1 x=2x3x17 k=2x5x5 s=1x2x1 p=3x0x5 q=3x2x5 d=3x1x2",
      "n=1 ic=64 oc=8 g=1 x=4x5x22 k=2x2x2 s=1x1x1 p=1x1x1 q=0x0x0 d=4x4x4",
      "n=2 ic=48 oc=4 g=1 x=24 k=7 s=1 p=30 q=30 d=5",
      // windows that lie behind x, or reach far beyond it on one side
      "n=2 ic=32 oc=64 g=1 x=9 k=6 s=1 p=0 q=5 d=1",
      "n=1 ic=32 oc=64 g=1 x=17x3 k=3x3 s=2x1 p=1x0 q=5x0 d=1x1",
      "n=1 ic=8 oc=16 g=1 x=3x4x3 k=3x3x4 s=2x2x2 p=2x2x2 q=3x3x3 d=1x1x1",
      "n=1 ic=24 oc=24 g=1 x=7x6 k=3x4 s=2x2 p=1x1 q=3x3 d=1x1",
      // volumes: kernels of 1, and dilated rows
      "n=2 ic=1 oc=24 g=1 x=18x6x34 k=1x1x1 s=1x1x1 p=0x0x0 q=0x0x0 d=1x1x1",
      "n=1 ic=24 oc=50 g=1 x=7x2x38 k=1x1x1 s=2x2x2 p=0x0x0 q=0x0x0 d=1x1x1",
      "n=1 ic=64 oc=1 g=1 x=4x7x25 k=2x4x1 s=1x2x1 p=1x1x0 q=1x1x0 d=1x1x2",
      "n=1 ic=40 oc=14 g=1 x=14x8x18 k=2x1x3 s=2x7x1 p=1x0x3 q=1x0x3 d=1x1x3",
      // 1 x 1 of channels that fill no vectors
      "n=3 ic=52 oc=69 g=1 x=5 k=1 s=1 p=0 q=0 d=2",
  };
  std::uint64_t variant = 0;
  for (const char* const wrong : kWrong)
    for (int i = 0; i < 2; ++i) expect_right(geometry(wrong), variant += 7);
}

class OneDnnRandomGeometries : public testing::TestWithParam<std::uint64_t> {};

TEST_P(OneDnnRandomGeometries, AreRight) {
  constexpr std::uint64_t kEach = 50;
  for (std::uint64_t i = GetParam() * kEach; i < (GetParam() + 1) * kEach; ++i)
    expect_right(draw_geometry(2, i), i, i % 4 == 0);
}

INSTANTIATE_TEST_SUITE_P(Fifty, OneDnnRandomGeometries, testing::Range(std::uint64_t{0}, std::uint64_t{24}));

TEST(OneDnnGeometries, OfProductsAreRight) {
  for (std::uint64_t i = 0; i < 100; ++i)
    for (const DType dtype : {DType::BF16, DType::F16}) {
      std::string sizes;
      const Finding finding = check_matmul(2, i, dtype, sizes);
      EXPECT_FALSE(finding.failed()) << text(dtype) << ' ' << sizes << ": " << name(finding.what);
    }
}

// What follows is about the comparison itself.

TEST(OneDnnGeometries, AreHeldAgainstWhatThePlainKernelsGiveInFloat64) {
  for (std::uint64_t i = 0; i < 150; ++i) {
    const Geometry g = draw_geometry(3, i);
    if (g.batch * g.cost() > 500'000) continue;
    const Truth truth(g, i);
    for (const Pass pass : kPasses)
      EXPECT_EQ(check_reference(g, truth, pass, i % 3 == 0).what, Finding::What::Right) << name(pass) << describe(g);
  }
}

TEST(OneDnnGeometries, AreFoundToBeWrongByOneNumber) {
  const Geometry g = geometry("n=2 ic=16 oc=16 g=1 x=9x9 k=3x3 s=1x1 p=1x1 q=1x1 d=1x1");
  Truth truth(g, 1);
  for (std::vector<float>* const numbers : {&truth.forward, &truth.data_grad, &truth.weight_grad}) {
    float& number = (*numbers)[numbers->size() - 3];
    number = number == 0 ? 1 : number * 1.02f;
  }
  for (const Pass pass : kPasses)
    for (const DType dtype : kTypes) {
      EXPECT_EQ(check_kernel(g, truth, pass, dtype, false, false).what, Finding::What::Wrong) << name(pass);
      const Finding finding = check_primitive(g, truth, pass, dtype == DType::F16 ? DType::F32 : dtype, false, 5);
      EXPECT_TRUE(finding.what == Finding::What::Wrong || finding.what == Finding::What::None) << name(pass);
    }
}

TEST(OneDnnGeometries, FindMemoryThatHoldsNothingYetFullOfNaN) {
  for (const std::size_t size : {1, 100, 5000, 3 << 20}) {
    const Memory memory(size);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(memory.bytes()[i], std::byte{0xff}) << i << " of " << size;
    std::fill_n(memory.bytes(), size, std::byte{1});
  }
}

}  // namespace
}  // namespace kiln::cpu::onednn
