// Wrong programs are told what was called, with what, and what was expected.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

#include "tests/support/sentence.hpp"

using namespace kiln;

namespace {

Device device() { return Device::best(); }

TEST(WrongPrograms, ShapesThatDoNotFit) {
  auto a = zeros({2, 3}, device());
  EXPECT_EQ(sentence_of([&] { return a.matmul(zeros({4, 5}, device())); }),
            "ShapeError: matmul: [2, 3] x [4, 5]: inner dimensions 3 and 4 differ");
  EXPECT_EQ(sentence_of([&] { return a + zeros({4}, device()); }),
            "ShapeError: add: [2, 3] and [4] do not broadcast: 3 and 4 differ in dimension -1");
  EXPECT_EQ(sentence_of([&] { return Tensor<2>::of({{1, 2}, {3}}, device()); }),
            "ShapeError: of: the rows of dimension 1 differ in length: 2 and 1");
  EXPECT_EQ(sentence_of([&] { return a.repeat(-1, 2); }), "ArgumentError: repeat: [-1, 2] has a negative count");
  EXPECT_EQ(sentence_of([&] { return a.mask_select(zeros<Bool>({3, 2}, device())); }),
            "ShapeError: mask_select: the mask [3, 2] does not have the shape of float32 [2, 3]");
}

TEST(WrongPrograms, RanksAndKindsThatAreKnownAtRunTimeAlone) {
  const Value any(zeros({3}, device()));
  EXPECT_EQ(sentence_of([&] { return Tensor<2>(any); }), "ShapeError: expected a tensor of rank 2, got float32 [3]");
  EXPECT_EQ(sentence_of([&] { return Tensor<1, Int>(any); }),
            "DTypeError: expected a tensor of integers, got float32 [3]");
  EXPECT_EQ(sentence_of([&] { return Tensor<0>(Value(2.5)); }), "ShapeError: expected a tensor of rank 0, got 2.5");
  EXPECT_EQ(sentence_of([&] { return Tensor<0>(Value()); }), "ShapeError: expected a tensor of rank 0, got nothing");
  EXPECT_EQ(sentence_of([&] { return Tensor<1>(any).to(DType::I32); }),
            "DTypeError: expected a tensor of floats, got int32 [3]");
}

TEST(WrongPrograms, IndicesOutOfRange) {
  auto a = zeros({2, 3}, device());
  EXPECT_EQ(sentence_of([&] { return a(0, 7); }),
            "IndexError: slice: index 7 is out of range for dimension 1 of size 3");
  EXPECT_EQ(sentence_of([&] { return a(-3); }),
            "IndexError: slice: index -3 is out of range for dimension 0 of size 2");
  EXPECT_EQ(sentence_of([&] { return a(ellipsis, ellipsis); }),
            "IndexError: slice: an index has one ellipsis at most, got 2");
  EXPECT_EQ(sentence_of([&] { return a(s(0, 2, 0)); }), "ArgumentError: slice: the step is 0");
  EXPECT_EQ(sentence_of([&] { return a.sum(2); }), "IndexError: sum: dimension 2 is out of range for rank 2");
  EXPECT_EQ(sentence_of([&] { return a.topk(4, 1); }), "ArgumentError: topk: k is 4 but dimension 1 has 3 elements");
  EXPECT_EQ(sentence_of([&] { return a.sort(5); }), "IndexError: sort: dimension 5 is out of range for rank 2");
}

TEST(WrongPrograms, TensorsOfTwoDevices) {
  EXPECT_EQ(sentence_of([&] { return ones({2}, Device::parse("cpu")) + ones({2}, Device::parse("reference")); }),
            "DeviceError: add: cpu and reference; move one with to_device()");
  EXPECT_EQ(sentence_of([&] { return Device::parse("gpu9"); }),
            "DeviceError: no device 'gpu9'; there are: cpu, reference");
  EXPECT_EQ(sentence_of([&] { return Device::parse("libtorch"); }),
            "DeviceError: no device 'libtorch'; there are: cpu, reference; a program has it that links the component "
            "kiln::libtorch, which Kiln has if it was built with PyTorch's C++ library (Debian: libtorch-dev)");
  EXPECT_EQ(sentence_of([&] { return ones({2}, Device()); }), "DeviceError: ones: no device was given");
}

TEST(WrongPrograms, GradientsOfWhatNobodyTracks) {
  EXPECT_EQ(sentence_of([&] { return ones({2}, device()).sum().backward(); }),
            "AutodiffError: backward: nothing here is tracked; make the parameters on device.autodiff() or call "
            "require_grad() on a leaf");
  EXPECT_EQ(sentence_of([&] { return ones({2}, device()).require_grad(); }),
            "AutodiffError: require_grad: device cpu does not differentiate; make the tensor on device.autodiff()");
}

}  // namespace
