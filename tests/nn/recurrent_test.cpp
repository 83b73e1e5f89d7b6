// Recurrent modules against PyTorch 2.15 in float64 on the same sines (sines.hpp): parameter k of parameters() is
// sines(shape, .31 + .07 k, .2 + .3 k), and the figures of gradients are the sums of their products with sines(shape, .23,
// .1), where the loss is the sum of the outputs times sines(shape, .61, .4).
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/nn.hpp"

#include "sines.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using nn::Param;
using test::autodiff;

/// The parameters of a layer in one direction, in PyTorch's order.
template <class F>
void each_param(nn::RecurrentLayer& layer, F f) {
  f(layer.weight_ih);
  f(layer.weight_hh);
  if (!layer.bias_ih.empty()) f(layer.bias_ih), f(layer.bias_hh);
  if (!layer.weight_hr.empty()) f(layer.weight_hr);
}
template <class Module, class F>
void each_param(Module& module, F f) {
  for (std::size_t i = 0; i < module.layers.size(); ++i) {
    each_param(module.layers[i], f);
    if (!module.reversed.empty()) each_param(module.reversed[i], f);
  }
}

template <class Module>
Module filled(Module module) {
  int k = 0;
  each_param(module, [&](auto& param) {
    param = std::decay_t<decltype(param)>(sines(param.shape(), .31 + .07 * k, .2 + .3 * k, autodiff));
    ++k;
  });
  return module;
}

Tensor<3> x(const Shape& shape, double step = .9, double start = .5) {
  return Tensor<3>(sines(shape, step, start, autodiff));
}
Tensor<1, Int> lengths(const std::vector<std::int64_t>& numbers) {
  return Tensor<1, Int>(
      from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers), autodiff));
}

template <class Module>
void expect_gradients(Module module, const Tensor<3>& outputs, std::initializer_list<double> expected) {
  Values params;
  each_param(module, [&](auto& param) { params.push_back(param.value()); });
  const Values grads = grad((outputs * Tensor<3>(sines(outputs.shape(), .61, .4, autodiff))).sum().value(), params);
  std::vector<double> found;
  for (const Value& each : grads) found.push_back(sum(each * sines(each.shape(), .23, .1, autodiff)).item());
  const Shape shape{static_cast<std::int64_t>(expected.size())};
  EXPECT_EQ(difference(TensorData::of<double>(shape, found), TensorData::of<double>(shape, expected), {2e-5, 5e-6}),
            "");
}

// torch.nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True)(sines((2, 3, 3), .9, .5))
TEST(Lstm, OfTwoLayersInBothDirectionsMatchesPyTorch) {
  const nn::Lstm layer =
      filled(nn::LstmConfig{.in = 3, .hidden = 2, .layers = 2, .bidirectional = true}.init(autodiff));
  const auto result = layer.forward(x({2, 3, 3}));
  expect_values(result.outputs, {2, 3, 4},
                {0.2321649, 0.00745317, -0.04958218, -0.5342776, 0.2722109, 0.01206566, -0.04071484, -0.4672907,
                 0.3323504, 0.01294583, -0.01369467, -0.3177794, 0.1571046, 0.01588805, -0.07262136, -0.3914336,
                 0.2169619, 0.02069646, -0.04291635, -0.3472653, 0.2646818, 0.01953145, -0.02576444, -0.2885208});
  expect_values(result.state.hidden, {4, 2, 2},
                {-0.1251871, -0.2674372, 0.03535077, -0.1935962, -0.5137148, -0.04669787, -0.4213007, -0.5103396,
                 0.3323504, 0.01294583, 0.2646818, 0.01953145, -0.04958218, -0.5342776, -0.07262136, -0.3914336});
  expect_values(result.state.cell, {4, 2, 2},
                {-0.5146874, -1.102493, 0.3367067, -0.9307335, -0.8932589, -0.04768803, -0.969579, -0.6152056,
                 0.8268128, 0.07636295, 0.807101, 0.09503855, -0.2198828, -0.7197432, -0.2131305, -0.5845289});
  expect_gradients(layer, result.outputs,
                   {0.02474071, 0.0005988803, -0.0419077, -0.0419077, 0.05147191, -0.006303594, 0.06522564, 0.06522564,
                    0.01073507, -0.03148042, -0.09973972, -0.09973972, 0.385402, 0.01085702, -0.07945912, -0.07945912});
}

