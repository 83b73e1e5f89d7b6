#include "kiln/ops/create/create.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/emit.hpp"

namespace kiln {
namespace {

/// Equal steps, computed in float64; both ends are exact.
Value equal_steps(std::string_view name, double start, double end, std::int64_t count, const Device& device,
                  DType dtype) {
  require<ArgumentError>(count >= 0, name, ": the count must not be negative, got ", count);
  if (count < 2) return full({count}, start, device, dtype);
  const double step = (end - start) / static_cast<double>(count - 1);
  return cat(Values{emit(device, op::Arange{count - 1, dtype}, {start, step}), full({1}, end, device, dtype)}, 0);
}

}  // namespace

Value empty(const Shape& shape, const Device& device, DType dtype) { return zeros(shape, device, dtype); }
Value empty_like(const Value& x) { return zeros_like(x); }
Value full_like(const Value& x, const Scalar& value) { return full(x.shape(), value, x.device(), x.dtype()); }

Value linspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, DType dtype) {
  return equal_steps("linspace", start.to<double>(), end.to<double>(), count, device, dtype);
}
Value logspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, double base,
               DType dtype) {
  return cast(pow(base, equal_steps("logspace", start.to<double>(), end.to<double>(), count, device, DType::F64)),
              dtype);
}

Value eye(const Shape& shape, const Device& device, DType dtype) {
  require<ShapeError>(shape.size() == 2, "eye: makes matrices, not ", shape);
  for (const std::int64_t size : shape)
    require<ArgumentError>(size >= 0, "eye: the size must not be negative, got ", size);
  multiply_sizes("eye", shape[0], shape[1]);
  const std::int64_t rows = shape[0], columns = shape[1], ones_count = std::min(rows, columns);
  if (ones_count == 0) return zeros(shape, device, dtype);
  // In memory, consecutive elements of the diagonal are one row and one element apart.
  const Value line =
      reshape(pad(ones({ones_count, 1}, device, dtype), {0, 0}, {0, columns}, 0), {ones_count * (columns + 1)});
  const std::int64_t missing = rows * columns - line.numel();
  return reshape(missing > 0 ? pad(line, {0}, {missing}, 0) : narrow(line, 0, 0, rows * columns), shape);
}

}  // namespace kiln
