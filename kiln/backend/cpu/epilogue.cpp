// op::Epilogue on the processor: a kernel that knows the product and one that knows the program take turns, piece by
// piece; or else one runs after the other.
#include <algorithm>

#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu {

void Cpu::run_epilogue(const op::Epilogue& op, Call call) {
  const Inputs operands = call.in.first(op.operands);
  Value product(make_ref<Node>(op.result, call.out[0].device()));
  const auto multiply = [&](const Finisher& finisher) {
    return std::ranges::any_of(fast_, [&](const FastKernels& kernels) {
      return kernels.multiply && kernels.multiply(op, {operands, {&product, 1}}, finisher);
    });
  };
  for (const FastKernels& kernels : fast_)
    if (kernels.finish && kernels.finish(op, call, multiply)) return;

  std::visit([&](const auto& o) { run_kernel(o, {operands, {&product, 1}}); }, op.product);
  Value shaped = product;
  if (op.program->shape != op.result.shape) {
    shaped = Value(make_ref<Node>(Desc{op.program->shape, op.result.dtype}, product.device()));
    run_kernel(op::Reshape{op.program->shape}, {{&product, 1}, {&shaped, 1}});
  }
  const SpareValues inputs = op.inputs(call.in, shaped);
  if (op.program->steps.size() > 1) return run_kernel(op::Fused{op.program}, {inputs, call.out});
  const op::Program::Step& only = op.program->steps[0];
  Value in[3];
  const auto count = static_cast<std::size_t>(op::arity(only.op));
  for (std::size_t i = 0; i < count; ++i) in[i] = inputs[only.in[i].index];
  std::visit([&](const auto& o) { run_kernel(o, {Inputs(in, count), call.out}); }, only.op);
}

}  // namespace kiln::cpu