// torch.nn.LSTM(3, 3, proj_size=2, bidirectional=True, batch_first=True) of pack_padded_sequence(sines((2, 2, 3), .9, .5),
// [1, 2]) and the states sines((2, 2, 2), .5, .3), sines((2, 2, 3), .7, .1)
TEST(Lstm, WithAProjectionAndLengthsMatchesPyTorch) {
  const nn::Lstm layer =
      filled(nn::LstmConfig{.in = 3, .hidden = 3, .bidirectional = true, .projection = 2}.init(autodiff));
  const auto result = layer.forward(x({2, 2, 3}), {x({2, 2, 2}, .5, .3), x({2, 2, 3}, .7, .1)}, lengths({1, 2}));
  expect_values(result.outputs, {2, 2, 4},
                {-0.4756993, -0.01646811, 0.09445099, -0.1948469, 0, 0, 0, 0, -0.5181543, 0.1731709, 0.004786295,
                 -0.1217983, -0.5839335, 0.4826054, -0.261991, 0.1191721});
  expect_values(result.state.hidden, {2, 2, 2},
                {-0.4756993, -0.01646811, -0.5839335, 0.4826054, 0.09445099, -0.1948469, 0.004786295, -0.1217983});
  expect_values(result.state.cell, {2, 2, 3},
                {-0.8795588, -0.3052691, 0.720935, -0.9389783, -1.338829, -0.7701182, 0.4674634, -0.1497566, -0.2502736,
                 0.9309183, 0.1734135, 0.4896819});
  expect_gradients(layer, result.outputs,
                   {0.2080861, -0.324201, -0.2466864, -0.2466864, -0.7954455, 0.03866227, 0.006999345, -0.06400396,
                    -0.06400396, 0.502866});
}

// torch.nn.LSTM(2, 2, num_layers=2, bidirectional=True, batch_first=True) of pack_padded_sequence(sines((3, 3, 2), .9, .5),
// [1, 3, 2], enforce_sorted=False) and the states sines((4, 3, 2), .5, .3), sines((4, 3, 2), .7, .1)
TEST(Lstm, OfSequencesOfDifferentLengthsMatchesPyTorch) {
  const nn::Lstm layer =
      filled(nn::LstmConfig{.in = 2, .hidden = 2, .layers = 2, .bidirectional = true}.init(autodiff));
  const auto result = layer.forward(x({3, 3, 2}), {x({4, 3, 2}, .5, .3), x({4, 3, 2}, .7, .1)}, lengths({1, 3, 2}));
  expect_values(
      result.outputs, {3, 3, 4},
      {0.3180473, 0.01677935,  0.0105526,   0.1863443,   0,          0,         0,           0,           0,
       0,         0,           0,           -0.06807789, -0.0393856, 0.1189978, -0.318254,   0.1835451,   -0.03328979,
       0.1664999, -0.01327648, 0.202757,    -0.01632983, 0.1136308,  0.4013876, -0.08774019, -0.02943192, -0.08178457,
       -0.447044, 0.164682,    -0.01356275, -0.0483775,  -0.3191498, 0,         0,           0,           0});
  expect_values(result.state.hidden, {4, 3, 2},
                {0.01095886, -0.009217762, 0.2953333,  -0.1819107, 0.04199777, -0.03652626, -0.6965694,  0.1847727,
                 -0.5290188, -0.3020378,   -0.3489655, -0.4057804, 0.3180473,  0.01677935,  0.202757,    -0.01632983,
                 0.164682,   -0.01356275,  0.0105526,  0.1863443,  0.1189978,  -0.318254,   -0.08178457, -0.447044});
  expect_values(result.state.cell, {4, 3, 2},
                {0.3040919, -0.2826558, 1.028464,   -0.7063705, 0.4689088, -1.470899, -1.061783, 0.2274452,
                 -1.062482, -0.3547848, -0.8421284, -0.4623826, 0.7443434, 0.1565049, 0.8419298, -0.05318329,
                 0.4786561, -0.0712066, 0.0408712,  0.221491,   0.3240727, -0.43151,  -0.263465, -0.6247564});
  expect_gradients(
      layer, result.outputs,
      {0.03333935, -0.04848386, -0.04299699, -0.04299699, 0.02433966, 0.0194368, -0.004676451, -0.004676451, 0.2700009,
       0.357935, 0.08057748, 0.08057748, -0.3176631, -0.05631637, 0.3637587, 0.3637587});
}

