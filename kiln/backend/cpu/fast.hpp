// Families of kernels that beat the reference on some calls, and leave the other calls to it.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln::cpu {

struct FastKernels {
  bool (*has)(const op::Op&);        // is there a kernel for this op, for some operands at least?
  bool (*run)(const op::Op&, Call);  // false: not for these operands; nothing has happened
};

FastKernels simd_kernels();
FastKernels amx_kernels();
FastKernels onednn_kernels();
FastKernels lapack_kernels();

}  // namespace kiln::cpu
