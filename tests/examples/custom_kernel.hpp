// Tensors of numbers for tests of the example's kernels.
#pragma once
#include <cmath>
#include <vector>

#include "examples/custom_kernel/model.hpp"

namespace kiln::test {

inline std::vector<double> numbers(std::int64_t count, double seed, double from, double to) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(from + (to - from) * (0.5 + 0.5 * std::sin(seed + 1.7 * static_cast<double>(i * i % 1013))));
  return all;
}
inline Value tensor(const std::vector<double>& all, const Shape& shape, const Device& device,
                    DType dtype = DType::F64) {
  return cast(from_data(TensorData::of<double>(shape, all), device), dtype);
}

}  // namespace kiln::test
