#include "kiln/ops/planned/epilogue.hpp"

#include "kiln/ops/emit.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln::op {

Descs Epilogue::infer(Inputs) const { fail<ArgumentError>("epilogue: a plan's op is not for emit()"); }
void Epilogue::vjp(Backward&) const { fail<ArgumentError>("epilogue: a plan's op has no gradient"); }

SpareValues Epilogue::inputs(Inputs in, const Value& value) const {
  SpareValues values;
  values.reserve(program->inputs.size());
  values.assign(in.begin() + operands, in.end());
  values.insert(values.begin() + input, value);
  return values;
}

Values Epilogue::expand(Inputs in) const {
  const Value value = std::visit([&](const auto& op) { return emit(op, in.first(operands)); }, product);
  return emit_part(Fused{program}, inputs(in, emit(Reshape{program->shape}, {value})));
}

double Epilogue::flops(Inputs in, Inputs out) const {
  return std::visit(
      [&]<class Product>(const Product& op) {
        if constexpr (Product::kTraits.bound == Bound::Compute) return op.flops(in, out);
        else return 0.0;
      },
      product);
}

}  // namespace kiln::op
