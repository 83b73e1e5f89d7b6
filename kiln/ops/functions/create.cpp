#include "kiln/ops/functions/create.hpp"

#include <cmath>

namespace kiln {
namespace {

TensorData equal_steps(std::string_view name, double start, double end, std::int64_t count) {
  require<ArgumentError>(count >= 0, name, ": the count must not be negative, got ", count);
  TensorData data({count}, DType::F64);
  const auto points = data.as<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    const double t = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    points[static_cast<std::size_t>(i)] = i > 0 && i + 1 == count ? end : start + (end - start) * t;
  }
  return data;
}

}  // namespace

Value empty(const Shape& shape, const Device& device, DType dtype) { return zeros(shape, device, dtype); }
Value empty_like(const Value& x) { return zeros_like(x); }
Value full_like(const Value& x, const Scalar& value) { return full(x.shape(), value, x.device(), x.dtype()); }

Value linspace(double start, double end, std::int64_t count, const Device& device, DType dtype) {
  return from_data(equal_steps("linspace", start, end, count).to(dtype), device);
}
Value logspace(double start, double end, std::int64_t count, const Device& device, double base, DType dtype) {
  TensorData data = equal_steps("logspace", start, end, count);
  for (double& point : data.as<double>()) point = std::pow(base, point);
  return from_data(data.to(dtype), device);
}

Value eye(std::int64_t rows, std::int64_t columns, const Device& device, DType dtype) {
  for (const std::int64_t size : {rows, columns})
    require<ArgumentError>(size >= 0, "eye: the size must not be negative, got ", size);
  return cast(eq(unsqueeze(arange(0, rows, 1, device), 1), arange(0, columns, 1, device)), dtype);
}

}  // namespace kiln
