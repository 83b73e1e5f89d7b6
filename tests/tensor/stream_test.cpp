// Streams write what to_text() and error sentences show, and the operator % is remainder().
#include "kiln/tensor/text/stream.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"

#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best;

template <class... Parts>
std::string streamed(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

TEST(Stream, WritesTensorsShapesTypesAndDevices) {
  const auto x = Tensor<2>::of({{1, 2.5}, {3, -4}}, best());
  EXPECT_EQ(streamed(x), "[[ 1.   2.5]\n [ 3.  -4. ]]");
  EXPECT_EQ(streamed(x.value()), streamed(x));
  EXPECT_EQ(streamed(x.data()), streamed(x));
  EXPECT_EQ(streamed(x.shape(), ' ', x.dtype(), ' ', Dims{0, -1}), "[2, 2] float32 [0, -1]");
  EXPECT_EQ(streamed(x.device()), x.device().name());
  EXPECT_EQ(streamed(Tensor<1, Int>::of({1, 2}, best()) << 3), "[ 8 16]");
  EXPECT_EQ(streamed(Tensor<1, Bool>::of({true, false}, best())), "[ true false]");
}

TEST(Stream, FollowsThePrintOptions) {
  const PrintOptions before = print_options();
  set_print_options({.precision = 2, .threshold = 3, .edge_items = 1});
  const std::string shown = streamed(Tensor<1>::of({1.0 / 3, 2, 3, 4}, best()));
  set_print_options(before);
  EXPECT_EQ(shown, "[0.33 ... 4.  ]");
  EXPECT_EQ(streamed(Tensor<1>::of({1.0 / 3}, best())), "[0.33333334]");
}

TEST(Remainder, IsAnOperatorOfTensorsAndNumbersOnEitherSide) {
  const auto x = Tensor<1, Int>::of({7, -7, 7, -7}, best()), y = Tensor<1, Int>::of({3, 3, -3, -3}, best());
  // Python: [7 % 3, -7 % 3, 7 % -3, -7 % -3]
  EXPECT_EQ((x % y).to_vector(), (std::vector<std::int64_t>{1, 2, -2, -1}));
  EXPECT_EQ((x % 4).to_vector(), (std::vector<std::int64_t>{3, 1, 3, 1}));
  EXPECT_EQ((10 % y).to_vector(), (std::vector<std::int64_t>{1, 1, -2, -2}));
  EXPECT_EQ((Tensor<2>::of({{5.5}, {-0.5}}, best()) % Tensor<1>::of({2, 4}, best())).to_vector(),
            (std::vector<float>{1.5f, 1.5f, 1.5f, 3.5f}));
  static_assert(std::is_same_v<decltype(x % 1.5), Tensor<1>>);
  static_assert(std::is_same_v<decltype(x % y), Tensor<1, Int>>);
  static_assert(std::is_same_v<decltype(true % Tensor<2, Bool>()), Tensor<2, Int>>);
}

}  // namespace
}  // namespace kiln
