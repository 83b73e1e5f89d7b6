#include "kiln/ops/custom.hpp"

#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {

namespace {

/// Whether `shape` broadcasts to `larger`. A gradient may have the shape that its operand broadcast to.
bool reaches(const Shape& shape, const Shape& larger) {
  const int extra = larger.size() - shape.size();
  for (int i = 0; i < shape.size(); ++i)
    if (extra < 0 || (shape[i] != 1 && shape[i] != larger[extra + i])) return false;
  return true;
}

}  // namespace

void op::Custom::vjp(Backward& backward) const {
  Values in, out, grads;
  for (int i = 0; i < backward.arity(); ++i) in.push_back(backward.in(i));
  const int results = op->infer(in).size();
  for (int slot = 0; slot < results; ++slot) {
    out.push_back(backward.out(slot));
    grads.push_back(backward.grad(slot));
  }
  Values into = op->vjp(in, out, grads);
  require<ArgumentError>(into.size() == in.size(), op->name(), ": vjp gave ", into.size(), " gradients for ", in.size(),
                         " operands");
  for (int i = 0; i < backward.arity(); ++i) {
    const Value& gradient = into[static_cast<std::size_t>(i)];
    const Desc& operand = backward.in_desc(i);
    require<ShapeError>(!gradient || gradient.is_scalar() || reaches(operand.shape, gradient.shape()), op->name(),
                        ": vjp gave ", gradient, " as the gradient of operand ", i, ", ", operand.dtype, " ",
                        operand.shape);
  }
  for (int i = 0; i < backward.arity(); ++i)
    backward.to(i, [&] { return std::move(into[static_cast<std::size_t>(i)]); });
}

Values custom(Ref<const CustomOp> op, Inputs in) {
  require<ArgumentError>(static_cast<bool>(op), "custom: no operation was given");
  bool tracked = false;
  for (const Value& value : in) tracked |= value.tracked();
  // Without a vjp of its own the operation is differentiated through its expansion.
  if (tracked && grad_enabled() && !op->has_vjp()) {
    op->infer(in);
    return op->expand(in);
  }
  return emit_all(op::Custom{std::move(op)}, in);
}

}  // namespace kiln
