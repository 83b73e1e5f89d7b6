#include "kiln/backend/cpu/engines.hpp"

namespace kiln::cpu {

const OnednnKernels* linked_onednn() { return onednn_kernels ? &onednn_kernels() : nullptr; }

// A processor that lacks the instructions has no such kernels either.
const AmxKernels* linked_amx() {
  static const AmxKernels* const amx = amx_engine && amx_engine().available() ? &amx_engine() : nullptr;
  return amx;
}

}  // namespace kiln::cpu
