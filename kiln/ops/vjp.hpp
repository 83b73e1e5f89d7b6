// Backward: what an op's vjp is given, and what it answers. It hides the tape, so that a family's file knows its own
// ops and not the whole table.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln {

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
