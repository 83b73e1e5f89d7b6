// Gradients of models against finite differences in float64.
#pragma once
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/nn/gradients.hpp"
#include "kiln/tensor/arithmetic.hpp"

#include "sines.hpp"

namespace kiln {

template <class M>
M in_float64(const M& model) {
  return map_params(model, [](const auto&, const Value& value) { return cast(value, DType::F64); });
}
template <int D>
Tensor<D> input(const Shape& shape) {
  return Tensor<D>(sines(shape, 0.37, 0.2, Device::cpu().autodiff(), DType::F64));
}
/// A loss that weighs each element of y differently.
template <int D>
Tensor<0> weighted(const Tensor<D>& y) {
  return (y * Tensor<D>(sines(y.shape(), 0.61, 0.4, y.device(), DType::F64))).sum();
}

/// The value with `step` added to element `index`.
inline Value moved(const Value& value, std::int64_t index, double step) {
  TensorData data = value.data();
  data.as<double>()[static_cast<std::size_t>(index)] += step;
  return from_data(std::move(data), value.device());
}

/// Central differences of `loss` in every element of every parameter, against value_and_grad.
template <class M, class F>
void expect_right_gradients(const M& float_model, F loss) {
  const M model = in_float64(float_model);
  const GradientsParams grads = value_and_grad(model, loss).grads;
  visit_params(model, [&](const std::string& path, const auto& param) {
    const Value* grad = grads.find(path);
    ASSERT_NE(grad, nullptr) << path;
    const TensorData analytic = grad->data();
    for (std::int64_t i = 0; i < param.numel(); ++i) {
      const auto at = [&](double step) {
        return loss(
                   map_params(model, [&](const std::string& other,
                                         const Value& value) { return other == path ? moved(value, i, step) : value; }))
            .template item<double>();
      };
      const double slope = (at(1e-5) - at(-1e-5)) / 2e-5;
      EXPECT_NEAR(analytic.at(i), slope, 1e-6 * std::max(1.0, std::abs(slope))) << path << " element " << i;
    }
  });
}

}  // namespace kiln
