#include "kiln/backend/gpu/kernel/lower/flow.hpp"

namespace kiln::gpu::lower {

using Kind = Instruction::Kind;

/// All is taken to be the same until something says otherwise, again and again, as loops carry variables around.
Flow::Flow(const Kernel& kernel)
    : kernel_(kernel), same_(kernel.values.size(), true), locals_(kernel.locals.size(), true) {
  do {
    changed_ = false;
    walk(kernel.body, true);
  } while (changed_);
}

bool Flow::are_same(const std::vector<Id>& ids) const {
  for (const Id id : ids)
    if (!same_[id]) return false;
  return true;
}

void Flow::differ(Id id) {
  changed_ = changed_ || same_[id];
  same_[id] = false;
}

bool Flow::is_same(const Instruction& in) const {
  if (!are_same(in.operands)) return false;
  switch (in.kind) {
    case Kind::Thread:
    case Kind::Update:
    case Kind::UpdateShared:
    case Kind::Fragments: return false;
    // Nobody stores to an Input meanwhile, and barriers stand between a store to shared memory and its loads.
    case Kind::Load: return kernel_.parameter(in.place).kind == Parameter::Kind::Input;
    case Kind::Local: return locals_[in.place];
    default: return true;
  }
}

/// `together`: do all threads of the block get here, or none?
void Flow::walk(const Statements& list, bool together) {
  for (const Statement& statement : list) {
    using enum Statement::Kind;
    switch (statement.kind) {
      case Let: {
        const Instruction& in = statement.instruction;
        const std::size_t results = in.kind == Kind::Call ? in.function->results : in.width;
        for (std::size_t i = 0; i < results && !is_same(in); ++i) differ(statement.first + static_cast<Id>(i));
        break;
      }
      case StoreLocal:
        if ((together && are_same(statement.operands)) || !locals_[statement.place]) break;
        locals_[statement.place] = false;
        changed_ = true;
        break;
      case Loop:
        if (!are_same(statement.operands)) differ(statement.first);
        walk(statement.body, together && same_[statement.first]);
        break;
      case If:
        walk(statement.body, together && are_same(statement.operands));
        walk(statement.otherwise, together && are_same(statement.operands));
        break;
      case While:
        walk(statement.head, together && are_same(statement.operands));
        walk(statement.body, together && are_same(statement.operands));
        break;
      default: break;
    }
  }
}

}  // namespace kiln::gpu::lower
