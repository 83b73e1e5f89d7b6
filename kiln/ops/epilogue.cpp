#include "kiln/ops/epilogue.hpp"

#include "kiln/ops/emit.hpp"
#include "kiln/ops/view.hpp"

namespace kiln::op {

Descs Epilogue::infer(Inputs) const { fail<ArgumentError>("epilogue: a plan's op is not for emit()"); }
void Epilogue::vjp(Backward&) const { fail<ArgumentError>("epilogue: a plan's op has no gradient"); }

Desc Epilogue::result(Inputs in) const {
  return std::visit([&](const auto& op) { return op.infer(in.first(operands))[0]; }, product);
}

SpareValues Epilogue::inputs(Inputs in, const Value& result) const {
  const Inputs others = in.subspan(operands);
  SpareValues values;
  values.reserve(others.size() + 1);
  values.assign(others.begin(), others.begin() + input);
  values.push_back(result);
  values.insert(values.end(), others.begin() + input, others.end());
  return values;
}

Values Epilogue::expand(Inputs in) const {
  const Value result = std::visit([&](const auto& op) { return emit(op, in.first(operands)); }, product);
  return Fused{program}.expand(inputs(in, emit(Reshape{program->shape}, {result})));
}

}  // namespace kiln::op