// torch.nn.GRU(3, 2, num_layers=2, bidirectional=True, batch_first=True) of pack_padded_sequence(sines((2, 3, 3), .9, .5),
// [3, 2]) and the state sines((4, 2, 2), .5, .3)
TEST(Gru, OfTwoLayersInBothDirectionsMatchesPyTorch) {
  const nn::Gru layer = filled(nn::GruConfig{.in = 3, .hidden = 2, .layers = 2, .bidirectional = true}.init(autodiff));
  const auto result = layer.forward(x({2, 3, 3}), x({4, 2, 2}, .5, .3), lengths({3, 2}));
  expect_values(result.outputs, {2, 3, 4},
                {0.7883573, 0.201815,  -0.01143369, -0.1948087,  0.6999501, 0.3874947, 0.005372321, -0.1917856,
                 0.7009407, 0.5810157, 0.004747616, 0.004062446, 0.6526824, 0.1399488, 0.6365258,   0.2883159,
                 0.2547769, 0.3111918, 0.688834,    -0.2313465,  0,         0,         0,           0});
  expect_values(result.state, {4, 2, 2},
                {0.369735, -0.0676161, 0.8624888, 0.4334278, -0.8348511, -0.2172189, -0.7071111, -0.5667347, 0.7009407,
                 0.5810157, 0.2547769, 0.3111918, -0.01143369, -0.1948087, 0.6365258, 0.2883159});
  expect_gradients(layer, result.outputs,
                   {-0.09394533, 0.5484725, 0.2933553, 0.2850452, -0.356009, 0.1059656, -0.3045444, -0.2438238,
                    -0.3649205, 0.4260784, -0.5744553, -0.4393901, 0.5115348, -0.5109356, 0.08134382, -0.1055321});
}

// torch.nn.GRU(3, 2, bias=False)(sines((2, 2, 3), .9, .5))
TEST(Gru, WithTimeFirstAndWithoutBiasMatchesPyTorch) {
  const nn::Gru layer = filled(nn::GruConfig{.in = 3, .hidden = 2, .bias = false, .batch_first = false}.init(autodiff));
  const auto result = layer.forward(x({2, 2, 3}));
  expect_values(result.outputs, {2, 2, 2},
                {-0.1834962, -0.5772643, 0.693751, 0.3299694, -0.4550344, -0.4207881, 0.5437632, 0.02384831});
  expect_values(result.state, {1, 2, 2}, {-0.4550344, -0.4207881, 0.5437632, 0.02384831});
  expect_gradients(layer, result.outputs, {0.6309849, -0.4568026});
}

// torch.nn.RNN(3, 2, num_layers=2, nonlinearity='relu', bidirectional=True, batch_first=True)(sines((2, 2, 3), .9, .5),
// sines((4, 2, 2), .5, .3))
TEST(Rnn, WithReluMatchesPyTorch) {
  const nn::Rnn layer = filled(
      nn::RnnConfig{.in = 3, .hidden = 2, .layers = 2, .bidirectional = true, .activation = GateActivation::Relu}.init(
          autodiff));
  const auto result = layer.forward(x({2, 2, 3}), x({4, 2, 2}, .5, .3));
  expect_values(result.outputs, {2, 2, 4},
                {0, 7.980639, 0, 0, 0, 0.3679015, 0, 1.440673, 0, 6.142608, 0, 0.00535516, 0, 2.118095, 0, 2.660987});
  expect_values(result.state, {4, 2, 2},
                {6.060687, 8.477715, 6.714909, 10.20456, 5.949336, 0, 4.615121, 0, 0, 0.3679015, 0, 2.118095, 0, 0, 0,
                 0.00535516});
  expect_gradients(layer, result.outputs,
                   {0.8889888, 1.87248, 0.1853762, 0.1853762, -2.667006, 1.496629, 0.07016327, 0.07016327, 14.35185,
                    1.614846, 0.2386612, 0.2386612, 4.010508, 1.736695, 0.1115719, 0.1115719});
}

