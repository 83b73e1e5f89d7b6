// Models with other parameters than their own, whole models that are not drawn, and fields that are no parts.
#include "kiln/nn/module/functional.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/kiln.hpp"

#include "tests/nn/sines.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

struct Net {
  nn::Linear first, second;
  Tensor<2> forward(const Tensor<2>& x) const { return second.forward(first.forward(x).tanh()); }
};
Net make_net(const Device& on, DType dtype = DType::F32) {
  on.seed(2);
  const Net net{nn::LinearConfig{2, 3}.init(on), nn::LinearConfig{3, 1}.init(on)};
  return map_params(net, [&](const std::string&, const Value& value) { return cast(value, dtype); });
}

Value filled(const Shape& shape, double number, DType dtype = DType::F32) {
  return from_data(
      TensorData::of<double>(shape, std::vector<double>(static_cast<std::size_t>(numel(shape)), number)).to(dtype),
      autodiff);
}

TEST(FunctionalCall, TakesOtherParameters) {
  const Net net = make_net(autodiff), other = make_net(autodiff);
  const Tensor<2> x = Tensor<2>::of({{1, 2}, {3, -1}}, autodiff);
  EXPECT_EQ(functional_call(net, values_of(other), x).to_vector(), other.forward(x).to_vector());
  const Value bias = filled({1}, 5);
  const auto moved = functional_call(net, {{"second.bias", bias}}, x).to_vector();
  const auto expected = (net.forward(x) - net.second.bias + 5).to_vector();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(moved[i], expected[i], 1e-5);
}

/// The loss after a step of gradient descent, as a function of the weights before it: a gradient through a gradient.
double loss_after_step(const Net& net, const ParamValues& values, const Tensor<2>& x) {
  return functional_call(net, values, x).square().mean().item<double>();
}

TEST(FunctionalCall, LetsGradientsThroughToWhatParametersAreMadeOf) {
  const Net net = make_net(autodiff, DType::F64);
  const Tensor<2> x(sines({4, 2}, 0.7, 0.1, autodiff, DType::F64));
  // Each parameter is its own times a number, by which the loss is differentiated.
  const auto scaled = [&](const Value& scale) {
    ParamValues values = values_of(net);
    for (auto& [path, value] : values) value = value.detach() * scale;
    return values;
  };
  const Value scale = filled({}, 1.3, DType::F64).require_grad();
  const Gradients grads = functional_call(net, scaled(scale), x).square().mean().backward();
  const auto at = [&](double s) { return loss_after_step(net, scaled(filled({}, s, DType::F64)), x); };
  const double slope = (at(1.3 + 1e-6) - at(1.3 - 1e-6)) / 2e-6;
  EXPECT_NEAR(grads.find(scale)->item(), slope, 1e-6 * std::abs(slope));
}

TEST(FunctionalCall, DifferentiatesThroughAnUpdate) {
  const Net net = make_net(autodiff, DType::F64);
  const Tensor<2> x(sines({4, 2}, 0.7, 0.1, autodiff, DType::F64)),
      other(sines({4, 2}, 1.1, 0.3, autodiff, DType::F64));
  // The loss on `other` after a step of gradient descent on x, by the rate of the step and by the first weights.
  const auto after_step = [&](const ParamValues& start, const Value& rate) {
    const Gradients grads = functional_call(net, start, x).square().mean().backward({.create_graph = true});
    ParamValues next;
    for (const auto& [path, value] : start) next.emplace(path, value - *grads.find(value) * rate);
    return functional_call(net, next, other).square().mean();
  };
  ParamValues start = values_of(net);
  const Value rate = filled({}, 0.1, DType::F64).require_grad();
  const Gradients grads = after_step(start, rate).backward();
  const auto by_rate = [&](double r) { return after_step(start, filled({}, r, DType::F64)).item<double>(); };
  EXPECT_NEAR(grads.find(rate)->item(), (by_rate(0.1 + 1e-6) - by_rate(0.1 - 1e-6)) / 2e-6, 1e-7);
  const Value weight = start.at("first.weight");
  const TensorData found = grads.find(weight)->data();
  for (std::int64_t i = 0; i < weight.numel(); ++i) {
    const auto at = [&](double step) {
      TensorData data = weight.data();
      data.as<double>()[static_cast<std::size_t>(i)] += step;
      ParamValues moved = start;
      moved.at("first.weight") = from_data(std::move(data), autodiff).require_grad();
      return after_step(moved, rate.detach()).item<double>();
    };
    EXPECT_NEAR(found.at(i), (at(1e-6) - at(-1e-6)) / 2e-6, 1e-7) << i;
  }
}

