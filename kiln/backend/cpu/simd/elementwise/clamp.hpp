// Programs that are no more than the maximum of a tensor and a number, and the minimum of that and another: of any element
// type, each number is read and written once.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

struct Clamp {
  explicit Clamp(const op::Program& program);
  /// False where it is none, or where others do it better: past the caches.
  bool run(const op::Program& program, Call call) const;

  bool is_one = false;
  std::size_t x = 0, low = 0, high = 0;  // inputs
};

}  // namespace kiln::cpu::simd
