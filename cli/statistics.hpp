// Statistics of a tensor's elements.
#pragma once
#include "kiln/core/tensor_data.hpp"

namespace kiln::cli {

struct Statistics {
  double least = 0, most = 0, mean = 0, deviation = 0;  // statistics of the finite elements
  std::int64_t not_finite = 0;
};
Statistics statistics_of(const TensorData& data);

/// Formats a number with five digits, "1.25e-05".
std::string short_number(double number);

}  // namespace kiln::cli
