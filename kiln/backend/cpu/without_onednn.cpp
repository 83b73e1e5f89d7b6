// Takes the place of onednn/ in a build that leaves it out.
#include "kiln/backend/cpu/fast.hpp"

namespace kiln::cpu {

FastKernels onednn_kernels() {
  return {.has = [](const op::Op&) { return false; }, .run = [](const op::Op&, Call) { return false; }};
}

}  // namespace kiln::cpu
