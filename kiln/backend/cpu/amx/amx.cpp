#include "kiln/backend/cpu/amx/amx.hpp"

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/engines.hpp"
#include "kiln/backend/cpu/family.hpp"

namespace kiln::cpu {

FastKernels amx_kernels() {
  FastKernels kernels =
      family([](const auto& op, Call call) -> decltype(amx::run(op, call)) { return amx::run(op, call); });
  if (amx::available() && !is_disabled(Algorithm::AmxAttention)) return kernels;
  return {.has = [](const op::Op&) { return false; }, .run = [](const op::Op&, Call) { return false; }};
}

const AmxKernels& amx_engine() {
  static constexpr AmxKernels kKernels{
      .available = amx::available,
      .has_tiles = amx::has_tiles,
      .reports_tiles = amx::reports_tiles,
      .conv = {.forward = amx::convolve, .data = amx::convolve_data, .weight = amx::convolve_weight},
      .has_wide_pieces = amx::has_wide_pieces,
      .matmul = amx::multiply};
  return kKernels;
}

}  // namespace kiln::cpu
