#include "kiln/ops/functions/window.hpp"

#include <cmath>
#include <numbers>

namespace kiln {
namespace {

/// weight(t) for t from -1 to 1 over the symmetric window.
template <class Weight>
Value window(std::string_view function, std::int64_t size, const Device& device, const WindowOptions& options,
             Weight weight) {
  require<ArgumentError>(size >= 0, function, ": a size of ", size);
  require<DTypeError>(is_float(options.dtype), function, ": ", options.dtype, " cannot hold a window");
  const double last = static_cast<double>(options.periodic ? size : size - 1);
  TensorData data({size}, DType::F64);
  const auto elements = data.as<double>();
  for (std::int64_t i = 0; i < size; ++i)
    elements[static_cast<std::size_t>(i)] = size == 1 ? 1 : weight((2 * static_cast<double>(i) - last) / last);
  return from_data(data.to(options.dtype), device);
}

// cos(2 pi i / last) for t = 2 i / last - 1
double cosine(double t) { return -std::cos(std::numbers::pi * t); }

/// The modified Bessel function of order 0, by its series: terms (x / 2)^2k / k!^2.
double bessel_i0(double x) {
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

}  // namespace

Value hann_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("hann_window", size, device, options, [](double t) { return 0.5 - 0.5 * cosine(t); });
}
Value hamming_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("hamming_window", size, device, options, [](double t) { return 0.54 - 0.46 * cosine(t); });
}
Value blackman_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("blackman_window", size, device, options,
                [](double t) { return 0.42 - 0.5 * cosine(t) + 0.08 * std::cos(2 * std::numbers::pi * t); });
}
Value bartlett_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("bartlett_window", size, device, options, [](double t) { return 1 - std::abs(t); });
}
Value kaiser_window(std::int64_t size, double beta, const Device& device, const WindowOptions& options) {
  require<ArgumentError>(beta >= 0 && beta <= 700, "kaiser_window: a beta of ", beta, " is not between 0 and 700");
  return window("kaiser_window", size, device, options,
                [=](double t) { return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - t * t))) / bessel_i0(beta); });
}
Value gaussian_window(std::int64_t size, double deviation, const Device& device, const WindowOptions& options) {
  require<ArgumentError>(deviation > 0, "gaussian_window: a standard deviation of ", deviation);
  const double reach = static_cast<double>(options.periodic ? size : size - 1) / 2;
  return window("gaussian_window", size, device, options, [=](double t) {
    const double z = t * reach / deviation;
    return std::exp(-z * z / 2);
  });
}

}  // namespace kiln
