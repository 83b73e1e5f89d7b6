// OpenCV's figures (opencv_figures.py), and gradients by central differences.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/file.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/store/safetensors/safetensors.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::vision {

inline const TensorData& stored(const std::string& name) {
  static const TensorFile file = read_safetensors(read_file(KILN_OPENCV), KILN_OPENCV);
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) throw ArgumentError("no figure is called " + name);
  return found->second;
}
inline Value stored_value(const std::string& name) { return from_data(stored(name), test::cpu); }

/// To the bit.
inline void expect_same(const Value& actual, const std::string& name) {
  EXPECT_EQ(difference(actual.data(), stored(name), {0, 0}), "") << name;
}
/// Within `absolute`; whatever type OpenCV gives it in.
inline void expect_near(const Value& actual, const std::string& name, double absolute) {
  EXPECT_EQ(difference(actual.data().to(DType::F64), stored(name).to(DType::F64), {0, absolute}), "") << name;
}
/// Bytes to the bit, floats within `absolute`: case `i` of `function`.
inline void expect_case(const std::string& function, int i, double absolute,
                        const std::function<Value(const Value&)>& f) {
  expect_same(f(stored_value("bytes")), function + ".bytes." + std::to_string(i));
  expect_near(f(stored_value("floats")), function + ".floats." + std::to_string(i), absolute);
}

/// Different numbers in float64, none of which is equal to another.
inline TensorData numbers_of(const Shape& shape, double low = 0.1, double high = 0.9) {
  TensorData data(shape, DType::F64);
  double i = 0;
  for (double& x : data.as<double>()) x = low + (high - low) * std::fmod(++i * 0.6180339887498949, 1.0);
  return data;
}

/// The gradient of sum(weights * f(x)) against central differences in every element of x.
inline void expect_gradients(const TensorData& x, const std::function<Value(const Value&)>& f,
                             double tolerance = 1e-6) {
  const auto loss = [&](const Value& at) {
    const Value y = f(at);
    return sum(y * from_data(numbers_of(y.shape(), -1, 1), y.device()));
  };
  const Value leaf = from_data(x, test::autodiff).require_grad();
  const TensorData gradient = backward(loss(leaf)).of(leaf).data();
  for (std::size_t i = 0; i < x.as<double>().size(); ++i) {
    const auto at = [&](double step) {
      TensorData moved = x;
      moved.as<double>()[i] += step;
      return loss(from_data(std::move(moved), test::cpu)).item();
    };
    const double slope = (at(1e-6) - at(-1e-6)) / 2e-6;
    EXPECT_NEAR(gradient.as<double>()[i], slope, tolerance * std::max(1.0, std::abs(slope))) << "element " << i;
  }
}

/// uint8 [1, 1, height, width]
inline Value bytes(std::int64_t height, std::int64_t width, std::initializer_list<std::uint8_t> numbers) {
  return from_data(TensorData::of<std::uint8_t>({1, 1, height, width}, numbers), test::cpu);
}

}  // namespace kiln::vision
