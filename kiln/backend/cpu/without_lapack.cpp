// Takes the place of lapack/ in a build that leaves it out.
#include "kiln/backend/cpu/fast.hpp"

namespace kiln::cpu {

FastKernels lapack_kernels() {
  return {.has = [](const op::Op&) { return false; }, .run = [](const op::Op&, Call) { return false; }};
}

}  // namespace kiln::cpu
