// op::Epilogue on the processor: a kernel for the product and one for the program alternate, piece by piece; where they
// cannot, one runs after the other.
#include <algorithm>

#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu {
namespace {

/// Returns Call::last_uses for the operands of the program, the product among them.
std::uint64_t last_uses(const op::Epilogue& op, Call call) {
  if (op.input >= 63) return 0;
  const std::uint64_t product = std::uint64_t{1} << op.input, uses = call.last_uses >> op.operands;
  const std::uint64_t before = uses & (product - 1);
  return before | product | (uses - before) << 1;
}

}  // namespace

void Cpu::run_epilogue(const op::Epilogue& op, Call call) {
  const Inputs operands = call.in.first(op.operands);
  Value product(make_ref<Node>(op.result, call.out[0].device()));
  const auto multiply = [&](const Epilogue& epilogue) {
    return std::ranges::any_of(fast_, [&](const FastKernels& kernels) {
      return kernels.multiply && kernels.multiply(op, {operands, {&product, 1}}, epilogue);
    });
  };
  for (const FastKernels& kernels : fast_)
    if (kernels.run_epilogue && kernels.run_epilogue(op, call, multiply)) return;

  std::visit([&](const auto& o) { run_kernel(o, {operands, {&product, 1}}); }, op.product);
  Value shaped = product;
  if (op.program->shape != op.result.shape) {
    shaped = Value(make_ref<Node>(Desc{op.program->shape, op.result.dtype}, product.device()));
    run_kernel(op::Reshape{op.program->shape}, {{&product, 1}, {&shaped, 1}});
  }
  product = Value();
  const SpareValues inputs = op.inputs(call.in, shaped);
  const std::uint64_t uses = last_uses(op, call);
  if (op.program->steps.size() > 1) return run_kernel(op::Fused{op.program}, {inputs, call.out, uses});
  const op::ProgramStep& only = op.program->steps[0];
  Value in[3];
  std::uint64_t own_uses = 0;
  const auto count = static_cast<std::size_t>(op::arity(only.op));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t input = only.in[i].index;
    in[i] = inputs[input];
    if (input < 64) own_uses |= (uses >> input & 1) << i;
  }
  std::visit([&](const auto& o) { run_kernel(o, {Inputs(in, count), call.out, own_uses}); }, only.op);
}

}  // namespace kiln::cpu
