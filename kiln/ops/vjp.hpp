// Backward: the interface between the tape and an op's vjp. It hides the tape, so that an op family's file knows only
// its own ops and not the whole table.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln {

/// The gradient of sum(x * along) by a result of a record. The code that traverses the tape, which ops do not know,
/// sets it.
using DerivativeOnTape = Value (*)(const Value& x, const Value& along, const Ref<Record>& record, int slot);
extern DerivativeOnTape slope_on_tape;

/// Gives a vjp the operands, the results and the results' gradients, and receives the operands' gradients.
class Backward {
 public:
  /// `in` and `out`, if given, replace the operands and results that the record keeps. The caller must keep the record
  /// alive.
  Backward(const Ref<Record>& record, SpareValues grads, Values in = {}, Values out = {});

  /// An operand that the op saves, or a plain number.
  const Value& in(int i) const;
  /// Like in(), but empty for an operand that was absent.
  const Value& in_if_any(int i) const;
  const Desc& in_desc(int i) const;
  int arity() const { return static_cast<int>(into_.size()); }
  /// A result; the op must save them.
  Value out(int slot = 0) const;
  const Desc& out_desc(int slot = 0) const;
  /// The gradient of a result; zeros where the loss does not depend on it.
  const Value& grad(int slot = 0);
  /// Like grad(), but empty where the loss does not depend on the result.
  const Value& grad_if_any(int slot) const { return grads_[static_cast<std::size_t>(slot)]; }
  const Device& device() const;
  bool wants(int i) const;
  /// Whether operand i, as far as the tape knows, is the result of an op with that name, or a cast of one.
  bool made_by(int i, std::string_view op) const;
  /// Returns `contents` at the position of operand i on the tape, whether the op saves the operand or not: values
  /// computed from it are differentiated by the operand.
  Value in_place_of(int i, const Value& contents) const;
  /// The derivative of sum(x * along) by result `slot`, for an x computed from that result; zeros where x does not
  /// depend on it, or where no tape is kept. Traverses the tape from x back to this op.
  Value slope(const Value& x, const Value& along, int slot) const;
  /// Declares that the answered gradients depend on more than the results' gradients: from here on, gradients that
  /// reach the results need not be those of a function of the results alone.
  void mark_partial() const;
  bool is_partial() const;
  /// Sets the gradient of operand i to make(), called only if that gradient is needed. It may still be broadcast.
  template <class F>
  void to(int i, F&& make) {
    if (wants(i)) into_[static_cast<std::size_t>(i)] = make();
  }

  SpareValues& into() { return into_; }

 private:
  const Ref<Record>& record_;
  SpareValues grads_, into_;
  Values in_, out_;
};

}  // namespace kiln
