// Record: one line of the tape. A tracked Value names the Record that made it; a Record keeps what its gradient will
// need and the Records behind its operands. So a graph lives as long as someone can still ask for a gradient.
#pragma once
#include <optional>
#include <vector>

#include "kiln/ops/no_grad.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

struct Record : RefCounted {
  /// An operand: its description always, its data only where the op saves it, its place on the tape if tracked.
  struct Operand {
    Desc desc;
    Value value;
  };

  std::optional<op::Op> op;  // none: a leaf
  std::vector<Operand> in;
  Descs results;
  Values out;  // untracked handles to the results, where the op saves them
  Device device;
  std::uint64_t order = 0;  // grows with creation: an operand's is smaller than its consumer's
};

/// A fresh leaf for a tensor of that description.
Ref<Record> make_leaf(const Desc& desc, const Device& device);
/// Notes that `op` made `results` from `in`. Call only where grad_enabled() and an operand is tracked.
Ref<Record> make_record(op::Op op, Inputs in, const Descs& results, Inputs out, const Device& device);

/// What a vjp is given: operands, results and the results' gradients; it hands back the operands' gradients.
class Backward {
 public:
  Backward(const Ref<Record>& record, Values grads);

  /// An operand that the op saves, or a plain number.
  const Value& in(int i) const;
  const Desc& in_desc(int i) const { return record_->in[static_cast<std::size_t>(i)].desc; }
  int arity() const { return static_cast<int>(record_->in.size()); }
  /// A result, if the op saves them.
  Value out(int slot = 0) const;
  const Desc& out_desc(int slot = 0) const { return record_->results[slot]; }
  /// The gradient of a result; zeros where the loss does not depend on it.
  Value grad(int slot = 0) const;
  const Device& device() const { return record_->device; }
  bool wants(int i) const;
  /// Sets the gradient of operand i to make(), called only if somebody wants it. It may still be broadcast.
  template <class F>
  void to(int i, F&& make) {
    if (wants(i)) into_[static_cast<std::size_t>(i)] = make();
  }

  Values& into() { return into_; }

 private:
  Ref<Record> record_;
  Values grads_, into_;
};

}  // namespace kiln
