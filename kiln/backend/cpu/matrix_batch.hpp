// Helpers of the linear algebra kernels that take a batch of matrices.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/core/dtype.hpp"

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

}  // namespace kiln::cpu
