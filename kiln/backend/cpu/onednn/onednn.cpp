#include "kiln/backend/cpu/onednn/onednn.hpp"

#include "kiln/backend/cpu/engines.hpp"
#include "kiln/backend/cpu/onednn/engine.hpp"

namespace kiln::cpu {

const OnednnKernels& onednn_kernels() {
  static constexpr OnednnKernels kKernels{
      .has_conv = onednn::has_conv,
      .conv = {.forward = onednn::convolve, .data = onednn::convolve_data, .weight = onednn::convolve_weight},
      .has_bf16 = onednn::has_bf16,
      .has_matmul = onednn::has_matmul,
      .matmul = onednn::multiply};
  return kKernels;
}

}  // namespace kiln::cpu
