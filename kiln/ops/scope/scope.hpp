// A thread's scopes as the layers below the user's interface see them: what emit() reads, and what running a function a
// second time needs.
#pragma once
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/checkpointing.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

namespace op {
struct Op;
}

/// Returns the operands as `op` takes them in the thread's Autocast, which must be active: the given ones, or casts
/// that `held` owns.
Inputs autocast(const op::Op& op, Inputs in, Values& held);

/// While this object lives, operations on this thread are recorded, whatever the scopes around it.
class WithGrad {
 public:
  WithGrad();
  ~WithGrad();
  WithGrad(const WithGrad&) = delete;
  WithGrad& operator=(const WithGrad&) = delete;

 private:
  bool before_;
};

/// A NoGrad that knows whether it made a difference.
class Probe {
 public:
  Probe();
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  /// Whether something would have been recorded.
  bool found() const;

 private:
  NoGrad pause_;
  bool before_;
};
/// emit() calls this to tell Probes that it did not record an operation that would have been recorded.
void note_unrecorded();

/// While this object lives, errors that this thread raises are about these operands. Scopes nest.
class OperandScope {
 public:
  explicit OperandScope(Inputs operands);
  ~OperandScope();
  OperandScope(const OperandScope&) = delete;
  OperandScope& operator=(const OperandScope&) = delete;

  /// Calls f(value) for each operand, those of the innermost scope first.
  template <class F>
  static void each(F&& f) {
    for (const OperandScope* scope = innermost(); scope; scope = scope->outer_)
      for (const Value& value : scope->operands_) f(value);
  }

 private:
  static const OperandScope* innermost();
  Inputs operands_;
  const OperandScope* outer_;
};

/// require<E>(holds, parts...) with an error about `operands`: for functions that check before they emit an op.
template <class E, class... Parts>
void require_of(std::initializer_list<const Value*> operands, bool holds, const Parts&... parts) {
  if (holds) [[likely]]
    return;
  Values values;
  for (const Value* value : operands) values.push_back(*value);
  const OperandScope about(values);
  fail<E>(parts...);
}

/// While this object lives, keys that this thread takes from any device's stream are stored in `keys` (Note), or are
/// taken from there while the streams stand still (Repeat). Scopes nest: keys taken in an inner scope are not stored in
/// an outer one.
class KeyScope {
 public:
  enum Mode { Note, Repeat };
  KeyScope(std::vector<Key>& keys, Mode mode);
  ~KeyScope();
  KeyScope(const KeyScope&) = delete;
  KeyScope& operator=(const KeyScope&) = delete;
  /// Whether all keys to repeat have been taken.
  bool used_up() const { return next_ == keys_.size(); }

  /// The result of Backend::next_key(); `draw` asks the device.
  template <class F>
  static Key next(F&& draw) {
    return next(innermost(), draw);
  }
  /// Whether this thread runs something for a second time.
  static bool repeats();

 private:
  static KeyScope* innermost();
  template <class F>
  static Key next(KeyScope* scope, F& draw) {
    if (!scope) return draw();
    if (scope->mode_ == Repeat) return scope->take();
    const Key key = next(scope->outer_, draw);
    scope->keys_.push_back(key);
    return key;
  }
  Key take();

  std::vector<Key>& keys_;
  Mode mode_;
  std::size_t next_ = 0;
  KeyScope* outer_;
};

}  // namespace kiln