TEST(FunctionalCall, SaysWhatIsWrong) {
  const Net net = make_net(autodiff);
  EXPECT_EQ(sentence_of([&] { with_values(net, {{"frist.bias", filled({3}, 0)}}); }),
            "ArgumentError: with_values: the model has no 'frist.bias' (did you mean 'first.bias'?)");
  EXPECT_EQ(sentence_of([&] { with_values(net, {{"first.bias", filled({2}, 0)}}); }),
            "ShapeError: with_values: 'first.bias' has shape [3], the tensor for it [2]");
  const Net computed = with_values(net, {{"first.bias", net.first.bias.value() * 2}});
  EXPECT_EQ(sentence_of([&] { value_and_grad(computed, [](const Net& m) { return m.first.bias.sum(); }); }),
            "AutodiffError: value_and_grad: parameter 'first.bias' was assigned a tensor that is no parameter; write "
            "nn::Param(tensor)");
}

struct Deep {
  std::vector<nn::Linear> layers;
  nn::BatchNorm norm;
};
struct DeepConfig {
  std::int64_t width = 512;
  Deep init(const Device& on) const {
    return {{nn::LinearConfig{width, width}.init(on), nn::LinearConfig{width, width}.init(on)},
            nn::BatchNormConfig{.channels = width}.init(on)};
  }
};

TEST(Uninitialized, IsLoadedWithoutDrawingOrMemory) {
  const DeepConfig config;
  autodiff.seed(7);
  const Deep trained = config.init(autodiff);
  const std::vector<std::byte> bytes = write_safetensors(record_of(trained));

  autodiff.seed(5);
  const auto next = uniform(Shape{}, 0, 1, autodiff).item();
  autodiff.seed(5);
  autodiff.sync();
  const std::int64_t before = autodiff.memory().in_use;
  const Deep empty = uninitialized(config, autodiff);
  autodiff.sync();
  EXPECT_LT(autodiff.memory().in_use - before, 64 * 1024) << "two weights are a mebibyte each";
  EXPECT_EQ(uniform(Shape{}, 0, 1, autodiff).item(), next);
  EXPECT_EQ(num_params(empty), num_params(trained));
  EXPECT_TRUE(empty.layers[0].weight.tracked());

  const Deep loaded = from_record(view_safetensors(bytes, "deep"), empty, "deep");
  EXPECT_EQ(loaded.layers[1].weight.to_vector(), trained.layers[1].weight.to_vector());
  EXPECT_EQ(loaded.layers[0].bias.to_vector(), trained.layers[0].bias.to_vector());
  EXPECT_NE(config.init(autodiff).layers[0].weight.to_vector(), empty.layers[0].weight.to_vector())
      << "the scope ended";
}

struct Student {
  nn::Linear layer;
  nn::Skip<nn::Linear> teacher;
  std::vector<nn::Skip<nn::Linear>> others;
};

TEST(Devices, AreThoseOfAllTensors) {
  Net net = make_net(cpu);
  EXPECT_EQ(devices_of(net), std::vector<Device>{cpu});
  const Device reference = Device::parse("reference");
  net.second = to_device(net.second, reference);
  EXPECT_EQ(devices_of(net), (std::vector<Device>{cpu, reference}));
}

TEST(Skip, IsNoPartOfItsModule) {
  const nn::Linear linear = nn::LinearConfig{2, 2}.init(autodiff);
  Student student{.layer = linear, .teacher = nn::LinearConfig{2, 3}.init(autodiff), .others = {}};
  student.others.push_back(linear);
  EXPECT_EQ(num_params(student), 6);
  EXPECT_EQ(record_of(student).tensors.size(), 2u);
  EXPECT_TRUE(to_device(student, cpu).teacher->weight.tracked()) << "it is not moved";
  EXPECT_EQ(student.teacher->forward(ones({1, 2}, autodiff)).shape(), Shape({1, 3}));
  EXPECT_EQ(summary(student),
            "Student, 6 parameters\n  layer: Linear, 6 parameters\n    weight [2, 2]\n    bias [2]\n");
}

}  // namespace
}  // namespace kiln
