#include "tests/compile/quantised.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln::compile {

using onnx::test::attribute, onnx::test::ints_attribute, onnx::test::Message, onnx::test::node;

namespace {

enum ElementNumber : int { kFloat = 1, kInt8 = 3, kInt32 = 6 };

/// A value of the sizes.
Message typed(std::string_view name, const Shape& shape) {
  Message sizes;
  for (const std::int64_t size : shape) sizes.message(1, Message().number(1, size));
  return Message().text(1, name).message(2, Message().message(1, Message().number(1, kFloat).message(2, sizes)));
}

double largest_of(const Value& x) {
  double largest = 0;
  for (const float number : x.data().to_vector<float>())
    largest = std::max(largest, std::fabs(static_cast<double>(number)));
  return largest;
}

}  // namespace

QuantisedNetwork::QuantisedNetwork(const Value& example) : x_(example) {
  parts_.inputs = {typed("x", example.shape())};
  quantise(false);
}

void QuantisedNetwork::constant(const std::string& name, const Shape& sizes, int element, const void* data,
                                std::size_t bytes) {
  Message made;
  for (const std::int64_t size : sizes) made.number(1, size);
  parts_.initializers.push_back(
      made.number(2, element).text(8, name).text(9, std::string_view(static_cast<const char*>(data), bytes)));
}

float QuantisedNetwork::scale_for(double largest, int steps) {
  return static_cast<float>(std::exp2(std::ceil(std::log2(std::max(largest, 1e-6) / steps))));
}

void QuantisedNetwork::quantise(bool positive) {
  const std::string scale = name("scale"), zero = name("zero"), integers = name("integers"), floats = name("floats");
  scale_ = scale_for(largest_of(x_), positive ? 255 : 127);
  const std::int8_t point = positive ? -128 : 0;
  constant(scale, {}, kFloat, &scale_, sizeof scale_);
  constant(zero, {}, kInt8, &point, 1);
  add(node("QuantizeLinear", {last_, scale, zero}, {integers}));
  add(node("DequantizeLinear", {integers, scale, zero}, {floats}));
  last_ = floats;
}

std::pair<std::string, std::string> QuantisedNetwork::weights(const Value& weight, const Value& bias, Value& rounded) {
  const std::int64_t channels = weight.shape()[0], each = weight.numel() / channels;
  const TensorData data = weight.data(), biases = bias.data();
  std::vector<float> scales, of_bias, near;
  std::vector<std::int8_t> integers, zeros(static_cast<std::size_t>(channels));
  std::vector<std::int32_t> wide, wide_zeros(static_cast<std::size_t>(channels));
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto numbers = data.as<float>().subspan(static_cast<std::size_t>(c * each), static_cast<std::size_t>(each));
    double largest = 0;
    for (const float number : numbers) largest = std::max(largest, std::fabs(static_cast<double>(number)));
    scales.push_back(scale_for(largest, 127));
    of_bias.push_back(scales.back() * scale_);
    for (const float number : numbers) {
      integers.push_back(static_cast<std::int8_t>(std::lround(number / scales.back())));
      near.push_back(static_cast<float>(integers.back()) * scales.back());
    }
    wide.push_back(
        static_cast<std::int32_t>(std::lround(biases.as<float>()[static_cast<std::size_t>(c)] / of_bias.back())));
  }
  bytes_ += weight.numel() + 4 * channels;
  rounded = from_data(TensorData::of<float>(weight.shape(), near), weight.device());
  const auto dequantised = [&](const char* what, const Shape& shape, int element, const void* list, std::size_t bytes,
                               const std::vector<float>& scale, const void* zero, std::size_t zero_bytes) {
    const std::string named = name(what), floats = named + "_floats";
    constant(named, shape, element, list, bytes);
    constant(named + "_scale", {channels}, kFloat, scale.data(), 4 * scale.size());
    constant(named + "_zero", {channels}, element, zero, zero_bytes);
    add(node("DequantizeLinear", {named, named + "_scale", named + "_zero"}, {floats},
             {attribute("axis", std::int64_t{0})}));
    return floats;
  };
  return {dequantised("weight", weight.shape(), kInt8, integers.data(), integers.size(), scales, zeros.data(),
                      zeros.size()),
          dequantised("bias", {channels}, kInt32, wide.data(), 4 * wide.size(), of_bias, wide_zeros.data(),
                      4 * wide_zeros.size())};
}

void QuantisedNetwork::activate(bool relu) {
  if (relu) {
    const std::string named = name("relu");
    add(node("Relu", {last_}, {named}));
    x_ = kiln::relu(x_);
    last_ = named;
  }
  quantise(relu);
}

QuantisedNetwork& QuantisedNetwork::conv(const Value& weight, const Value& bias, const ConvOptions& options,
                                         bool relu) {
  Value rounded;
  const auto [w, b] = weights(weight, bias, rounded);
  const auto list = [](const Spatial& given, std::int64_t otherwise) {
    std::vector<std::int64_t> sizes(given.begin(), given.end());
    return sizes.empty() ? std::vector<std::int64_t>{otherwise, otherwise} : sizes;
  };
  std::vector<std::int64_t> pads = list(options.padding, 0);
  const std::vector<std::int64_t> after = options.padding_after.empty() ? pads : list(options.padding_after, 0);
  pads.insert(pads.end(), after.begin(), after.end());
  const std::string named = name("conv");
  add(node("Conv", {last_, w, b}, {named},
           {ints_attribute("strides", list(options.stride, 1)), ints_attribute("pads", pads),
            attribute("group", options.groups)}));
  x_ = kiln::conv(x_, rounded, bias, options);
  last_ = named;
  activate(relu);
  return *this;
}

QuantisedNetwork& QuantisedNetwork::linear(const Value& weight, const Value& bias, bool relu) {
  Value rounded;
  const auto [w, b] = weights(weight, bias, rounded);
  const std::string named = name("linear");
  add(node("Gemm", {last_, w, b}, {named}, {attribute("transB", std::int64_t{1})}));
  x_ = matmul(x_, transpose(rounded)) + bias;
  last_ = named;
  activate(relu);
  return *this;
}

QuantisedNetwork& QuantisedNetwork::average(std::int64_t height, std::int64_t width) {
  const std::string named = name("average");
  add(node("AveragePool", {last_}, {named},
           {ints_attribute("kernel_shape", {height, width}), ints_attribute("strides", {height, width})}));
  x_ = avg_pool(x_, {.kernel = {height, width}});
  last_ = named;
  quantise(false);
  return *this;
}

QuantisedNetwork& QuantisedNetwork::flatten() {
  const std::string named = name("flat");
  add(node("Flatten", {last_}, {named}));
  x_ = kiln::flatten(x_, 1);
  last_ = named;
  return *this;
}

QuantisedNetwork& QuantisedNetwork::softmax() {
  const std::string named = name("chances");
  add(node("Softmax", {last_}, {named}));
  x_ = kiln::softmax(x_, 1);
  last_ = named;
  return *this;
}

std::string QuantisedNetwork::file() {
  parts_.nodes.push_back(node("Identity", {last_}, {"y"}));
  parts_.outputs = {typed("y", x_.shape())};
  return onnx::test::model(onnx::test::graph(parts_));
}

}  // namespace kiln::compile
