#include "kiln/backend/gpu/kernel/lower/flow.hpp"

namespace kiln::gpu::lower {

using Kind = Instruction::Kind;

/// All is taken to be the same until something says otherwise, again and again, as loops carry variables around.
Flow::Flow(const Kernel& kernel, By by, bool will_be_same)
    : kernel_(kernel),
      by_(by),
      will_be_same_(will_be_same),
      same_(kernel.values.size(), true),
      locals_(kernel.locals.size(), true) {
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
    case Kind::Load:
    case Kind::Shared:
    case Kind::SharedPair: return is_same_in_memory(in);
    case Kind::Local: return locals_[in.place];
    case Kind::Literal:
    case Kind::Number:
    case Kind::SharedSame: return true;
    default: return by_ == By::Us || !is_float(in.type);
  }
}

bool Flow::is_same_in_memory(const Instruction& in) const {
  if (in.kind != Kind::Load) return by_ == By::Us;
  // Nobody stores to an Input meanwhile.
  const Parameter& parameter = kernel_.parameter(in.place);
  return by_ == By::Us ? parameter.kind == Parameter::Kind::Input : parameter.uniform > 0;
}

bool Flow::is_common(const Statement& statement) const {
  return are_same(statement.operands) || (will_be_same_ && holds_barrier(statement));
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
        if (!is_common(statement)) differ(statement.first);
        walk(statement.body, together && same_[statement.first]);
        break;
      case If:
        walk(statement.body, together && is_common(statement));
        walk(statement.otherwise, together && is_common(statement));
        break;
      case While:
        walk(statement.head, together && is_common(statement));
        walk(statement.body, together && is_common(statement));
        break;
      default: break;
    }
  }
}

bool holds_barrier(const Statement& statement) {
  using enum Statement::Kind;
  if (statement.kind == Barrier || statement.kind == Arrive || statement.kind == Await) return true;
  if (statement.kind == Let) return statement.instruction.kind == Kind::SharedSame;
  for (const Statements* const part : {&statement.head, &statement.body, &statement.otherwise})
    if (std::ranges::any_of(*part, holds_barrier)) return true;
  return false;
}

}  // namespace kiln::gpu::lower