// torch.nn.RNN(3, 2, batch_first=True)(sines((2, 2, 3), .9, .5))
TEST(Rnn, MatchesPyTorch) {
  const nn::Rnn layer = filled(nn::RnnConfig{.in = 3, .hidden = 2}.init(autodiff));
  const auto result = layer.forward(x({2, 2, 3}));
  expect_values(result.outputs, {2, 2, 2},
                {0.9915307, 0.9994422, 0.9404654, 0.9693372, 0.9865609, 0.9957155, 0.982078, 0.9986646});
  expect_values(result.state, {1, 2, 2}, {0.9404654, 0.9693372, 0.982078, 0.9986646});
  expect_gradients(layer, result.outputs, {-0.1466614, 0.09264847, 0.02432583, 0.02432583});
}

// torch.nn.LSTMCell(3, 2), GRUCell(3, 2), RNNCell(3, 2) of sines((2, 3), .9, .5), sines((2, 2), .5, .3) and, of the
// first, the cell sines((2, 2), .7, .1).
TEST(RecurrentCells, MatchPyTorch) {
  const Tensor<2> x = sines_of<2>({2, 3}, .9, .5), h = sines_of<2>({2, 2}, .5, .3);
  const auto cell_of = [](auto cell) {
    int k = 0;
    each_param(cell.layer, [&](auto& param) {
      param = std::decay_t<decltype(param)>(sines(param.shape(), .31 + .07 * k, .2 + .3 * k));
      ++k;
    });
    return cell;
  };
  const Device device = Device::cpu();
  const auto [hidden, memory] =
      cell_of(nn::LstmCellConfig{.in = 3, .hidden = 2}.init(device)).forward(x, {h, sines_of<2>({2, 2}, .7, .1)});
  expect_values(hidden, {2, 2}, {-0.05819053, -0.175293, 0.05319964, 0.00351445});
  expect_values(memory, {2, 2}, {-0.8409369, -0.4709222, 1.59419, 0.1380564});
  expect_values(cell_of(nn::GruCellConfig{.in = 3, .hidden = 2}.init(device)).forward(x, h), {2, 2},
                {0.2733873, 0.2465908, 0.954324, 0.8255226});
  expect_values(cell_of(nn::RnnCellConfig{.in = 3, .hidden = 2}.init(device)).forward(x, h), {2, 2},
                {0.997882, 0.999924, 0.9365155, 0.9660226});
}

TEST(RecurrentCells, GoThroughASequenceAsTheLayerDoes) {
  const nn::Lstm layer = nn::LstmConfig{.in = 3, .hidden = 5, .projection = 2}.init(Device::cpu());
  const nn::LstmCell cell{layer.layers[0], {}};
  const Tensor<3> sequence = sines_of<3>({2, 4, 3});
  nn::LstmCellState state;
  for (int t = 0; t < 4; ++t) state = cell.forward(sequence.at(1, t), state);
  const auto whole = layer.forward(sequence);
  EXPECT_EQ(difference(state.hidden.data(), whole.outputs.at(1, -1).data(), {1e-6, 1e-6}), "");
  EXPECT_EQ(difference(state.cell.data(), whole.state.cell.at(0, 0).data(), {1e-6, 1e-6}), "");
}

// sigmoid(W x + b + U h + c), by hand: W = [1 2], b = 0.5, U = [3], c = -1, x = [0.2 0.1], h = [0.4].
TEST(GateController, IsTheActivationOfTwoLinearLayers) {
  const auto numbers = [](const Shape& shape, std::initializer_list<float> values) {
    return from_data(TensorData::of<float>(shape, values), Device::cpu());
  };
  const nn::GateController gate{{Param<2>(numbers({1, 2}, {1, 2})), Param<1>(numbers({1}, {0.5f}))},
                                {Param<2>(numbers({1, 1}, {3})), Param<1>(numbers({1}, {-1}))}};
  const Tensor<2> x(numbers({1, 2}, {0.2f, 0.1f})), h(numbers({1, 1}, {0.4f}));
  expect_values(gate.forward(x, h), {1, 1}, {0.7502601});  // of 1.1
  const auto drawn =
      nn::GateControllerConfig{.in = 3, .out = 2, .activation = GateActivation::Identity}.init(Device::cpu());
  EXPECT_EQ(drawn.forward(sines_of<2>({4, 3}), sines_of<2>({4, 2})).shape(), (Shape{4, 2}));
}

