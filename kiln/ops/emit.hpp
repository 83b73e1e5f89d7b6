// The one entry point of every operation: infer, run, record. It accepts the ops of the table (and op::Op, any of them)
// without including the table, so that a new op does not recompile the existing families.
#pragma once
#include <initializer_list>

#include "kiln/ops/value.hpp"

namespace kiln {
using Values = std::vector<Value>;

/// Operands of a call, side by side. They are not counted as owners of their nodes, since counting would cost more than
/// recording a call: the creator of this object must keep the operands alive meanwhile.
template <std::size_t N>
class Borrowed {
 public:
  template <class... V>
  explicit Borrowed(const V&... values) {
    Value* place = values_;
    (new (place++) Value(lend(values)), ...);
  }
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() {}  // the values are not destroyed
  operator Inputs() const { return {values_, N}; }

 private:
  static Value lend(const Value& value) {
    if (value.is_scalar()) return value;
    return Value(Ref<Node>::adopt(value.node().get()), Ref<Record>::adopt(value.tape().get()), value.slot());
  }
  union {
    Value values_[N];
  };
};
template <class... V>
Borrowed(const V&...) -> Borrowed<sizeof...(V)>;

/// Runs `op` and returns its only result. The device is that of the tensor operands, which must agree.
template <class Op>
Value emit(const Op& op, Inputs in);
template <class Op>
Value emit(const Op& op, std::initializer_list<Value> in) {
  return emit(op, Inputs(in.begin(), in.size()));
}
/// For ops without tensor operands.
template <class Op>
Value emit(const Device& device, const Op& op, std::initializer_list<Value> in);
/// For ops with several results.
template <class Op>
Values emit_all(const Op& op, Inputs in);
/// Runs an op on a given device: for programs that contain ops without tensor operands among others.
template <class Op>
Values emit_all(const Device& device, const Op& op, Inputs in);
template <class Op>
Values emit_all(const Op& op, std::initializer_list<Value> in) {
  return emit_all(op, Inputs(in.begin(), in.size()));
}

}  // namespace kiln
