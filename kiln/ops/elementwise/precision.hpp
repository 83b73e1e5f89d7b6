// The element types in which a function is computed and returned where its kernels support only float32 and float64.
#pragma once
#include <optional>

#include "kiln/ops/check.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Casts integers and booleans to float32, as functions of floats take them.
inline Value as_float(const Value& x) { return x.node() && !is_float(x.dtype()) ? cast(x, DType::F32) : x; }

/// Gives whole numbers a type that has room for their sums, differences and products: small ones become int64.
inline Value widened_for_sums(const Value& x) {
  const bool small = x.node() && !is_float(x.dtype()) && size_of(x.dtype()) < 8;
  return small ? cast(x, DType::I64) : x;
}

namespace op {

/// For computations of several steps on operands of which some may be plain numbers: halves and integers are computed
/// in a wider type and rounded once; integers become float32.
class Steps {
 public:
  explicit Steps(std::initializer_list<Value> operands) {
    std::optional<DType> all;
    for (const Value& x : operands)
      if (x.node()) all = all ? promote(*all, x.dtype()) : x.dtype();
    const bool is_single = all == DType::F32;
    for (const Value& x : operands)
      if (all && x.is_scalar()) all = promote_scalar(*all, x.scalar().kind());
    if (!all) return;
    outside_ = is_float(*all) ? *all : DType::F32;
    // bfloat16 has the range of float32, and integers have up to 64 bits: both are computed in float64.
    inside_ = outside_ == DType::F16 ? DType::F32 : is_single ? DType::F32 : DType::F64;
  }
  Value enter(const Value& x) const { return cast(x, inside_); }
  Value leave(const Value& x) const { return cast(x, outside_); }
  DType inside() const { return inside_; }

 private:
  DType inside_ = DType::F64, outside_ = DType::F64;  // if all operands are plain numbers
};

/// float64 and float32 operands keep their type. Half types are computed in float32 and come back as they were;
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
