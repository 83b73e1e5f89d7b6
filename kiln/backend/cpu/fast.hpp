// Families of kernels that are faster than the reference on some calls, and leave the other calls to it.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::op {
struct Epilogue;
}

namespace kiln::cpu {

struct FastKernels {
  bool (*has)(const op::Op&);        // whether there is a kernel for this op, for some operands at least
  bool (*run)(const op::Op&, Call);  // false, without any effect: not for these operands

  /// Computes the product of an epilogue and hands its pieces to `epilogue`; the result gets no memory. The call is the
  /// product's. Returns false, without any effect, if the family does not compute the product or its pieces are too
  /// small.
  bool (*multiply)(const op::Epilogue&, Call, const Epilogue&) = nullptr;
  /// Runs an epilogue: calls `multiply` with an Epilogue that runs the program on the pieces of the product. Returns
  /// false where the family does not compute the program, or `multiply` returns false.
  bool (*run_epilogue)(const op::Epilogue&, Call, FunctionRef<bool(const Epilogue&)> multiply) = nullptr;
};

/// The families. One that a program is not linked with is null.
[[gnu::weak]] FastKernels simd_kernels();
[[gnu::weak]] FastKernels matmul_kernels();
[[gnu::weak]] FastKernels conv_kernels();
[[gnu::weak]] FastKernels integer_kernels();
[[gnu::weak]] FastKernels amx_kernels();
[[gnu::weak]] FastKernels lapack_kernels();

}  // namespace kiln::cpu
