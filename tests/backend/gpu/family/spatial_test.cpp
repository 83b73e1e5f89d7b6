// Convolutions, pools and blends of the GPU families in both orders of channels, against loops over doubles.
#include "kiln/core/error/trace.hpp"
#include "kiln/ops/spatial/blend_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

/// Whole numbers, whose sums are exact, on the device and as doubles.
struct PointwiseOperand {
  Shape shape;
  std::vector<double> numbers;
  Value value;

  PointwiseOperand(const Shape& of, DType dtype, unsigned seed, bool channels_last = false, int distinct = 5)
      : shape(of) {
    const TensorData data = whole_numbers(shape, dtype, distinct, seed), wide = data.to(DType::F64);
    const auto* first = reinterpret_cast<const double*>(wide.bytes().data());
    numbers.assign(first, first + wide.numel());
    value = Value(simulated().backend().upload(data, simulated()));
    if (!channels_last) return;
    Dims last{0}, back{0, shape.size() - 1};
    for (int i = 2; i < shape.size(); ++i) last.push_back(i);
    last.push_back(1);
    for (int i = 1; i + 1 < shape.size(); ++i) back.push_back(i);
    value = permute(copied(permute(value, last)), back);
  }
  double operator()(const Dims& index) const { return numbers[place_of(shape, index)]; }

 private:
  static Value copied(const Value& x) { return reshape(reshape(x, {x.numel()}), x.shape()); }
};

void expect_equal(const Value& value, const std::vector<double>& expected, const std::string& what) {
  const TensorData data = value.data().to(DType::F64);
  const auto* found = reinterpret_cast<const double*>(data.bytes().data());
  ASSERT_EQ(static_cast<std::size_t>(data.numel()), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found[i], expected[i]) << what << " at " << i;
}

void expect_convolutions(const Shape& x_shape, const Shape& w_shape, const op::Conv& op, DType dtype) {
  for (const bool last : {false, true}) {
    const PointwiseOperand x(x_shape, dtype, 1, last), w(w_shape, dtype, 2), bias({w_shape[0]}, dtype, 3);
    const Value y = emit(op, {x.value, w.value, bias.value});
    const PointwiseOperand g(y.shape(), dtype, 4, last);
    std::vector<double> forward(places(y.shape())), of_x(places(x_shape)), of_w(places(w_shape));
    each_index(y.shape(), [&](const Dims& at) {
      forward[place_of(y.shape(), at)] += bias({at[1]});
      Shape taps = w_shape;
      taps[0] = 1;
      each_index(taps, [&](Dims wi) {
        wi[0] = at[1];
        Dims xi{at[0], at[1] / (w_shape[0] / op.groups) * w_shape[1] + wi[1]};
        for (int i = 2; i < at.size(); ++i)
          xi.push_back(at[i] * op.stride[i - 2] - op.padding[i - 2] + wi[i] * op.dilation[i - 2]);
        for (int i = 2; i < at.size(); ++i)
          if (xi[i] < 0 || xi[i] >= x_shape[i]) return;
        forward[place_of(y.shape(), at)] += x(xi) * w(wi);
        of_x[place_of(x_shape, xi)] += g(at) * w(wi);
        of_w[place_of(w_shape, wi)] += g(at) * x(xi);
      });
    });
    const std::string what = text(x_shape, " ", w_shape, last ? " channels last" : "");
    expect_equal(y, forward, what);
    const Spatial sizes(x_shape.begin() + 2, x_shape.end()), kernel(w_shape.begin() + 2, w_shape.end());
    expect_equal(emit(op::ConvTranspose{op, sizes}, {g.value, w.value}), of_x, "transposed " + what);
    expect_equal(emit(op::ConvWeightGrad{op, kernel}, {x.value, g.value}), of_w, "gradient of the weight " + what);
  }
}

TEST(GpuConvolutions, OfAllRanks) {
  expect_convolutions({2, 3, 9}, {5, 3, 3}, {{2}, {1}, {2}, {2}}, DType::F32);
  expect_convolutions({2, 3, 7, 6}, {4, 3, 3, 2}, {{1, 2}, {1, 0}, {0, 1}, {1, 2}}, DType::F64);
  expect_convolutions({1, 2, 4, 5, 3}, {3, 2, 2, 3, 1}, {{2, 1, 1}, {1, 0, 0}, {0, 1, 0}, {1, 1, 1}}, DType::F32);
}

TEST(GpuConvolutions, CrossTheEdgesOfTiles) {
  expect_convolutions({3, 20, 6, 7}, {36, 20, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}, DType::F32);
  expect_convolutions({2, 17, 9, 9}, {33, 17, 1, 1}, {{2, 2}, {0, 0}, {0, 0}, {1, 1}}, DType::F32);
  expect_convolutions({1, 70, 5, 4}, {66, 70, 2, 2}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}}, DType::F32);
}

TEST(GpuConvolutions, OfOneTapAreProducts) {
  expect_convolutions({2, 18, 4, 5}, {20, 18, 1, 1}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}}, DType::F32);
  expect_convolutions({2, 18, 4, 5}, {20, 9, 1, 1}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 2}, DType::F32);
}

TEST(GpuConvolutions, OfGroups) {
  expect_convolutions({2, 24, 5, 5}, {18, 12, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}, DType::F32);
  expect_convolutions({2, 6, 5, 5}, {6, 1, 3, 3}, {{2, 1}, {1, 1}, {1, 1}, {1, 1}, 6}, DType::F32);  // depthwise
  expect_convolutions({2, 6, 5, 5}, {12, 2, 3, 3}, {{1, 2}, {1, 1}, {1, 1}, {1, 1}, 3}, DType::F16);
}

