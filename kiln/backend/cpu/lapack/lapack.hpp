// LAPACK kernels for spectra of matrices. Factorisations use Kiln's own products of matrices (simd/linalg).
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"

namespace kiln::cpu::lapack {

// Returns false for matrices with so many rows or columns that LAPACK cannot count its workspace.
bool run(const op::Eigh& op, Call call);
bool run(const op::Svd& op, Call call);

}  // namespace kiln::cpu::lapack
