// ConvLstm against loops over doubles.
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/nn.hpp"
#include "kiln/nn/recurrent/conv_lstm.hpp"
#include "kiln/tensor/assemble.hpp"

#include "sines.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

constexpr int kBatch = 2, kTime = 3, kIn = 2, kHidden = 3, kRows = 4, kColumns = 5;

double sine(std::int64_t index, double step, double start) {
  return static_cast<float>(std::sin(static_cast<double>(index) * step + start));
}
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// Numbers [channels][rows][columns].
struct Picture {
  std::vector<double> numbers;
  double at(int channel, int row, int column) const {
    if (row < 0 || row >= kRows || column < 0 || column >= kColumns) return 0;
    return numbers[static_cast<std::size_t>((channel * kRows + row) * kColumns + column)];
  }
};

/// One channel of a 3 x 3 convolution that keeps sizes, at one place; element i of the weight is sine(i, step, start).
double convolved(const Picture& x, int channels, int to, int row, int column, double step, double start) {
  double sum = 0;
  for (int from = 0; from < channels; ++from)
    for (int down = 0; down < 3; ++down)
      for (int across = 0; across < 3; ++across)
        sum += x.at(from, row + down - 1, column + across - 1) *
               sine(((to * channels + from) * 3 + down) * 3 + across, step, start);
  return sum;
}

/// The formulas of the paper, without peepholes, from a state of sines.
std::vector<double> expected_outputs() {
  std::vector<double> outputs(kBatch * kTime * kHidden * kRows * kColumns);
  const std::size_t size = kHidden * kRows * kColumns;
  for (int row_of_batch = 0; row_of_batch < kBatch; ++row_of_batch) {
    Picture hidden{std::vector<double>(size)}, cell = hidden;
    for (std::size_t i = 0; i < size; ++i) {
      const auto index = static_cast<std::int64_t>(static_cast<std::size_t>(row_of_batch) * size + i);
      hidden.numbers[i] = sine(index, .7, .1);
      cell.numbers[i] = sine(index, .3, .2);
    }
    for (int moment = 0; moment < kTime; ++moment) {
      Picture x{std::vector<double>(kIn * kRows * kColumns)}, next_hidden = hidden, next_cell = cell;
      for (std::size_t i = 0; i < x.numbers.size(); ++i)
        x.numbers[i] = sine((row_of_batch * kTime + moment) * kIn * kRows * kColumns + static_cast<int>(i), .9, .5);
      for (int channel = 0; channel < kHidden; ++channel)
        for (int row = 0; row < kRows; ++row)
          for (int column = 0; column < kColumns; ++column) {
            const auto gate = [&](int which) {
              const int to = which * kHidden + channel;
              return convolved(x, kIn, to, row, column, .31, .2) + sine(to, .41, .3) +
                     convolved(hidden, kHidden, to, row, column, .53, .4);
            };
            const auto at = static_cast<std::size_t>((channel * kRows + row) * kColumns + column);
            next_cell.numbers[at] = sigmoid_of(gate(1)) * cell.numbers[at] + sigmoid_of(gate(0)) * std::tanh(gate(2));
            next_hidden.numbers[at] = sigmoid_of(gate(3)) * std::tanh(next_cell.numbers[at]);
          }
      hidden = next_hidden, cell = next_cell;
      std::copy(hidden.numbers.begin(), hidden.numbers.end(),
                outputs.begin() + static_cast<std::ptrdiff_t>(size) * (row_of_batch * kTime + moment));
    }
  }
  return outputs;
}

nn::ConvLstm2d layer(const Device& device = Device::cpu()) {
  nn::ConvLstm2d made = nn::ConvLstm2dConfig{.in = kIn, .hidden = kHidden}.init(device);
  made.input.weight = nn::Param<4>(sines(made.input.weight.shape(), .31, .2, device));
  made.input.bias = nn::Param<1>(sines(made.input.bias.shape(), .41, .3, device));
  made.hidden.weight = nn::Param<4>(sines(made.hidden.weight.shape(), .53, .4, device));
  return made;
}
Tensor<5> pictures() { return sines_of<5>({kBatch, kTime, kIn, kRows, kColumns}, .9, .5); }
nn::ConvLstmState<2> start() {
  const Shape shape{kBatch, kHidden, kRows, kColumns};
  return {sines_of<4>(shape, .7, .1), sines_of<4>(shape, .3, .2)};
}

