#include "kiln/ops/linalg/matrix.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln::op {

void require_matrix(std::string_view op, const Value& a) {
  require_tensor(op, a);
  require<DTypeError>(a.dtype() == DType::F32 || a.dtype() == DType::F64, op, ": takes float32 or float64, got ", a);
  require<ShapeError>(a.rank() >= 2, op, ": needs matrices [..., m, n], got ", a);
}

void require_square(std::string_view op, const Value& a) {
  require_matrix(op, a);
  require<ShapeError>(rows_of(a.shape()) == columns_of(a.shape()), op, ": needs square matrices, got ", a);
}

Shape batched(Shape batch, std::initializer_list<std::int64_t> sizes) {
  for (const auto size : sizes) batch.push_back(size);
  return batch;
}

std::string matrix_name(const Value& a, std::int64_t index) {
  if (a.rank() == 2) return text(a);
  Dims at = batch_of(a.shape());
  for (int i = at.size() - 1; i >= 0; --i) {
    const std::int64_t size = at[i];
    at[i] = index % size;
    index /= size;
  }
  return text("matrix ", at, " of ", a);
}

Value zero_without_slope(const Value& x, const Value& none) {
  const Value zero = x - x.detach();
  return where(none, 0.0 * sqrt(where(none, zero, 1.0)), 0.0);  // the derivative is 0 times infinity
}

Value identity(std::int64_t size, const Value& like) {
  return cast(diag_mask({size, size}, like.device()), like.dtype());
}

}  // namespace kiln::op
