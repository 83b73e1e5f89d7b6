#include "kiln/tensor/window.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kiln {
namespace {

/// weight(t) for t from -1 to 1 over the symmetric window.
template <class Weight>
Tensor<1> window(std::string_view function, std::int64_t size, const Device& device, const WindowOptions& options,
                 Weight weight) {
  require<ArgumentError>(size >= 0, function, ": a size of ", size);
  require<DTypeError>(is_float(options.dtype), function, ": ", options.dtype, " cannot hold a window");
  const double last = static_cast<double>(options.periodic ? size : size - 1);
  TensorData data({size}, DType::F64);
  const auto elements = data.as<double>();
  for (std::int64_t i = 0; i < size; ++i)
    elements[static_cast<std::size_t>(i)] = size == 1 ? 1 : weight((2 * static_cast<double>(i) - last) / last);
  return Tensor<1>::from_data(data.to(options.dtype), device);
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

Tensor<1> hann_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("hann_window", size, device, options, [](double t) { return 0.5 - 0.5 * cosine(t); });
}
Tensor<1> hamming_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("hamming_window", size, device, options, [](double t) { return 0.54 - 0.46 * cosine(t); });
}
Tensor<1> blackman_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("blackman_window", size, device, options,
                [](double t) { return 0.42 - 0.5 * cosine(t) + 0.08 * std::cos(2 * std::numbers::pi * t); });
}
Tensor<1> bartlett_window(std::int64_t size, const Device& device, const WindowOptions& options) {
  return window("bartlett_window", size, device, options, [](double t) { return 1 - std::abs(t); });
}
Tensor<1> kaiser_window(std::int64_t size, double beta, const Device& device, const WindowOptions& options) {
  require<ArgumentError>(beta >= 0 && beta <= 700, "kaiser_window: a beta of ", beta, " is not between 0 and 700");
  return window("kaiser_window", size, device, options,
                [=](double t) { return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - t * t))) / bessel_i0(beta); });
}
Tensor<1> gaussian_window(std::int64_t size, double deviation, const Device& device, const WindowOptions& options) {
  require<ArgumentError>(deviation > 0, "gaussian_window: a standard deviation of ", deviation);
  const double reach = static_cast<double>(options.periodic ? size : size - 1) / 2;
  return window("gaussian_window", size, device, options, [=](double t) {
    const double z = t * reach / deviation;
    return std::exp(-z * z / 2);
  });
}

namespace {

Tensor<1> frequencies(std::string_view function, std::int64_t n, std::int64_t count, std::int64_t positive,
                      double spacing, const Device& device, DType dtype) {
  require<ArgumentError>(n >= 1, function, ": a length of ", n, "; at least 1 is needed");
  TensorData data({count}, DType::F64);
  const auto elements = data.as<double>();
  for (std::int64_t k = 0; k < count; ++k)
    elements[static_cast<std::size_t>(k)] =
        static_cast<double>(k < positive ? k : k - n) / (static_cast<double>(n) * spacing);
  return Tensor<1>::from_data(data.to(dtype), device);
}

}  // namespace

Tensor<1> fftfreq(std::int64_t n, const Device& device, double spacing, DType dtype) {
  return frequencies("fftfreq", n, n, (n + 1) / 2, spacing, device, dtype);
}
Tensor<1> rfftfreq(std::int64_t n, const Device& device, double spacing, DType dtype) {
  return frequencies("rfftfreq", n, n / 2 + 1, n / 2 + 1, spacing, device, dtype);
}

}  // namespace kiln
