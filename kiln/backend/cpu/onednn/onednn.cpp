#include "kiln/backend/cpu/onednn/onednn.hpp"

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/onednn/layout.hpp"

namespace kiln::cpu {

FastKernels onednn_kernels() {
  FastKernels kernels = family([](const auto& op, Call call) { return onednn::run(op, call); });
  kernels.multiply = onednn::multiply;
  kernels.reorder = onednn::reorder;
  return kernels;
}

}  // namespace kiln::cpu
