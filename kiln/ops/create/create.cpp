#include "kiln/ops/create/create.hpp"

#include <cmath>

#include "kiln/core/size.hpp"

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

Value linspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, DType dtype) {
  return from_data(equal_steps("linspace", start.to<double>(), end.to<double>(), count).to(dtype), device);
}
Value logspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, double base,
               DType dtype) {
  TensorData data = equal_steps("logspace", start.to<double>(), end.to<double>(), count);
  for (double& point : data.as<double>()) point = std::pow(base, point);
  return from_data(data.to(dtype), device);
}

Value eye(const Shape& shape, const Device& device, DType dtype) {
  require<ShapeError>(shape.size() == 2, "eye: makes matrices, not ", shape);
  for (const std::int64_t size : shape)
    require<ArgumentError>(size >= 0, "eye: the size must not be negative, got ", size);
  multiply_sizes("eye", shape[0], shape[1]);
  return cast(eq(unsqueeze(arange(0, shape[0], 1, device), 1), arange(0, shape[1], 1, device)), dtype);
}

}  // namespace kiln
