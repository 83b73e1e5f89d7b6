#include "kiln/core/shape.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kiln/core/error/trace.hpp"
#include "kiln/core/size.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) { return std::string(without_calls(error.what())); }
  return "no error";
}

TEST(Sizes, AreAddedAndMultipliedWithinTheirBits) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(add_sizes("cat", most - 3, 3), most);
  EXPECT_EQ(multiply_sizes("tile", kHuge, 5), kHuge * 5);
  EXPECT_EQ(error_of<ShapeError>([] { add_sizes("cat", most, 1); }),
            "ShapeError: cat: 9223372036854775807 + 1 elements are more than 2^63 - 1");
  EXPECT_EQ(error_of<ShapeError>([] { multiply_sizes("tile", kHuge, kHuge); }),
            "ShapeError: tile: 1099511627776 * 1099511627776 elements are more than 2^63 - 1");
}

TEST(Shapes, CountTheirElements) {
  EXPECT_EQ(numel({}), 1);
  EXPECT_EQ(numel({2, 3, 4}), 24);
  EXPECT_EQ(numel({2, 0, 4}), 0);
  EXPECT_EQ(numel({std::numeric_limits<std::int64_t>::max()}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(error_of<ShapeError>([] { numel({2, -3}); }), "ShapeError: shape [2, -3] has a negative size");
  EXPECT_EQ(error_of<ShapeError>([] { numel({kHuge, kHuge}); }),
            "ShapeError: shape [1099511627776, 1099511627776] has more than 2^63 - 1 elements");
}

TEST(Shapes, AZeroEmptiesATensorHoweverLargeTheRest) {
  EXPECT_EQ(numel({kHuge, kHuge, 0}), 0);
  EXPECT_EQ(numel({0, kHuge, kHuge}), 0);
  EXPECT_EQ(contiguous_strides({kHuge, kHuge, kHuge, 0}).size(), 4);
}

TEST(Shapes, HaveRowMajorStrides) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Dims{});
  EXPECT_EQ(contiguous_strides({5, 0, 2}), (Dims{2, 2, 1}));
}

TEST(Shapes, WrapNegativeDimensions) {
  EXPECT_EQ(wrap_dim("sum", 0, 3), 0);
  EXPECT_EQ(wrap_dim("sum", -1, 3), 2);
  EXPECT_EQ(wrap_dim("sum", -3, 3), 0);
  EXPECT_EQ(error_of<IndexError>([] { wrap_dim("sum", 3, 2); }),
            "IndexError: sum: dimension 3 is out of range for rank 2");
  EXPECT_THROW(wrap_dim("sum", -3, 2), IndexError);
  EXPECT_THROW(wrap_dim("sum", 0, 0), IndexError);
  EXPECT_THROW(wrap_dim("sum", std::numeric_limits<std::int64_t>::min(), 2), IndexError);
}

TEST(Shapes, BroadcastAsNumPyDoes) {
  EXPECT_EQ(broadcast("add", {2, 3}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast("add", {8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast("add", {}, {4}), (Shape{4}));
  EXPECT_EQ(broadcast("add", {1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast("add", {2, 0}, {1}), (Shape{2, 0}));
  EXPECT_EQ(error_of<ShapeError>([] { broadcast("add", {2, 3}, {4, 3}); }),
            "ShapeError: add: [2, 3] and [4, 3] do not broadcast: 2 and 4 differ in dimension -2");
  EXPECT_THROW(broadcast("add", {0}, {3}), ShapeError);
}

TEST(InlineLists, GrowShrinkAndCompare) {
  Shape shape{1, 3};
  shape.insert(1, 2);
  EXPECT_EQ(shape, (Shape{1, 2, 3}));
  shape.insert(3, 4);
  shape.erase(0);
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  shape.pop_back();
  EXPECT_EQ(shape.back(), 3);
  EXPECT_NE(shape, (Shape{2}));
  EXPECT_EQ(Shape::filled(3, 7), (Shape{7, 7, 7}));
  const std::vector<int> sizes = {4, 5};
  EXPECT_EQ(Shape(sizes.begin(), sizes.end()), (Shape{4, 5}));
  EXPECT_EQ(text(Shape{}, Shape{5}, Shape{2, 3}), "[][5][2, 3]");
}

TEST(InlineLists, AreFullAtTheirCapacity) {
  EXPECT_EQ(Shape::filled(8, 1).size(), 8);
  EXPECT_EQ(error_of<ShapeError>([] { Shape::filled(9, 1); }), "ShapeError: more than 8 dimensions");
  Shape full = Shape::filled(8, 1);
  EXPECT_THROW(full.insert(0, 1), ShapeError);
  EXPECT_EQ(error_of<ShapeError>([] { Spatial{1, 2, 3, 4}; }), "ShapeError: more than 3 entries");
}

TEST(InlineLists, WorkInConstantExpressions) {
  static_assert(Shape{2, 3}[1] == 3 && Shape{}.empty() && Shape{1} == Shape{1});
}

}  // namespace
}  // namespace kiln