TEST(ConvLstm, IsThePapersFormulas) {
  const auto [outputs, state] = layer().forward(pictures(), start());
  const Shape shape{kBatch, kTime, kHidden, kRows, kColumns};
  EXPECT_EQ(difference(outputs.data().to(DType::F64), TensorData::of<double>(shape, expected_outputs()), {1e-5, 2e-6}),
            "");
}

TEST(ConvLstm, GoesOnFromItsState) {
  const nn::ConvLstm2d made = layer();
  const Tensor<5> x = pictures();
  const auto whole = made.forward(x);
  const auto first = made.forward(x.narrow(1, 0, 1)), rest = made.forward(x.narrow(1, 1, 2), first.state);
  EXPECT_EQ(difference(cat({first.outputs, rest.outputs}, 1).data(), whole.outputs.data(), {1e-6, 1e-6}), "");
  EXPECT_EQ(difference(rest.state.cell.data(), whole.state.cell.data(), {1e-6, 1e-6}), "");
  const Shape shape{kBatch, kHidden, kRows, kColumns};
  const Tensor<4> zeros = Tensor<4>::zeros(shape, Device::cpu());
  EXPECT_EQ(difference(made.forward(x, {zeros, zeros}).outputs.data(), whole.outputs.data(), {1e-6, 1e-6}), "");
}

TEST(ConvLstm, GivesEachWeightTheGradientOfFiniteDifferences) {
  const nn::ConvLstm2d made = layer(Device::cpu().autodiff());
  const auto loss = [](const nn::ConvLstm2d& model) {
    return (model.forward(pictures(), start()).outputs *
            sines_of<5>({kBatch, kTime, kHidden, kRows, kColumns}, .61, .4))
        .sum();
  };
  const Values grads = grad(loss(made).value(), Values{made.input.weight.value(), made.hidden.weight.value()});
  const double step = 1e-2;
  for (const int place : {0, 41, 100}) {
    const auto moved = [&](nn::Param<4> nn::Conv2d::* member, nn::Conv2d nn::ConvLstm2d::* conv, double by) {
      nn::ConvLstm2d other = made;
      nn::Param<4>& weight = (other.*conv).*member;
      std::vector<float> numbers = weight.to_vector();
      numbers[static_cast<std::size_t>(place)] += static_cast<float>(by);
      weight = nn::Param<4>(
          from_data(TensorData::of<float>(weight.shape(), std::span<const float>(numbers)), Device::cpu().autodiff()));
      return static_cast<double>(loss(other).item());
    };
    int which = 0;
    for (nn::Conv2d nn::ConvLstm2d::* conv : {&nn::ConvLstm2d::input, &nn::ConvLstm2d::hidden}) {
      const double expected =
          (moved(&nn::Conv2d::weight, conv, step) - moved(&nn::Conv2d::weight, conv, -step)) / (2 * step);
      EXPECT_NEAR(grads[static_cast<std::size_t>(which++)].data().at(place), expected,
                  2e-3 + 1e-2 * std::abs(expected));
    }
  }
}

TEST(ConvLstm, DividesSizesByItsStrideAndTakesOtherDimensions) {
  const nn::ConvLstm1d line =
      nn::ConvLstm1dConfig{.in = 2, .hidden = 4, .kernel = {5}, .hidden_kernel = {2}, .stride = {2}}.init(
          Device::cpu());
  const auto [outputs, state] = line.forward(sines_of<4>({1, 3, 2, 7}));
  EXPECT_EQ(outputs.shape(), (Shape{1, 3, 4, 4}));
  EXPECT_EQ(state.hidden.shape(), (Shape{1, 4, 4}));
  EXPECT_EQ(num_params(line), 16 * 2 * 5 + 16 + 16 * 4 * 2);
}

TEST(ConvLstm, SaysWhatDoesNotFit) {
  const nn::ConvLstm2d made = layer();
  EXPECT_EQ(sentence_of([&] { made.forward(Tensor<5>::zeros({2, 0, kIn, 4, 5}, Device::cpu())); }),
            "ShapeError: ConvLstm: x [2, 0, 2, 4, 5] has no time steps");
  EXPECT_EQ(
      sentence_of([&] { made.forward(pictures(), {Tensor<4>::zeros({1, kHidden, 4, 5}, Device::cpu()), {}}); }),
      "ShapeError: ConvLstm: a state of shape [1, 3, 4, 5] does not fit x [2, 3, 2, 4, 5], it should be [2, 3, 4, "
      "5]");
}

}  // namespace
}  // namespace kiln
