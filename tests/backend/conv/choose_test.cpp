// The table of algorithms for convolutions, and what happens where some are left out.
#include "kiln/backend/cpu/conv/choose.hpp"

#include <gtest/gtest.h>

#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/op.hpp"

#include "tests/backend/arrays.hpp"
#include "tests/backend/convolutions.hpp"

namespace kiln::cpu::conv {
namespace {

/// Algorithms are left out while one lives.
class Without {
 public:
  explicit Without(std::string_view list) { disable(algorithms_in(list)); }
  ~Without() { disable({}); }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;
};

Geometry geometry_of(const Case& c) { return Geometry::of(c.conv(), c.x(), c.y(), c.kernel); }

TEST(ChooseConvolution, TakesTheNextRowWhereOneIsLeftOut) {
  const struct {
    Case c;
    Pass pass;
    std::string_view without;
    Algorithm algorithm;
  } rows[] = {
      {{1, 64, 64, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Pass::Forward, "", Algorithm::Winograd},
      {{1, 64, 64, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Pass::Data, "", Algorithm::Winograd},
      {{1, 64, 64, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Pass::Forward, "winograd", Algorithm::Windows},
      {{1, 640, 64, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Pass::Weight, "", Algorithm::WeightTiles},
      {{1, 640, 64, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       Pass::Weight,
       "weight_tiles",
       Algorithm::Windows},
      {{9, 8, 16, {26, 26}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, Pass::Forward, "", Algorithm::Direct},
      {{9, 8, 16, {26, 26}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, Pass::Weight, "direct", Algorithm::Windows},
      {{1, 16, 256, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Pass::Forward, "", Algorithm::Tiles},
      {{1, 16, 256, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       Pass::Forward,
       "tiles,winograd",
       Algorithm::Windows},
      {{1, 16, 256, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       Pass::Forward,
       "tiles,windows",
       Algorithm::Reference},
      {{2, 32, 32, {40}, {4}, {1}, {3}, {0}, {1}, 32}, Pass::Data, "", Algorithm::Depthwise},
      {{2, 32, 32, {40}, {4}, {1}, {3}, {0}, {1}, 32}, Pass::Data, "depthwise", Algorithm::Reference},
      {{2, 12, 18, {10, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3}, Pass::Forward, "", Algorithm::Reference}};
  for (const auto& [c, pass, without, algorithm] : rows) {
    const Without names(text(without, without.empty() ? "" : ",", "onednn_conv"));
    const Geometry g = geometry_of(c);
    const Choice choice = choose({pass, g, DType::F32});
    EXPECT_EQ(choice.algorithm, algorithm) << without << ": " << choice.reason;
    EXPECT_NE(choice.reason, "");
    const Choice half = choose({pass, g, DType::F16});
    EXPECT_EQ(half.algorithm, algorithm == Algorithm::Reference ? algorithm : Algorithm::Float32) << half.reason;
  }
}

TEST(ChooseConvolution, LooksAtHowAnImageLies) {
  const Case c{2, 16, 16, {9, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16};
  const Geometry g = geometry_of(c);
  const Value planes = random_tensor(c.x(), 1), pixels = random_tensor(c.x(), 1, {0, 2, 3, 1});
  EXPECT_EQ(choose({.pass = Pass::Forward, .g = g, .dtype = DType::F32, .image = &planes}).algorithm,
            Algorithm::DepthwisePlanes);
  EXPECT_EQ(choose({.pass = Pass::Forward, .g = g, .dtype = DType::F32, .image = &pixels}).algorithm,
            Algorithm::Depthwise);
  EXPECT_EQ(choose({.pass = Pass::Forward, .g = g, .dtype = DType::F32, .with_bias = true, .image = &planes}).algorithm,
            Algorithm::Depthwise);
}

template <class Op>
std::vector<double> run_with(const Op& op, const std::vector<Value>& in) {
  Value out = tensor(op.infer(in)[0].shape, DType::F32);
  if (!run(op, {in, {&out, 1}})) return {};  // left to the reference
  return numbers(out);
}

TEST(ChooseConvolution, GivesTheSameNumbersWhateverIsLeftOut) {
  const Case cases[] = {{2, 32, 48, {11, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                        {3, 3, 24, {9, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                        {2, 24, 29, {9, 11}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
                        {3, 7, 1, {9, 11}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
                        {1, 20, 240, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                        {2, 16, 16, {9, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16},
                        {3, 70, 75, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  for (const Case& c : cases) {
    const Value x = random_tensor(c.x(), 1), w = random_tensor(c.weight(), 2), y = random_tensor(c.y(), 3);
    const std::vector<double> xs = numbers(x), ws = numbers(w), ys = numbers(y);
    std::vector<double> to_y(ys.size(), 0.0), to_x(xs.size(), 0.0), to_w(ws.size(), 0.0);
    each_product(c, [&](auto i, auto j, auto k) {
      to_y[std::size_t(k)] += xs[std::size_t(i)] * ws[std::size_t(j)];
      to_x[std::size_t(i)] += ys[std::size_t(k)] * ws[std::size_t(j)];
      to_w[std::size_t(j)] += ys[std::size_t(k)] * xs[std::size_t(i)];
    });
    for (const std::string_view list :
         {"", "winograd", "direct", "tiles", "weight_tiles", "windows", "plane_sum", "depthwise", "depthwise_planes",
          "onednn_conv", "onednn_conv,winograd,direct,tiles,weight_tiles,depthwise_planes", "dots,few_rows,onednn_conv",
          "windows,direct,winograd,tiles,weight_tiles"}) {
      SCOPED_TRACE(text(list, " left out of x ", c.x(), ", weight ", c.weight()));
      const Without names(list);
      const std::vector<double> made[] = {run_with(c.conv(), {x, w}),
                                          run_with(op::ConvTranspose{c.conv(), c.sizes}, {y, w}),
                                          run_with(op::ConvWeightGrad{c.conv(), c.kernel}, {x, y})};
      const std::vector<double>* const expected[] = {&to_y, &to_x, &to_w};
      for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(list.empty() && made[i].empty()) << i;
        if (!made[i].empty()) { EXPECT_LT(distance(made[i], *expected[i]), 2e-6) << i; }
      }
    }
  }
}

TEST(LeftOut, AreThoseThatAreNamed) {
  EXPECT_TRUE(algorithms_in("").none());
  const AlgorithmSet two = algorithms_in("direct,winograd");
  EXPECT_EQ(two.count(), 2u);
  EXPECT_TRUE(two[static_cast<std::size_t>(Algorithm::Winograd)] && two[static_cast<std::size_t>(Algorithm::Direct)]);
  for (const std::string_view wrong : {"winogard", "direct, winograd", "reference", "float32", ",direct"}) {
    try {
      algorithms_in(wrong);
      ADD_FAILURE() << wrong;
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find("amx_attention, amx_conv"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace kiln::cpu::conv
