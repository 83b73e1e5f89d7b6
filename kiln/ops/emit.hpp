// The one door through which every operation goes: infer, run, record. It opens for the ops of the table (and for
// op::Op, any of them) without including the table, so that a new op does not recompile the families that exist.
#pragma once
#include <initializer_list>

#include "kiln/ops/value.hpp"

namespace kiln {
using Values = std::vector<Value>;

/// Operands side by side for the length of a call. They do not count among the owners of what they refer to, which
/// would cost more than to note a call: whoever makes this holds them meanwhile.
template <std::size_t N>
class Borrowed {
 public:
  template <class... V>
  explicit Borrowed(const V&... values) {
    Value* place = values_;
    (new (place++) Value(lend(values)), ...);
  }
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() {}  // and not of the values
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
/// The same on a device that is known: for programs that hold ops without tensor operands among others.
template <class Op>
Values emit_all(const Device& device, const Op& op, Inputs in);
template <class Op>
Values emit_all(const Op& op, std::initializer_list<Value> in) {
  return emit_all(op, Inputs(in.begin(), in.size()));
}

}  // namespace kiln
