#include "kiln/ops/scope/scope.hpp"

#include "kiln/ops/scope/beside.hpp"
#include "kiln/ops/scope/fails_with.hpp"

namespace kiln {
namespace {

thread_local bool recording = true, missed = false;
thread_local Checkpointing::Strategy strategy = Checkpointing::None;
thread_local KeyScope* key_scope = nullptr;
thread_local const FailsWith* fails_with = nullptr;
thread_local Device::Place beside;
thread_local const OperandScope* operand_scope = nullptr;

}  // namespace

bool grad_enabled() { return recording; }
NoGrad::NoGrad(bool off) : before_(recording) {
  if (off) recording = false;
}
NoGrad::~NoGrad() { recording = before_; }

WithGrad::WithGrad() : before_(recording) { recording = true; }
WithGrad::~WithGrad() { recording = before_; }

Probe::Probe() : before_(missed) { missed = false; }
Probe::~Probe() { missed |= before_; }
bool Probe::found() const { return missed; }
void note_unrecorded() { missed = true; }

Checkpointing::Checkpointing(Strategy chosen) : before_(strategy) { strategy = chosen; }
Checkpointing::~Checkpointing() { strategy = before_; }
Checkpointing::Strategy checkpointing() { return strategy; }

OperandScope::OperandScope(Inputs operands) : operands_(operands), outer_(operand_scope) { operand_scope = this; }
OperandScope::~OperandScope() { operand_scope = outer_; }
const OperandScope* OperandScope::innermost() { return operand_scope; }

KeyScope::KeyScope(std::vector<Key>& keys, Mode mode) : keys_(keys), mode_(mode), outer_(key_scope) {
  key_scope = this;
}
KeyScope::~KeyScope() { key_scope = outer_; }
KeyScope* KeyScope::innermost() { return key_scope; }

Key KeyScope::take() {
  require<AutodiffError>(next_ < keys_.size(),
                         "checkpoint: the function draws more random numbers than when it ran first; it must do the "
                         "same each time");
  return keys_[next_++];
}

Beside::Beside(Device::Place place) : before_(std::exchange(beside, place)) {}
Beside::~Beside() { beside = before_; }
Device::Place Beside::innermost() { return beside; }

FailsWith::FailsWith(Inputs causes) : FailsWith(causes, fails_with) {}
FailsWith::FailsWith(Inputs causes, ReplaceOuter) : FailsWith(causes, nullptr) {}
FailsWith::FailsWith(Inputs causes, const FailsWith& scope)
    : causes_(causes), id_(scope.id_), outer_(nullptr), before_(fails_with) {
  fails_with = this;
}
FailsWith::FailsWith(Inputs causes, const FailsWith* outer) : causes_(causes), outer_(outer), before_(fails_with) {
  thread_local std::uint64_t last = 0;
  id_ = ++last;
  fails_with = this;
}
FailsWith::~FailsWith() { fails_with = before_; }
const FailsWith* FailsWith::innermost() { return fails_with; }
bool FailsWith::any() {
  for (const FailsWith* scope = fails_with; scope; scope = scope->outer_)
    if (!scope->causes_.empty()) return true;
  return false;
}

bool KeyScope::repeats() {
  for (const KeyScope* scope = key_scope; scope; scope = scope->outer_)
    if (scope->mode_ == Repeat) return true;
  return false;
}

}  // namespace kiln
