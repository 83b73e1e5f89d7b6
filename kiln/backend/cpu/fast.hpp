// Families of kernels that beat the reference on some calls, and leave the other calls to it.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::op {
struct Epilogue;
}

namespace kiln::cpu {

struct FastKernels {
  bool (*has)(const op::Op&);        // is there a kernel for this op, for some operands at least?
  bool (*run)(const op::Op&, Call);  // false: not for these operands; nothing has happened

  /// The product of an epilogue, whose pieces go to `epilogue`; the result gets no memory. The call is the product's.
  /// False where the product is none of theirs, or its pieces are not worth it; nothing has happened then.
  bool (*multiply)(const op::Epilogue&, Call, const Epilogue&) = nullptr;
  /// Has `multiply` make the product of an epilogue with what runs the program on its pieces. False where that is none
  /// of theirs or `multiply` says so.
  bool (*finish)(const op::Epilogue&, Call, FunctionRef<bool(const Epilogue&)> multiply) = nullptr;
};

/// The families, of which a program has those that it is linked with: null where it has not.
[[gnu::weak]] FastKernels simd_kernels();
[[gnu::weak]] FastKernels matmul_kernels();
[[gnu::weak]] FastKernels conv_kernels();
[[gnu::weak]] FastKernels integer_kernels();
[[gnu::weak]] FastKernels amx_kernels();
[[gnu::weak]] FastKernels lapack_kernels();

}  // namespace kiln::cpu
