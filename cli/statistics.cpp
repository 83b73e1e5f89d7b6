#include "cli/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace kiln::cli {

// This is Welford's running mean and variance.
Statistics statistics_of(const TensorData& data) {
  Statistics result{.least = std::numeric_limits<double>::infinity(), .most = -std::numeric_limits<double>::infinity()};
  double count = 0, squares = 0;
  for (const double element : data.to_vector<double>()) {
    if (!std::isfinite(element)) {
      ++result.not_finite;
      continue;
    }
    result.least = std::min(result.least, element);
    result.most = std::max(result.most, element);
    const double off = element - result.mean;
    result.mean += off / ++count;
    squares += off * (element - result.mean);
  }
  if (count == 0) result.least = result.most = 0;
  else result.deviation = std::sqrt(squares / count);
  return result;
}

std::string short_number(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.5g", number);
  return buffer;
}

}  // namespace kiln::cli
