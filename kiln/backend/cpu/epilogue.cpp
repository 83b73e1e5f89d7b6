// op::Epilogue on the processor: a kernel that knows the product and one that knows the program take turns, piece by
// piece; or else one runs after the other.
#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu {

void Cpu::run_epilogue(const op::Epilogue& op, Call call) {
  const Inputs operands = call.in.first(op.operands);
  Value product(make_ref<Node>(op.result(call.in), call.out[0].device()));
  for (const FastKernels& family : fast_) {
    const auto finisher = family.finisher ? family.finisher(op, call) : nullptr;
    if (!finisher) continue;
    for (const FastKernels& kernels : fast_)
      if (kernels.multiply && kernels.multiply(op, {operands, {&product, 1}}, *finisher)) return;
  }

  std::visit([&](const auto& o) { run_kernel(o, {operands, {&product, 1}}); }, op.product);
  Value shaped = product;
  if (op.program->shape != product.shape()) {
    shaped = Value(make_ref<Node>(Desc{op.program->shape, product.dtype()}, product.device()));
    run_kernel(op::Reshape{op.program->shape}, {{&product, 1}, {&shaped, 1}});
  }
  const SpareValues inputs = op.inputs(call.in, shaped);
  run_kernel(op::Fused{op.program}, {inputs, call.out});
}

}  // namespace kiln::cpu
