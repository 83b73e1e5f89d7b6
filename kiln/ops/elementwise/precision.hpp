// The element types that a function is computed in and answers with where its kernels know float32 and float64 alone.
#pragma once
#include "kiln/ops/check.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Integers and booleans as float32: what functions of floats take them for.
inline Value as_float(const Value& x) { return x.node() && !is_float(x.dtype()) ? cast(x, DType::F32) : x; }

namespace op {

/// Of float64 and float32 operands: themselves. Half types are computed in float32 and come back as they were,
/// integers and booleans become float32.
struct Precision {
  DType inside, outside;

  explicit Precision(std::string_view op, Inputs operands) : inside(DType::F32), outside(DType::Bool) {
    for (const Value& operand : operands) {
      require_tensor(op, operand);
      outside = promote(outside, operand.dtype());
    }
    if (!is_float(outside)) outside = DType::F32;
    if (outside == DType::F64) inside = DType::F64;
  }
  Precision(std::string_view op, const Value& operand) : Precision(op, Inputs(&operand, 1)) {}
  Precision(std::string_view op, std::initializer_list<Value> operands)
      : Precision(op, Inputs(operands.begin(), operands.size())) {}

  Value enter(const Value& x) const { return cast(x, inside); }
  Value leave(const Value& x) const { return cast(x, outside); }
};

}  // namespace op
}  // namespace kiln
