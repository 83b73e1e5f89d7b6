// What the planner may create for the processor. The sizes are those of caches, and of work that is worth a kernel.
#include "kiln/ops/fusion_traits.hpp"

#include "kiln/backend/cpu/cpu.hpp"

namespace kiln::cpu {

FusionTraits Cpu::fusion_traits() const {
  using op::ReduceFn;
  return {
      // Calls run on the thread that makes them, so running early gains nothing.
      .max_ops = 4096,
      .max_bytes = std::int64_t{1} << 30,
      .repeats_within = 16,
      .groups = FusionTraits::Groups{.max_inputs = 24,
                                     .max_steps = 4096,
                                     .reductions = {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Max, ReduceFn::Min,
                                                    ReduceFn::Length},
                                     .reduced_types = {DType::F32, DType::F64},
                                     .min_reduced = 2,
                                     .reduced_single = {DType::F32, DType::F64, DType::F16, DType::BF16}},
      .streaming = FusionTraits::Streaming{.max_cached = std::int64_t{32} << 20},
      // Products with fewer elements stay in the cache anyway, and take too little time.
      .epilogues =
          FusionTraits::Epilogues{
              .min_product = 1 << 17, .min_conv = 0, .types = {DType::F32, DType::BF16, DType::F16, DType::I32}},
      // Tensors below `min_elements` stay in the cache anyway; several blocks of `block` elements fit into it; above
      // `max_row` a single row is too long for that.
      .blocks = FusionTraits::Blocks{.min_elements = 1 << 20, .block = 1 << 16, .max_row = 1 << 18, .min_blocks = 4},
      // Larger steps occupy all cores by themselves, and all operands stay alive until the last part is done.
      .batching = FusionTraits::Batching{.max_each = 1 << 15, .max_total = 1 << 20, .max_distance = 512},
  };
}

}  // namespace kiln::cpu
