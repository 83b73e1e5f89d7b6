// What kernels of linear algebra share that take a batch of matrices.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu {

/// Operations of a square matrix's factors, but for a constant.
constexpr double cube(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

/// Matrices that are worth a thread's while, if each takes about `operations`.
inline std::int64_t matrices_of_a_piece(double operations) {
  constexpr double kWorthAThread = 500000;
  return static_cast<std::int64_t>(std::clamp(kWorthAThread / std::max(operations, 1.0), 1.0, 1024.0));
}

/// Calls f(TypeTag<T>) for double, and for float elsewhere.
template <class F>
void visit_real(DType dtype, F&& f) {
  if (dtype == DType::F64) f(TypeTag<double>{});
  else f(TypeTag<float>{});
}

}  // namespace kiln::cpu
