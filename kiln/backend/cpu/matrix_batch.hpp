// Helpers of the linear algebra kernels that take a batch of matrices.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/linalg/matrix.hpp"

namespace kiln::cpu {

/// The number of operations that factor a square matrix, up to a constant.
constexpr double cube(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

/// Returns the number of matrices that is worth another thread, if each takes about `operations` operations.
inline std::int64_t matrices_per_chunk(double operations) {
  constexpr double kMinOpsPerThread = 500000;
  return static_cast<std::int64_t>(std::clamp(kMinOpsPerThread / std::max(operations, 1.0), 1.0, 1024.0));
}

/// Calls f(TypeTag<double>) for F64, and f(TypeTag<float>) for other types.
template <class F>
void visit_real(DType dtype, F&& f) {
  if (dtype == DType::F64) f(TypeTag<double>{});
  else f(TypeTag<float>{});
}

/// Gives the result `value` memory in row-major order and fills it with the elements of `from`.
inline Array copied(const Value& from, Value& value) {
  const Array result = allocate(value);
  copy(read(from), result);
  return result;
}

/// Throws ArgumentError for NaN or infinity in matrix `index` of an operand, whose `count` elements are given:
/// iterations would not end.
template <class T>
void require_finite(std::string_view name, const T* elements, std::int64_t count, const Value& operand,
                    std::int64_t index) {
  T sum = 0;  // NaN if any element is NaN or infinite
  for (std::int64_t i = 0; i < count; ++i) sum += elements[i] * 0;
  if (sum != 0) fail<ArgumentError>(name, ": ", op::matrix_name(operand, index), " contains NaN or infinity");
}
inline void require_converged(std::string_view name, bool converged, const Value& operand, std::int64_t index) {
  if (!converged) fail<ArgumentError>(name, ": ", op::matrix_name(operand, index), ": the iteration did not converge");
}

}  // namespace kiln::cpu
