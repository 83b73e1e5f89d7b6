#include "kiln/ops/create/create.hpp"

#include "kiln/core/size.hpp"

namespace kiln {
namespace {

/// In float64; both ends are exact.
Value equal_steps(std::string_view name, double start, double end, std::int64_t count, const Device& device) {
  require<ArgumentError>(count >= 0, name, ": the count must not be negative, got ", count);
  if (count < 2) return full({count}, start, device, DType::F64);
  const Value step = arange(0, count, 1, device, DType::F64);
  const auto last = static_cast<double>(count - 1);
  return where(eq(step, last), end, step / last * (end - start) + start);
}

}  // namespace

Value empty(const Shape& shape, const Device& device, DType dtype) { return zeros(shape, device, dtype); }
Value empty_like(const Value& x) { return zeros_like(x); }
Value full_like(const Value& x, const Scalar& value) { return full(x.shape(), value, x.device(), x.dtype()); }

Value linspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, DType dtype) {
  return cast(equal_steps("linspace", start.to<double>(), end.to<double>(), count, device), dtype);
}
Value logspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, double base,
               DType dtype) {
  return cast(pow(base, equal_steps("logspace", start.to<double>(), end.to<double>(), count, device)), dtype);
}

Value eye(const Shape& shape, const Device& device, DType dtype) {
  require<ShapeError>(shape.size() == 2, "eye: makes matrices, not ", shape);
  for (const std::int64_t size : shape)
    require<ArgumentError>(size >= 0, "eye: the size must not be negative, got ", size);
  multiply_sizes("eye", shape[0], shape[1]);
  return cast(eq(unsqueeze(arange(0, shape[0], 1, device), 1), arange(0, shape[1], 1, device)), dtype);
}

}  // namespace kiln