TEST(Lstm, HandsOnItsState) {
  const nn::Lstm layer = nn::LstmConfig{.in = 3, .hidden = 4, .layers = 2, .projection = 2}.init(Device::cpu());
  const Tensor<3> all = sines_of<3>({2, 5, 3});
  const auto whole = layer.forward(all), start = layer.forward(Tensor<3>(narrow(all.value(), 1, 0, 2)));
  const auto rest = layer.forward(Tensor<3>(narrow(all.value(), 1, 2, 3)), start.state);
  EXPECT_EQ(difference(rest.outputs.data(), narrow(whole.outputs.value(), 1, 2, 3).data(), {1e-6, 1e-6}), "");
  EXPECT_EQ(difference(rest.state.cell.data(), whole.state.cell.data(), {1e-6, 1e-6}), "");
}

TEST(Lstm, DropsWhatGoesFromALayerToTheNextWhileItTrains) {
  const Device device = Device::cpu();
  const nn::Lstm layer = nn::LstmConfig{.in = 3, .hidden = 4, .layers = 2, .dropout = 1}.init(device);
  const nn::Lstm upper{.layers = {layer.layers[1]}};
  const Tensor<3> x = sines_of<3>({2, 3, 3});
  EXPECT_EQ(train(layer).forward(x).outputs.to_vector(),
            upper.forward(Tensor<3>(zeros({2, 3, 4}, device))).outputs.to_vector())
      << "all of the first layer's outputs are dropped, none of the second's";
  const nn::Lstm lower{.layers = {layer.layers[0]}};
  EXPECT_EQ(valid(layer).forward(x).outputs.to_vector(), upper.forward(lower.forward(x).outputs).outputs.to_vector());
}

TEST(Lstm, KeepsCellsWithinItsClip) {
  nn::LstmConfig config{.in = 1, .hidden = 3, .clip = 0.25, .initializer = nn::init::Constant{1}};
  const nn::Lstm layer = config.init(Device::cpu());
  const Tensor<3> large = Tensor<3>(full({2, 6, 1}, 50.0, Device::cpu()));
  EXPECT_LE(max(abs(layer.forward(large).state.cell.value())).item(), 0.25);
  config.clip = {};
  EXPECT_GT(max(abs(config.init(Device::cpu()).forward(large).state.cell.value())).item(), 0.25);
}

TEST(Gru, ReversedIsTheSameOfTheReversedSequence) {
  nn::GruConfig config{.in = 3, .hidden = 4, .reset_after = false};
  nn::Gru layer = config.init(Device::cpu());
  const Tensor<3> x = sines_of<3>({2, 5, 3});
  const Value forward = layer.forward(Tensor<3>(flip(x.value(), {1}))).outputs.value();
  layer.options.reverse = true;
  EXPECT_EQ(difference(layer.forward(x).outputs.data(), flip(forward, {1}).data(), {1e-6, 1e-6}), "");
}

TEST(Gru, KeepsItsTypeInHalves) {
  const nn::Gru layer = nn::GruConfig{.in = 3, .hidden = 8}.init(Device::cpu());
  const Tensor<3> x = sines_of<3>({2, 4, 3});
  nn::Gru half = layer;
  each_param(half, [](auto& param) { param = std::decay_t<decltype(param)>(cast(param.value(), DType::BF16)); });
  const auto result = half.forward(Tensor<3>(cast(x.value(), DType::BF16)));
  EXPECT_EQ(result.outputs.value().dtype(), DType::BF16);
  EXPECT_EQ(difference(cast(result.outputs.value(), DType::F32).data(), layer.forward(x).outputs.data(), {0.03, 0.03}),
            "");
}

TEST(LstmConfig, DrawsWeightsWithinTheBoundOfPyTorch) {
  const nn::RecurrentLayer layer = nn::LstmConfig{.in = 64, .hidden = 16}.init(Device::cpu()).layers[0];
  EXPECT_EQ(layer.weight_ih.shape(), (Shape{64, 64}));
  EXPECT_EQ(layer.weight_hh.shape(), (Shape{64, 16}));
  EXPECT_EQ(layer.bias_hh.shape(), (Shape{64}));
  for (const Value& weight : {layer.weight_ih.value(), layer.weight_hh.value(), layer.bias_ih.value()}) {
    const float largest = Tensor<0>(max(abs(weight))).item();
    EXPECT_LE(largest, 0.25f);  // 1 / sqrt(hidden)
    EXPECT_GT(largest, 0.2f);
  }
  EXPECT_TRUE((nn::LstmConfig{.in = 2, .hidden = 1, .bias = false}.init(Device::cpu()).layers[0].bias_ih.empty()));
}

