#include <array>
#include <hwy/targets.h>

#include <gtest/gtest.h>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/backend/cpu/engines.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/op.hpp"

#include "tests/backend/arrays.hpp"
#include "tests/backend/convolutions.hpp"

namespace kiln::cpu {
namespace {

std::size_t count(const Shape& shape) { return static_cast<std::size_t>(numel(shape)); }

enum class Kernels { OfTheDevice, OurOwn };

template <class Op>
Value run(const Op& op, std::vector<Value> in, bool& taken, Kernels kernels = Kernels::OfTheDevice) {
  const Descs desc = op.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  const Call call{in, {&out, 1}};
  if (kernels == Kernels::OurOwn) disable(algorithms_in("onednn_conv,onednn_matmul"));
  taken = conv::run(op, call);
  disable({});
  return out;
}

template <class Op>
Value run(const Op& op, std::vector<Value> in, Kernels kernels = Kernels::OfTheDevice) {
  bool taken = false;
  Value out = run(op, std::move(in), taken, kernels);
  EXPECT_TRUE(taken) << "it is left to the reference";
  return out;
}

std::vector<int> channels_last(const Shape& shape) {
  std::vector<int> order{0};
  for (int i = 2; i < shape.size(); ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

/// The cases on the kernels that the device has, oneDNN's among them, and on ours alone.
class Convolution : public testing::TestWithParam<std::tuple<Case, Kernels>> {
 protected:
  const Case& c = std::get<0>(GetParam());
  const Kernels kernels = std::get<1>(GetParam());

  /// The operand in the memory orders that a network may hand over.
  static std::vector<Value> in_every_order(const Shape& shape, unsigned seed) {
    std::vector<int> reversed;
    for (int i = shape.size() - 1; i >= 0; --i) reversed.push_back(i);
    const Value rows = random_tensor(shape, seed);
    std::vector<Value> values{rows};
    for (const auto& order : {channels_last(shape), reversed}) {
      Value same = random_tensor(shape, seed, order);
      const Array to = read(same), from = read(rows);
      Shape index = Shape::filled(shape.size(), 0);
      for (std::int64_t n = 0; n < from.numel(); ++n) {
        std::int64_t at = 0;
        for (int i = 0; i < shape.size(); ++i) at += index[i] * to.strides[i];
        to.as<float>()[at] = from.as<float>()[n];
        for (int i = shape.size() - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
      }
      values.push_back(same);
    }
    return values;
  }
};

TEST_P(Convolution, AgreesWithLoopsInFloat64) {
  const Value weight = random_tensor(c.weight(), 2), bias = random_tensor({c.out}, 3);
  const std::vector<double> w = numbers(weight), b = numbers(bias);
  std::vector<double> x, expected(count(c.y()), 0.0);
  for (const Value& operand : in_every_order(c.x(), 1)) {
    if (x.empty()) {
      x = numbers(operand);
      each_product(c,
                   [&](auto i, auto j, auto k) { expected[std::size_t(k)] += x[std::size_t(i)] * w[std::size_t(j)]; });
    }
    EXPECT_LT(distance(numbers(run(c.conv(), {operand, weight}, kernels)), expected), 2e-6);
  }
  const std::size_t pixels = count(c.y()) / static_cast<std::size_t>(c.batch * c.out);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += b[i / pixels % b.size()];
  EXPECT_LT(distance(numbers(run(c.conv(), {random_tensor(c.x(), 1), weight, bias}, kernels)), expected), 2e-6);
}

TEST_P(Convolution, GivesTheGradientOfItsInput) {
  const bool in_steps = std::ranges::any_of(c.stride, [](std::int64_t stride) { return stride > 1; });
  if (in_steps && c.groups == c.in && !onednn_kernels)
    GTEST_SKIP() << "Kiln was built without oneDNN, whose kernel it is";
  const Value weight = random_tensor(c.weight(), 4);
  const std::vector<double> w = numbers(weight);
  std::vector<double> y, expected(count(c.x()), 0.0);
  for (const Value& operand : in_every_order(c.y(), 5)) {
    if (y.empty()) {
      y = numbers(operand);
      each_product(c,
                   [&](auto i, auto j, auto k) { expected[std::size_t(i)] += y[std::size_t(k)] * w[std::size_t(j)]; });
    }
    EXPECT_LT(distance(numbers(run(op::ConvTranspose{c.conv(), c.sizes}, {operand, weight}, kernels)), expected), 2e-6);
  }
}

TEST_P(Convolution, GivesTheGradientOfItsWeight) {
  const std::vector<Value> xs = in_every_order(c.x(), 6), ys = in_every_order(c.y(), 7);
  const std::vector<double> x = numbers(xs[0]), y = numbers(ys[0]);
  std::vector<double> expected(count(c.weight()), 0.0);
  each_product(c, [&](auto i, auto j, auto k) { expected[std::size_t(j)] += x[std::size_t(i)] * y[std::size_t(k)]; });
  for (std::size_t i = 0; i < xs.size(); ++i)
    EXPECT_LT(distance(numbers(run(op::ConvWeightGrad{c.conv(), c.kernel}, {xs[i], ys[i]}, kernels)), expected), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolution,
    testing::Combine(
        testing::Values(Case{2, 3, 5, {7}, {3}, {1}, {0}, {0}, {1}},                        // 1-d
                        Case{3, 4, 6, {20}, {5}, {2}, {2}, {1}, {2}},                       //
                        Case{70, 1, 8, {28, 28}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},   // the guide's
                        Case{37, 8, 16, {26, 26}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},  //
                        Case{1, 8, 16, {26, 26}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},   //
                        Case{5, 2, 3, {9, 11}, {2, 4}, {1, 1}, {1, 0}, {0, 3}, {1, 1}},     // uneven padding
                        Case{2, 16, 32, {15, 17}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  // rows left over
                        Case{2, 16, 32, {16, 18}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  //
                        Case{2, 7, 5, {12, 13}, {3, 2}, {1, 3}, {2, 1}, {2, 1}, {2, 3}},    // dilated
                        Case{1, 64, 64, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},  // cut by rows
                        Case{1, 48, 64, {41, 30}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  //
                        Case{1, 32, 48, {60, 20}, {5, 3}, {3, 1}, {4, 1}, {6, 1}, {2, 1}},  //
                        Case{1, 32, 48, {61, 20}, {2, 3}, {3, 1}, {0, 1}, {0, 1}, {1, 1}},  // rows between windows
                        Case{1, 3, 64, {64, 64}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}},   // a stem
                        Case{3, 24, 40, {9, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},    // pointwise
                        Case{3, 24, 40, {9, 9}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},    //
                        Case{3, 6, 4, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},      //
                        Case{2, 3, 4, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {0, 1, 2}, {1, 1, 2}},  // 3-d
                        Case{2, 3, 2, {4, 4}, {3, 3}, {1, 1}, {4, 5}, {5, 4}, {1, 1}},    // more padding than kernel
                        Case{3, 3, 24, {11, 9}, {5, 3}, {2, 2}, {3, 1}, {0, 2}, {1, 1}},  // few channels
                        Case{3, 5, 8, {13, 31}, {4, 3}, {1, 1}, {2, 1}, {3, 2}, {2, 1}},  //
                        Case{2, 2, 32, {8, 16}, {3, 7}, {1, 1}, {5, 6}, {4, 6}, {3, 1}},  //
                        Case{2, 8, 8, {3, 3}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {1, 1}},    //
                        Case{2, 16, 16, {5, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},  //
                        Case{2, 1, 8, {2, 40}, {2, 2}, {3, 3}, {9, 0}, {9, 0}, {1, 1}},   //
                        Case{1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},    //
                        Case{2, 5, 80, {4, 4}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},   // few pixels
                        Case{2, 6, 96, {5, 3}, {3, 2}, {2, 1}, {2, 1}, {1, 1}, {2, 1}},   //
                        Case{1, 7, 40, {9}, {4}, {3}, {1}, {2}, {2}},                     //
                        Case{1, 4, 100, {3, 2, 4}, {2, 2, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}},   //
                        Case{8, 24, 64, {2, 2}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},                     //
                        Case{1, 20, 240, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},                    // in lines
                        Case{1, 16, 150, {9, 11}, {3, 3}, {2, 2}, {1, 0}, {1, 2}, {1, 1}},                   //
                        Case{1, 24, 300, {8, 9}, {3, 2}, {1, 1}, {2, 1}, {2, 1}, {2, 3}},                    //
                        Case{2, 40, 130, {14}, {5}, {1}, {2}, {2}, {1}},                                     //
                        Case{1, 16, 420, {3, 3, 5}, {2, 2, 3}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}},  //
                        Case{1, 16, 241, {3, 4}, {2, 2}, {1, 1}, {4, 1}, {4, 1}, {1, 1}},                    //
                        Case{1, 300, 160, {7, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},                   //
                        Case{3, 900, 1100, {9, 10}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},                 //
                        Case{3, 7, 1, {9, 11}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},      // planes into one
                        Case{4, 32, 24, {36, 36}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // many pixels
                        Case{2, 33, 20, {60, 50}, {3, 4}, {1, 2}, {2, 1}, {0, 3}, {2, 1}},   //
                        Case{1, 8, 16, {70, 60}, {3, 3}, {2, 1}, {2, 1}, {0, 1}, {1, 1}},    // few channels, by rows
                        Case{2, 40, 33, {11, 10}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},   // a small product
                        Case{2, 100, 29, {9, 11}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},   // few channels of y
                        Case{2, 32, 48, {11, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},    // tiles of 2 x 2
                        Case{2, 32, 48, {21, 18}, {3, 3}, {1, 1}, {2, 0}, {0, 1}, {1, 1}},   // padded at one end
                        Case{1, 48, 96, {24, 17}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},   //
                        Case{3, 64, 80, {7, 8}, {3, 3}, {1, 1}, {2, 0}, {0, 4}, {1, 1}},     //
                        Case{1, 256, 32, {13, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},  //
                        Case{3, 70, 75, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // two images, then one
                        Case{1, 40, 80, {1300}, {5}, {2}, {3}, {1}, {2}},                    // a long line
                        Case{5, 70, 75, {9, 5}, {3, 3}, {1, 1}, {1, 4}, {1, 4}, {1, 4}},     // as wide as the image
                        Case{2, 40, 80, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {0, 1, 2}, {1, 1, 2}}  //
                        ),
        testing::Values(Kernels::OfTheDevice, Kernels::OurOwn)));

// A kernel for each channel: in vectors of channels, and what is left of them.
INSTANTIATE_TEST_SUITE_P(
    Depthwise, Convolution,
    testing::Combine(
        testing::Values(Case{2, 19, 19, {23}, {3}, {1}, {1}, {1}, {1}, 19},                                   //
                        Case{2, 32, 32, {40}, {4}, {1}, {3}, {0}, {1}, 32},                                   // causal
                        Case{1, 16, 16, {31}, {3}, {1}, {5}, {2}, {2}, 16},                                   //
                        Case{1, 600, 600, {60}, {3}, {1}, {1}, {1}, {1}, 600},                                //
                        Case{2, 16, 16, {9, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16},                 // planes
                        Case{1, 8, 8, {12, 40}, {5, 4}, {1, 1}, {7, 9}, {3, 26}, {2, 3}, 8},                  //
                        Case{3, 9, 9, {4, 5, 12}, {3, 2, 3}, {1, 1, 1}, {1, 0, 1}, {1, 1, 2}, {1, 1, 1}, 9},  //
                        Case{1, 17, 17, {5, 6, 20}, {2, 3, 3}, {1, 1, 1}, {2, 0, 1}, {0, 1, 1}, {1, 2, 3}, 17}  //
                        ),
        testing::Values(Kernels::OfTheDevice, Kernels::OurOwn)));

INSTANTIATE_TEST_SUITE_P(
    DepthwiseInSteps, Convolution,
    testing::Combine(
        testing::Values(Case{2, 16, 16, {43}, {3}, {2}, {1}, {1}, {1}, 16},                  //
                        Case{2, 8, 8, {11, 37}, {3, 5}, {2, 2}, {1, 2}, {1, 3}, {1, 1}, 8},  // planes
                        Case{1, 9, 9, {10, 50}, {2, 3}, {3, 3}, {2, 4}, {0, 1}, {2, 2}, 9},  //
                        Case{1, 8, 8, {6, 80}, {1, 1}, {1, 2}, {0, 0}, {0, 0}, {1, 1}, 8},   //
                        Case{1, 12, 12, {7, 6, 37}, {3, 3, 3}, {2, 1, 3}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}, 12}),
        testing::Values(Kernels::OfTheDevice)));

// Without oneDNN they are the reference's.
const std::vector<Case> kGrouped{
    Case{2, 12, 18, {10, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3},  // grouped
    Case{2, 32, 64, {10, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},  //
    Case{2, 6, 6, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6},    // depthwise, of few channels
    Case{2, 6, 12, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 6}    //
};
INSTANTIATE_TEST_SUITE_P(Groups, Convolution,
                         testing::Combine(testing::ValuesIn(onednn_kernels ? kGrouped : std::vector<Case>()),
                                          testing::Values(Kernels::OfTheDevice)));

TEST(Convolutions, InGroupsAreNotOurs) {
  for (const Case& c : kGrouped) {
    const Value x = random_tensor(c.x(), 1), w = random_tensor(c.weight(), 2), y = random_tensor(c.y(), 3);
    bool taken[3];
    run(c.conv(), {x, w}, taken[0], Kernels::OurOwn);
    run(op::ConvTranspose{c.conv(), c.sizes}, {y, w}, taken[1], Kernels::OurOwn);
    run(op::ConvWeightGrad{c.conv(), c.kernel}, {x, y}, taken[2], Kernels::OurOwn);
    for (const bool each : taken) EXPECT_FALSE(each);
  }
}

TEST(Convolutions, OfDoublesAgreeWithLoops) {
  for (const Case& c :
       {Case{2, 3, 5, {7}, {3}, {1}, {0}, {0}, {1}}, Case{2, 7, 5, {12, 13}, {3, 2}, {1, 3}, {2, 1}, {2, 1}, {2, 3}},
        Case{3, 24, 1, {9, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
        Case{1, 5, 80, {4, 4}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
        Case{2, 3, 4, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {0, 1, 2}, {1, 1, 2}}}) {
    const Value x = random_tensor(c.x(), 1, {}, DType::F64), w = random_tensor(c.weight(), 2, {}, DType::F64),
                y = random_tensor(c.y(), 3, {}, DType::F64), b = random_tensor({c.out}, 4, {}, DType::F64);
    const std::vector<double> xs = numbers(x), ws = numbers(w), ys = numbers(y), bs = numbers(b);
    std::vector<double> to_y(ys.size()), to_x(xs.size(), 0.0), to_w(ws.size(), 0.0);
    const std::size_t pixels = ys.size() / static_cast<std::size_t>(c.batch * c.out);
    for (std::size_t i = 0; i < to_y.size(); ++i) to_y[i] = bs[i / pixels % bs.size()];
    each_product(c, [&](auto i, auto j, auto k) {
      to_y[std::size_t(k)] += xs[std::size_t(i)] * ws[std::size_t(j)];
      to_x[std::size_t(i)] += ys[std::size_t(k)] * ws[std::size_t(j)];
      to_w[std::size_t(j)] += ys[std::size_t(k)] * xs[std::size_t(i)];
    });
    EXPECT_EQ(distance(numbers(run(c.conv(), {x, w, b})), to_y), 0);  // sums of eighths are exact
    EXPECT_EQ(distance(numbers(run(op::ConvTranspose{c.conv(), c.sizes}, {y, w})), to_x), 0);
    EXPECT_EQ(distance(numbers(run(op::ConvWeightGrad{c.conv(), c.kernel}, {x, y})), to_w), 0);
  }
}

const op::Conv kPlain{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};

TEST(Convolutions, GiveTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  struct {
    std::int64_t batch, in, out, size;
  } const cases[] = {{40, 8, 16, 20},  {9, 40, 48, 12},  {1, 40, 48, 50}, {2, 64, 512, 3},
                     {30, 40, 48, 12}, {3, 64, 160, 21}, {1, 8, 16, 90}};
  for (const auto& c : cases) {
    const Value x = random_tensor({c.batch, c.in, c.size, c.size}, 1), w = random_tensor({c.out, c.in, 3, 3}, 2),
                y = random_tensor({c.batch, c.out, c.size, c.size}, 3);
    const auto all = [&] {
      return std::array{run(kPlain, {x, w}), run(op::ConvTranspose{kPlain, {c.size, c.size}}, {y, w}),
                        run(op::ConvWeightGrad{kPlain, {3, 3}}, {x, y})};
    };
    set_num_threads(1);
    const auto one = all();
    for (const int threads : {2, 5}) {
      set_num_threads(threads);
      const auto many = all();
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], many[i])) << i << " on " << threads;
    }
  }
  set_num_threads(before);
}

TEST(Convolutions, GiveChannelsLastResults) {
  const Value y = run(kPlain, {random_tensor({2, 40, 6, 5}, 1), random_tensor({48, 40, 3, 3}, 2)});
  EXPECT_EQ(read(y).strides, (Dims{48 * 30, 1, 48 * 5, 48}));
}

TEST(Convolutions, KeepPackedWeightsFromTheSecondTimeOn) {
  for (const auto& [in, out, size] :
       {std::array<std::int64_t, 3>{40, 48, 12}, {8, 16, 12}, {16, 256, 5}, {32, 64, 12}}) {
    if (in == 40 && !onednn_kernels) continue;  // a product of windows and of the weight as it lies
    const Value x = random_tensor({2, in, size, size}, 1), y = random_tensor({2, out, size, size}, 3);
    const auto both = [&](const Value& w) {
      return std::array{run(kPlain, {x, w}), run(op::ConvTranspose{kPlain, {size, size}}, {y, w})};
    };
    const auto kept = [](const Value& w) {
      return static_cast<const Memory&>(*w.node()->storage).packed_forms().count();
    };
    const auto weight = [&, in = in, out = out] { return random_tensor({out, in, 3, 3}, 2); };
    const Value forward = weight(), data = weight(), w = weight();
    run(kPlain, {x, forward});
    run(op::ConvTranspose{kPlain, {size, size}}, {y, data});
    EXPECT_EQ(kept(forward), 0);  // as in a training step
    EXPECT_EQ(kept(data), 0);
    const auto first = both(w);
    EXPECT_LE(kept(w), 1);  // none, but for a form that both want, as oneDNN's kernels for AVX2 do
    both(w);
    const int after_two = kept(w);
    EXPECT_GE(after_two, 1);
    for (int i = 0; i < 5; ++i) {
      const auto again = both(w);
      for (std::size_t j = 0; j < again.size(); ++j) EXPECT_TRUE(same_bits(first[j], again[j]));
    }
    EXPECT_EQ(kept(w), after_two);
    // Other numbers in other memory are other weights.
    EXPECT_FALSE(same_bits(first[0], run(kPlain, {x, random_tensor({out, in, 3, 3}, 5)})));
  }
}

TEST(Convolutions, GiveTheBitsOfTheFirstTimeInAnyOrderOfPasses) {
  // As many channels in as out, so that the passes' packed weights differ in nothing but their order.
  for (const std::int64_t channels : {1, 3, 4, 8, 16, 17, 24, 32, 64, 256})
    for (const std::int64_t kernel : {1, 3})
      for (const std::int64_t size : {2, 5, 12}) {
        SCOPED_TRACE(text(channels, " channels, kernel ", kernel, ", size ", size));
        op::Conv conv = kPlain;
        for (int i = 0; i < 2; ++i) conv.padding[i] = conv.padding_after[i] = kernel / 2;
        const Value x = random_tensor({2, channels, size, size}, 1), y = random_tensor({2, channels, size, size}, 3);
        const auto weight = [&] { return random_tensor({channels, channels, kernel, kernel}, 2); };
        const auto forward = [&](const Value& w) { return run(conv, {x, w}); };
        const auto adjoint = [&](const Value& w) { return run(op::ConvTranspose{conv, {size, size}}, {y, w}); };
        const Value to_y = forward(weight()), to_x = adjoint(weight());
        for (const std::string_view order : {"ffffaaaa", "aaaaffff", "fafafafa", "ffaaffaa", "afffa"}) {
          const Value w = weight();
          for (const char pass : order)
            EXPECT_TRUE(pass == 'f' ? same_bits(forward(w), to_y) : same_bits(adjoint(w), to_x)) << pass << order;
        }
      }
}

TEST(Convolutions, ReadWeightsInAnyOrder) {
  const Value x = random_tensor({2, 40, 6, 6}, 1), rows = random_tensor({3, 3, 40, 48}, 2);
  const Value w = view_of(rows, {48, 40, 3, 3}, {1, 48, 3 * 40 * 48, 40 * 48});
  const Case c{2, 40, 48, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const std::vector<double> a = numbers(x), b = numbers(w);
  std::vector<double> expected(count(c.y()), 0.0);
  each_product(c, [&](auto i, auto j, auto k) { expected[std::size_t(k)] += a[std::size_t(i)] * b[std::size_t(j)]; });
  EXPECT_LT(distance(numbers(run(kPlain, {x, w})), expected), 2e-6);
}

TEST(Convolutions, ReadReversedAndBroadcastImages) {
  const Value line = random_tensor({1, 40, 6, 6}, 1), w = random_tensor({48, 40, 3, 3}, 2);
  const Case c{2, 40, 48, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  for (const Value& x :
       {view_of(line, {2, 40, 6, 6}, {0, 36, 6, 1}), view_of(line, {2, 40, 6, 6}, {0, 36, -6, 1}, 30)}) {
    const std::vector<double> a = numbers(x), b = numbers(w);
    std::vector<double> expected(count(c.y()), 0.0);
    each_product(c, [&](auto i, auto j, auto k) { expected[std::size_t(k)] += a[std::size_t(i)] * b[std::size_t(j)]; });
    EXPECT_LT(distance(numbers(run(kPlain, {x, w})), expected), 2e-6);
  }
}

TEST(Convolutions, ConvolveHalfTypes) {
  for (const auto& [dtype, kernels] : {std::pair{DType::BF16, Kernels::OfTheDevice},
                                       {DType::F16, Kernels::OfTheDevice},
                                       {DType::BF16, Kernels::OurOwn},
                                       {DType::F16, Kernels::OurOwn}}) {
    const auto half = [&, dtype = dtype](const Shape& shape, unsigned seed) {
      return random_tensor(shape, seed, {}, dtype);
    };
    const Value x = half({3, 32, 9, 9}, 1), w = half({16, 32, 3, 3}, 2), y = half({3, 16, 9, 9}, 3), b = half({16}, 4);
    const Case c{3, 32, 16, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    const std::vector<double> xs = numbers(x), ws = numbers(w), ys = numbers(y), bs = numbers(b);
    std::vector<double> to_y(ys.size()), to_x(xs.size(), 0.0), to_w(ws.size(), 0.0);
    for (std::size_t i = 0; i < to_y.size(); ++i) to_y[i] = bs[i / 81 % 16];
    each_product(c, [&](auto i, auto j, auto k) {
      to_y[std::size_t(k)] += xs[std::size_t(i)] * ws[std::size_t(j)];
      to_x[std::size_t(i)] += ys[std::size_t(k)] * ws[std::size_t(j)];
      to_w[std::size_t(j)] += ys[std::size_t(k)] * xs[std::size_t(i)];
    });
    const double rounding = dtype == DType::BF16 ? 1.0 / 256 : 1.0 / 2048;
    EXPECT_LT(distance(numbers(run(kPlain, {x, w, b}, kernels)), to_y), rounding);
    EXPECT_LT(distance(numbers(run(op::ConvTranspose{kPlain, {9, 9}}, {y, w}, kernels)), to_x), rounding);
    EXPECT_LT(distance(numbers(run(op::ConvWeightGrad{kPlain, {3, 3}}, {x, y}, kernels)), to_w), rounding);
  }
}

TEST(Convolutions, LeaveEmptyBatchesAndGroupsOfDoublesToTheReference) {
  bool taken = true;
  run(kPlain, {random_tensor({0, 4, 6, 6}, 1), random_tensor({8, 4, 3, 3}, 2)}, taken);
  EXPECT_FALSE(taken);
  for (const std::int64_t batch : {0, 1}) {
    const op::Conv grouped{{1, 1}, {1, 1}, {1, 1}, {1, 1}, batch == 0 ? 1 : 2};
    run(grouped,
        {random_tensor({batch, 4, 6, 6}, 1, {}, DType::F64),
         random_tensor({8, 4 / grouped.groups, 3, 3}, 2, {}, DType::F64)},
        taken);
    EXPECT_FALSE(taken);
  }
}

TEST(Convolutions, RunOnEveryInstructionSet) {
  const auto supported = hwy::SupportedTargets();
  for (const Case& c : {Case{3, 3, 24, {9, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},      // few channels
                        Case{2, 24, 29, {9, 11}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},     // part of a panel
                        Case{2, 32, 48, {11, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}}) {  // tiles of 2 x 2
    const Value x = random_tensor(c.x(), 1), w = random_tensor(c.weight(), 2), y = random_tensor(c.y(), 3);
    const std::vector<double> xs = numbers(x), ws = numbers(w), ys = numbers(y);
    std::vector<double> to_y(ys.size(), 0.0), to_w(ws.size(), 0.0);
    each_product(c, [&](auto i, auto j, auto k) {
      to_y[std::size_t(k)] += xs[std::size_t(i)] * ws[std::size_t(j)];
      to_w[std::size_t(j)] += ys[std::size_t(k)] * xs[std::size_t(i)];
    });
    for (const auto target : {HWY_AVX3, HWY_AVX2, HWY_SSE4}) {
      if (!(supported & target)) continue;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      EXPECT_LT(distance(numbers(run(c.conv(), {x, w})), to_y), 2e-6) << hwy::TargetName(target);
      EXPECT_LT(distance(numbers(run(op::ConvWeightGrad{c.conv(), c.kernel}, {x, y})), to_w), 2e-6)
          << hwy::TargetName(target);
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

}  // namespace
}  // namespace kiln::cpu