// As many products go into one result as make several blocks share them.
TEST(GpuConvolutions, ShareLongSums) {
  expect_convolutions({8, 3, 12, 12}, {2, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}, DType::F32);
  expect_convolutions({1, 150, 2, 2}, {3, 150, 2, 2}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}}, DType::F32);
}

TEST(GpuPools, FollowTheOrderOfChannels) {
  for (const bool last : {false, true}) {
    const PointwiseOperand x({2, 3, 7, 6}, DType::F32, 5, last, 100);
    const op::Window window{{3, 2}, {2, 2}, {1, 0}, {1, 1}, {1, 2}};
    const Values found = emit_all(op::MaxPool{.window = window}, {x.value});
    std::vector<double> greatest, where;
    each_index(found[0].shape(), [&](const Dims& at) {
      double best = -1e9, flat = 0;
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 2; ++j) {
          const std::int64_t row = at[2] * 2 - 1 + i, column = at[3] * 2 + j * 2;
          if (row < 0 || row >= 7 || column >= 6) continue;
          if (x({at[0], at[1], row, column}) <= best) continue;
          best = x({at[0], at[1], row, column});
          flat = static_cast<double>(row * 6 + column);
        }
      greatest.push_back(best);
      where.push_back(flat);
    });
    expect_equal(found[0], greatest, "greatest");
    expect_equal(found[1], where, "where");
  }
}

TEST(GpuPools, AddByIndexHoweverManyThereAre) {
  for (const int distinct : {1, 2, 7, 50})
    for (const bool last : {false, true}) {
      const PointwiseOperand y({2, 3, 9, 11}, DType::F32, 6, last);
      const Value index = last ? permute(from_data(indices({2, 9, 11, 3}, distinct, 7), simulated()), {0, 3, 1, 2})
                               : from_data(indices({2, 3, 9, 11}, distinct, 7), simulated());
      const TensorData where = index.data();
      const Value made = emit(op::MaxPoolGrad{{5, 10}}, {y.value, index});
      EXPECT_EQ(made.node()->strides[1] == 1, last);
      std::vector<double> sums(6 * 50);
      each_index(y.value.shape(), [&](const Dims& at) {
        const std::size_t plane = static_cast<std::size_t>(at[0] * 3 + at[1]);
        sums[plane * 50 + static_cast<std::size_t>(bits_at(where, place_of(y.value.shape(), at)))] += y(at);
      });
      expect_equal(made, sums, text(distinct, last ? ", channels last" : ""));
    }
}

TEST(GpuPools, SayWhichIndexIsWrong) {
  const PointwiseOperand y({1, 2, 3}, DType::F32, 6);
  const std::vector<std::int64_t> index{0, 3, 1, 2, 9, -1};
  const Value where(
      simulated().backend().upload(TensorData::of<std::int64_t>({1, 2, 3}, std::span(index)), simulated()));
  const Value made = emit(op::MaxPoolGrad{{4}}, {y.value, where});
  try {
    static_cast<void>(made.data());
    FAIL() << "no error";
  } catch (const IndexError& error) {
    EXPECT_EQ(without_calls(error.message()), "max_pool_grad: index 9 is out of range for [4]");
    EXPECT_NE(error.message().find("\n  called from "), std::string_view::npos);  // where it was asked for
  }
}

TEST(GpuPools, SayWhichIndexIsWrongWhereverChannelsLie) {
  const PointwiseOperand y({1, 2, 1, 3}, DType::F32, 6, true);
  const std::vector<std::int64_t> index{0, 8, 1, 2, 9, 0};  // of pixels, with their channels side by side
  const Value where =
      permute(from_data(TensorData::of<std::int64_t>({1, 1, 3, 2}, std::span(index)), simulated()), {0, 3, 1, 2});
  const Value made = emit(op::MaxPoolGrad{{1, 4}}, {y.value, where});
  try {
    static_cast<void>(made.data());
    FAIL() << "no error";
  } catch (const IndexError& error) {
    EXPECT_EQ(without_calls(error.message()), "max_pool_grad: index 9 is out of range for [1, 4]");
    EXPECT_NE(error.message().find("\n  called from "), std::string_view::npos);  // where it was asked for
  }
}

TEST(GpuBlends, AddWhatLiesOutsideNowhere) {
  const PointwiseOperand x({2, 3, 5}, DType::F32, 8), w({2, 40, 2}, DType::F32, 9), y({2, 3, 40}, DType::F32, 10);
  std::vector<std::int64_t> index(160);
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::int64_t>(i * 7 % 11) - 3;  // -3 to 7
  const Value which(
      simulated().backend().upload(TensorData::of<std::int64_t>({2, 40, 2}, std::span(index)), simulated()));
  std::vector<double> blended(240), back(30), of_weight(160);
  each_index({2, 3, 40, 2}, [&](const Dims& at) {
    const std::int64_t to = index[place_of({2, 40, 2}, {at[0], at[2], at[3]})];
    if (to < 0 || to >= 5) return;
    blended[place_of({2, 3, 40}, {at[0], at[1], at[2]})] += x({at[0], at[1], to}) * w({at[0], at[2], at[3]});
    back[place_of({2, 3, 5}, {at[0], at[1], to})] += y({at[0], at[1], at[2]}) * w({at[0], at[2], at[3]});
    of_weight[place_of({2, 40, 2}, {at[0], at[2], at[3]})] += x({at[0], at[1], to}) * y({at[0], at[1], at[2]});
  });
  expect_equal(emit(op::Blend{}, {x.value, which, w.value}), blended, "blend");
  expect_equal(emit(op::BlendTranspose{5}, {y.value, which, w.value}), back, "transpose");
  expect_equal(emit(op::BlendWeightGrad{}, {x.value, which, y.value}), of_weight, "weight");
}

}  // namespace
}  // namespace kiln::test
