// Weights and images by a closed formula, the same as in torch_figures.py.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/core/tensor_data.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/tensor/arithmetic.hpp"

namespace kiln {

/// sin(0.7 i^2 + p), where p is the sum of the name's letters, times `scale` and behind `offset`.
inline TensorData wave(std::string_view name, const Shape& shape, double scale = 1, double offset = 0) {
  const double phase = std::accumulate(name.begin(), name.end(), 0.0);
  TensorData data(shape, DType::F32);
  double i = 0;
  for (float& x : data.as<float>()) {
    x = static_cast<float>(offset + scale * std::sin(0.7 * i * i + phase));
    ++i;
  }
  return data;
}

/// What stands in a state dict under that name.
inline TensorData parameter(std::string_view name, const Shape& shape) {
  if (shape.empty()) return TensorData(shape, DType::I64);
  if (name.ends_with("running_var")) return wave(name, shape, 0.5, 1);
  if (shape.size() == 1) return wave(name, shape, 0.2, name.ends_with("weight") ? 1 : 0);
  const double inputs = static_cast<double>(numel(shape)) / static_cast<double>(shape[0]);
  return wave(name, shape, std::sqrt(2 / inputs));
}

template <int D>
Tensor<D> wave_tensor(std::string_view name, const Shape& shape, double scale = 1, double offset = 0) {
  return Tensor<D>::from_data(wave(name, shape, scale, offset), Device::cpu().autodiff());
}

template <class M>
M filled(M model) {
  visit_tensors(model, [](const std::string& path, Value& value) {
    value = from_data(parameter(path, value.shape()), value.device());
  });
  return model;
}

/// A step of gradient descent at torch_figures.py's rate; the loss before it. value_and_grad() would take longer to
/// compile.
template <class M, class F>
double step(M& model, F loss) {
  const Tensor<0> value = loss(model);
  const Gradients grads = value.backward();
  model = map_params(std::move(model), [&](const std::string&, const Value& param) {
    const auto grad = grads.find(param);
    return grad ? param.detach() - *grad * 0.01 : param;
  });
  return value.item<double>();
}

inline void expect_figures(const std::vector<double>& actual, std::span<const double> right, double tolerance = 1e-4) {
  ASSERT_EQ(actual.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i)
    EXPECT_NEAR(actual[i], right[i], tolerance * std::max(1.0, std::abs(right[i]))) << "figure " << i;
}

}  // namespace kiln
