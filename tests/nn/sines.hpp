// Deterministic inputs that PyTorch can be given as well, and comparison with its figures.
#pragma once
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Element i is sin(i * step + start): in PyTorch torch.sin(torch.arange(n) * step + start).reshape(shape).
inline Value sines(const Shape& shape, double step = 0.37, double start = 0, const Device& device = Device::cpu(),
                   DType dtype = DType::F32) {
  TensorData data(shape, DType::F64);
  double index = 0;
  for (double& value : data.as<double>()) value = std::sin(index++ * step + start);
  return from_data(data.to(dtype), device);
}
template <int D>
Tensor<D> sines_of(const Shape& shape, double step = 0.37, double start = 0) {
  return Tensor<D>(sines(shape, step, start));
}

inline void expect_values(const auto& actual, const Shape& shape, std::initializer_list<double> expected) {
  EXPECT_EQ(difference(actual.data().to(DType::F64), TensorData::of<double>(shape, expected), {1e-5, 2e-6}), "");
}

}  // namespace kiln