TEST(LstmConfig, MakesLayersAsWideAsThoseBelow) {
  const nn::Lstm deep =
      nn::LstmConfig{.in = 5, .hidden = 4, .layers = 3, .bidirectional = true, .projection = 3}.init(Device::cpu());
  ASSERT_EQ(deep.layers.size(), 3u);
  ASSERT_EQ(deep.reversed.size(), 3u);
  EXPECT_EQ(deep.layers[0].weight_ih.shape(), (Shape{16, 5}));
  EXPECT_EQ(deep.reversed[2].weight_ih.shape(), (Shape{16, 6}));
  EXPECT_EQ(deep.layers[1].weight_hh.shape(), (Shape{16, 3}));
  EXPECT_EQ(deep.layers[1].weight_hr.shape(), (Shape{3, 4}));
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "none";
}

TEST(RecurrentConfigs, RefuseWhatCannotBe) {
  const Device device = Device::cpu();
  EXPECT_EQ(error_of([&] { nn::LstmConfig{.in = 2, .hidden = 0}.init(device); }),
            "ArgumentError: LstmConfig: in = 2, hidden = 0 and layers = 1 must be positive");
  EXPECT_EQ(error_of([&] { nn::GruConfig{.in = 2, .hidden = 2, .layers = 0}.init(device); }),
            "ArgumentError: GruConfig: in = 2, hidden = 2 and layers = 0 must be positive");
  EXPECT_EQ(error_of([&] { nn::LstmConfig{.in = 2, .hidden = 2, .projection = 2}.init(device); }),
            "ArgumentError: LstmConfig: a projection to 2 is not below hidden = 2");
  EXPECT_EQ(error_of([&] { nn::RnnConfig{.in = 2, .hidden = 2, .dropout = 2}.init(device); }),
            "ArgumentError: RnnConfig: a dropout of 2 is not between 0 and 1");
  EXPECT_EQ(error_of([&] { nn::RnnConfig{.in = 2, .hidden = 2, .clip = 0}.init(device); }),
            "ArgumentError: RnnConfig: clip must be positive, got 0");
}

TEST(RecurrentLayers, RefuseWhatDoesNotFit) {
  const Device device = Device::cpu();
  const nn::Lstm layer = nn::LstmConfig{.in = 3, .hidden = 2, .layers = 2}.init(device);
  EXPECT_EQ(error_of([&] { layer.forward(sines_of<3>({2, 3, 4})); }),
            "ShapeError: lstm: the input weights [8, 3] are not [8, 4]");
  EXPECT_EQ(error_of([&] { layer.forward(sines_of<3>({2, 3, 3}), {sines_of<3>({1, 2, 2}), {}}); }),
            "ShapeError: Lstm: a state must have 2 layers in its first dimension, got float32 [1, 2, 2]");
  EXPECT_EQ(error_of([&] { layer.forward(sines_of<3>({2, 3, 3}), {}, lengths({1})); }),
            "ShapeError: lstm: lengths must be [2], got int64 [1]");
  EXPECT_EQ(error_of([&] { nn::Gru{}.forward(sines_of<3>({2, 3, 3})); }),
            "ArgumentError: Gru: has 0 layers and 0 in the other direction");
}

TEST(PadSequences, PutsZerosBehindTheShorter) {
  const auto [values, counts] =
      nn::pad_sequences({sines_of<2>({1, 2}, .5, 1), sines_of<2>({3, 2}), sines_of<2>({0, 2})});
  EXPECT_EQ(counts.to_vector(), (std::vector<std::int64_t>{1, 3, 0}));
  EXPECT_EQ(values.shape(), (Shape{3, 3, 2}));
  const std::vector<float> expected = sines_of<2>({1, 2}, .5, 1).to_vector(), found = values.to_vector();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(found[i], i < 2 ? expected[i] : 0) << i;
  EXPECT_EQ(error_of([] { nn::pad_sequences({}); }), "ArgumentError: pad_sequences: no sequences were given");
  EXPECT_EQ(error_of([] { nn::pad_sequences({sines_of<2>({1, 2}), sines_of<2>({1, 3})}); }),
            "ShapeError: pad_sequences: [1, 3] and [1, 2] differ in width");
}

}  // namespace
}  // namespace kiln
