#include "kiln/backend/cpu/amx/amx.hpp"

#include "kiln/backend/cpu/family.hpp"

namespace kiln::cpu {

FastKernels amx_kernels() {
  FastKernels kernels = family([](const auto& op, Call call) { return amx::run(op, call); });
  if (!amx::available()) kernels.has = [](const op::Op&) { return false; };
  kernels.multiply = amx::multiply;
  return kernels;
}

}  // namespace kiln::cpu
