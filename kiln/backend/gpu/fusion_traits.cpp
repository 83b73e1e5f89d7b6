// What the planner is told of a GPU: it follows from the device's capabilities.
#include "kiln/ops/fusion_traits.hpp"

#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::gpu {

FusionTraits Gpu::fusion_traits() const {
  using op::ReduceFn;
  const Capabilities& has = driver().capabilities();
  // The inputs of a group leave buffers for its results.
  const auto inputs = static_cast<std::size_t>(std::clamp(has.most_buffers - 2, 4, 24));
  std::vector<DType> floats;
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    if (has.computes.has(expr::computed_in(dtype))) floats.push_back(dtype);
  FusionTraits traits{
      .max_ops = 4096,
      .max_bytes = std::int64_t{4} << 30,
      // A list of operations that repeats as a whole is launched as one graph: the less it is split, the better.
      .first_ops = 256,
      .repeats_within = 16,
      // Rows of fewer elements are folded as fast by a kernel of their own.
      .groups = FusionTraits::Groups{.max_inputs = inputs,
                                     .max_steps = 256,
                                     .reductions = {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Prod, ReduceFn::Max,
                                                    ReduceFn::Min, ReduceFn::Length},
                                     .reduced_types = floats,
                                     .min_reduced = 8,
                                     .contracts = true},
      .accepts_halves =
          [](const op::Op& op, std::size_t operand) {
            return std::holds_alternative<op::Ravel>(op.is) ||
                   (std::holds_alternative<op::GroupNormGrad>(op.is) && operand == op::GroupNormGrad::grad);
          },
      .epilogues = FusionTraits::Epilogues{.norms = true, .types = floats, .accepts = &family::accepts},
      // A block of threads keeps a row in its registers.
      .rows = FusionTraits::Rows{
          .reductions = {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Prod, ReduceFn::Max, ReduceFn::Min, ReduceFn::Length},
          .max_row = 1 << 14,
          .max_dropout_row = 4096,
          .max_live_rows = 1 << 15,
          .max_steps = 64,
          .max_distance = 16}};
  // The tensors may have any size, so that an optimizer's step is one or two kernels, whose blocks choose among
  // buffers.
  if (has.addressing == Addressing::Addresses)
    traits.batching = FusionTraits::Batching{.max_each = std::int64_t{1} << 40,
                                             .max_total = std::int64_t{1} << 40,
                                             .max_distance = 512,
                                             .same_function_only = true};
  return traits;
}

}  // namespace kiln::gpu
