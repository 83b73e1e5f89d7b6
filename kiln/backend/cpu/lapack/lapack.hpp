// Kernels of LAPACK, for spectra of matrices. Factors are products of our own (simd/linalg).
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"

namespace kiln::cpu::lapack {

/// Every op without an overload below. Its type says at compile time that there is no kernel.
template <class T>
std::false_type run(const T&, Call) {
  return {};
}

// False for matrices with more rows or columns than LAPACK can count in what it works with.
bool run(const op::Eigh& op, Call call);
bool run(const op::Svd& op, Call call);

}  // namespace kiln::cpu::lapack
