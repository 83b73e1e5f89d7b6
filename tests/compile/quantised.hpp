// Networks as ONNX Runtime's quantiser writes them: weights of int8 with a scale for each channel, biases of int32,
// activations of int8, and nodes of floats between QuantizeLinear and DequantizeLinear. All scales are powers of two, so
// that sums of products are exact in float32 and their order is nothing that two machines could differ in.
#pragma once
#include <string>

#include "kiln/ops/functions.hpp"
#include "tests/onnx/model_writer.hpp"

namespace kiln::compile {

class QuantisedNetwork {
 public:
  /// A network of one input, "x", of the example's shape. Scales are those that the example needs.
  explicit QuantisedNetwork(const Value& example);

  /// weight [out, in / groups, height, width], bias [out]
  QuantisedNetwork& conv(const Value& weight, const Value& bias, const ConvOptions& options, bool relu);
  /// weight [out, in], bias [out]
  QuantisedNetwork& linear(const Value& weight, const Value& bias, bool relu);
  /// Averages of windows that do not overlap.
  QuantisedNetwork& average(std::int64_t height, std::int64_t width);
  QuantisedNetwork& flatten();
  QuantisedNetwork& softmax();

  /// The .onnx file, whose output is "y".
  std::string file();
  /// Bytes of the weights, a byte each, and of the biases.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::string name(const char* what) { return what + std::to_string(count_++); }
  void add(const onnx::test::Message& node) { parts_.nodes.push_back(node); }
  void constant(const std::string& name, const Shape& sizes, int element, const void* data, std::size_t bytes);
  /// The power of two whose `steps` cover the number.
  static float scale_for(double largest, int steps);
  /// Adds a weight and a bias; returns their names.
  std::pair<std::string, std::string> weights(const Value& weight, const Value& bias, Value& rounded);
  void quantise(bool positive);
  void activate(bool relu);

  onnx::test::GraphParts parts_{};
  Value x_;                 // what the nodes so far give for the example
  std::string last_ = "x";  // its name
  float scale_ = 1;         // of the activation that was quantised last
  int count_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace kiln::compile
