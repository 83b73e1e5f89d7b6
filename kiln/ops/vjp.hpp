// Backward: what an op's vjp is given, and what it answers. It hides the tape, so that a family's file knows its own
// ops and not the whole table.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln {

/// The gradient of sum(x * along) by a result of a record: what walks the tape, which ops do not know, puts it here.
using SlopeOnTape = Value (*)(const Value& x, const Value& along, const Ref<Record>& record, int slot);
extern SlopeOnTape slope_on_tape;

/// What a vjp is given: operands, results and the results' gradients; it hands back the operands' gradients.
class Backward {
 public:
  /// `in` and `out`, if they are given, in place of the operands and results that the record keeps. The caller holds
  /// the record.
  Backward(const Ref<Record>& record, SpareValues grads, Values in = {}, Values out = {});

  /// An operand that the op saves, or a plain number.
  const Value& in(int i) const;
  /// The same, or empty for one that was absent.
  const Value& in_if_any(int i) const;
  const Desc& in_desc(int i) const;
  int arity() const { return static_cast<int>(into_.size()); }
  /// A result, if the op saves them.
  Value out(int slot = 0) const;
  const Desc& out_desc(int slot = 0) const;
  /// The gradient of a result; zeros where the loss does not depend on it.
  const Value& grad(int slot = 0);
  /// The same, but empty where the loss does not depend on it.
  const Value& grad_if_any(int slot) const { return grads_[static_cast<std::size_t>(slot)]; }
  const Device& device() const;
  bool wants(int i) const;
  /// Is operand i, as far as the tape knows, the result of an op of that name, or a cast of one?
  bool made_by(int i, std::string_view op) const;
  /// `contents` where operand i stands on the tape, whether the op saves it or not: what is made of that is differentiated
  /// by the operand.
  Value in_place_of(int i, const Value& contents) const;
  /// The derivative of sum(x * along) by result `slot`, for an x that was made of it; zeros where x was not, or where no
  /// tape is kept. Walks the tape from x back to this op.
  Value slope(const Value& x, const Value& along, int slot) const;
  /// Says that what was answered is made of results' gradients and of more: from here on gradients that flow into the
  /// results may be such as no function of the results alone has.
  void answers_in_parts() const;
  bool answered_in_parts() const;
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
