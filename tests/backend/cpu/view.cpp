#include "tests/backend/cpu/grid.hpp"

namespace kiln {
namespace {

class CpuView : public OnEachCpu {
 protected:
  /// 0, 1, 2, ... in row-major order.
  Value counted(const Shape& shape) { return reshape(arange(0, numel(shape), 1, device, DType::F32), shape); }
  static bool shares(const Value& a, const Value& b) { return a.node()->storage == b.node()->storage; }
};
KILN_ON_EACH_CPU(CpuView);

TEST_P(CpuView, PermutesExpandsAndSlicesWithoutCopying) {
  const Value x = counted({2, 3, 4});
  const Value turned = permute(x, {2, 0, 1});
  EXPECT_EQ(
      difference(turned.data(), grid({4, 2, 3}, [](auto& i) { return i[1] * 12 + i[2] * 4 + i[0]; }).to(DType::F32)),
      "");
  const Value repeated = expand(narrow(x, 1, 2, 1), {5, 2, 3, 4});
  EXPECT_EQ(
      difference(repeated.data(), grid({5, 2, 3, 4}, [](auto& i) { return i[1] * 12 + 8 + i[3]; }).to(DType::F32)), "");
  const Value cut = slice(x, {{Range{}, Range{{}, {}, -2}, Range{1, 3}}});
  EXPECT_EQ(
      difference(cut.data(),
                 grid({2, 2, 2}, [](auto& i) { return i[0] * 12 + (2 - 2 * i[1]) * 4 + 1 + i[2]; }).to(DType::F32)),
      "");
  EXPECT_TRUE(shares(turned, x) && shares(repeated, x) && shares(cut, x));
}

TEST_P(CpuView, ReshapesInPlaceWhereStridesCanSayIt) {
  const Value x = counted({4, 3, 10});
  const auto expect = [&](const Value& from, const Shape& shape, bool in_place) {
    const Value result = reshape(from, shape);
    EXPECT_EQ(shares(result, x), in_place) << text(from.shape(), " with strides ", from.node()->strides, " as ", shape);
    EXPECT_EQ(result.data().to_vector<float>(), from.data().to_vector<float>());
  };
  expect(x, {120}, true);
  expect(x, {2, 2, 1, 30}, true);
  const Value inner = narrow(x, 2, 1, 6);  // rows of 6 out of 10
  expect(inner, {12, 6}, true);            // rows stay whole
  expect(inner, {2, 2, 3, 2, 3}, true);    // and can be cut
  expect(inner, {4, 18}, false);           // but not joined
  expect(transpose(x, 0, 2), {10, 12}, false);
  expect(transpose(x, 0, 2), {5, 2, 3, 1, 2, 2}, true);
  expect(flip(x, {2}), {4, 3, 2, 5}, true);
  expect(narrow(x, 1, 0, 1), {4, 10}, true);  // a dimension of size 1 is no obstacle
  expect(expand(narrow(x, 0, 0, 1), {7, 3, 10}), {7, 30}, true);
  expect(expand(narrow(x, 2, 0, 1), {4, 3, 9}), {12, 9}, true);
  expect(expand(narrow(x, 2, 0, 1), {4, 3, 9}), {4, 27}, false);
}

TEST_P(CpuView, ReshapesNothingAndOneThing) {
  EXPECT_EQ(reshape(zeros({0, 4}, device), {2, 0, 7}).data().shape(), (Shape{2, 0, 7}));
  EXPECT_EQ(reshape(full({1, 1}, 3, device), {}).item(), 3);
  EXPECT_EQ(reshape(full({}, 3, device), {1, 1, 1}).data().at(0), 3);
  EXPECT_EQ(narrow(counted({4}), 0, 4, 0).data().numel(), 0);
}

TEST_P(CpuView, AssignsSlicesIntoACopy) {
  const Value x = counted({3, 4});
  const Value result = slice_assign(x, {{Range{{}, {}, 2}, Range{{}, {}, -3}}},
                                    from_data(TensorData::of<float>({2, 2}, {-1, -2, -3, -4}), device));
  EXPECT_EQ(result.data().to_vector<float>(), (std::vector<float>{-2, 1, 2, -1, 4, 5, 6, 7, -4, 9, 10, -3}));
  EXPECT_EQ(x.data().at(0), 0);
}

TEST_P(CpuView, JoinsPartsOfAnyLayoutAndEmptyOnes) {
  const Value a = transpose(counted({3, 2})), b = counted({2, 1}), none = zeros({2, 0}, device);
  EXPECT_EQ(cat(std::vector{a, none, b}, 1).data().to_vector<float>(), (std::vector<float>{0, 2, 4, 0, 1, 3, 5, 1}));
  EXPECT_EQ(cat(std::vector{a, a}, 0).data().shape(), (Shape{4, 3}));
}

// Images as convolutions leave them stay so; a part in another order brings the whole into rows.
TEST_P(CpuView, JoinsImagesInTheirOrder) {
  const Value pixels = counted({2, 5, 6, 3}), image = permute(pixels, {0, 3, 1, 2}),
              rows = from_data((image + 1).data(), device);
  for (const int dim : {0, 1, 2, 3}) {
    const Value joined = cat(std::vector{image, image + 1}, dim), other = cat(std::vector{image, rows}, dim);
    const int of_pixels[] = {0, 3, 1, 2};
    const Value expected = permute(cat(std::vector{pixels, pixels + 1}, of_pixels[dim]), {0, 3, 1, 2});
    EXPECT_EQ(difference(joined.data(), expected.data()), "") << dim;
    EXPECT_EQ(difference(other.data(), expected.data()), "") << dim;
    EXPECT_EQ(joined.node()->strides[1], 1) << dim;
    EXPECT_EQ(other.node()->strides[3], 1) << dim;
  }
  EXPECT_EQ(cat(std::vector{counted({2, 1, 4}), counted({2, 1, 4})}, 1).node()->strides, (Dims{8, 4, 1}));
}

// So many that threads share them.
TEST_P(CpuView, JoinsShortPartsOfEveryType) {
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::F64})
    for (const std::int64_t width : {1, 3}) {  // single elements, and such parts beside wider ones
      Values parts;
      for (std::int64_t k = 0; k < 7; ++k)
        parts.push_back(cast(counted({40, width == 1 ? 1 : width + k % 2}) + k, dtype));
      device.sync();
      const std::vector<double> joined = cat(parts, 1).data().to_vector<double>();
      std::vector<double> expected;
      for (std::int64_t row = 0; row < 40; ++row)
        for (std::int64_t k = 0; k < 7; ++k) {
          const std::int64_t columns = parts[static_cast<std::size_t>(k)].shape()[1];
          for (std::int64_t i = 0; i < columns; ++i) expected.push_back(static_cast<double>(row * columns + i + k));
        }
      EXPECT_EQ(joined, expected) << text(dtype);
    }
}

TEST_P(CpuView, JoinsManyParts) {
  const Value x = counted({8, 37, 1000});
  Values parts;
  for (std::int64_t i = 0; i < 37; ++i) parts.push_back(narrow(x, 1, i, 1));
  EXPECT_EQ(cat(parts, 1).data().to_vector<float>(), x.data().to_vector<float>());
}

}  // namespace
}  // namespace kiln
