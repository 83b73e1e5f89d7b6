// What the planner may create where there are no fast kernels and little memory. The reference runs elementwise steps
// one by one, so groups would gain nothing; with blocks of rows, results between steps need less memory.
#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::cpu {

FusionTraits Cpu::fusion_traits() const {
  return {
      .max_ops = 256,
      .max_bytes = std::int64_t{1} << 20,
      .repeats_within = 16,
      .blocks = FusionTraits::Blocks{.min_elements = 1 << 12, .block = 1 << 10, .max_row = 1 << 10, .min_blocks = 4},
  };
}

}  // namespace kiln::cpu
