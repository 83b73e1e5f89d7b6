#include "kiln/backend/gpu/kernel/fold.hpp"

#include "kiln/backend/gpu/kernel/arithmetic.hpp"

namespace kiln::gpu {
namespace {

using Kind = Instruction::Kind;

bool is_literal(const Literals& literals, Id id, std::int64_t number, DType type) {
  const auto known = literals.find(id);
  return known != literals.end() && known->second == kiln::gpu::bits_of(type, number);
}

}  // namespace

std::uint64_t bits_of(DType type, double number) {
  return visit_type(type, [&](auto like) { return bits_of_value(cast<double, decltype(like)>(number)); });
}
std::uint64_t bits_of(DType type, std::int64_t number) {
  return visit_type(type, [&](auto like) { return bits_of_value(static_cast<decltype(like)>(number)); });
}

std::uint64_t computed(const Instruction& instruction, DType operand_type, const std::uint64_t* operands) {
  switch (instruction.kind) {
    case Kind::Compute:
      return visit_type(operand_type, [&](auto like) -> std::uint64_t {
        using T = decltype(like);
        const T x = value_of<T>(operands[0]), y = instruction.operands.size() > 1 ? value_of<T>(operands[1]) : T{};
        if (compares(instruction.arithmetic)) return comparison(instruction.arithmetic, x, y);
        return bits_of_value(arithmetic(instruction.arithmetic, x, y));
      });
    case Kind::Select: return operands[0] ? operands[1] : operands[2];
    case Kind::Cast:
      return visit_type(operand_type, [&](auto from) {
        return visit_type(instruction.type, [&](auto to) {
          return bits_of_value(cast<decltype(from), decltype(to)>(value_of<decltype(from)>(operands[0])));
        });
      });
    case Kind::Bits: return operands[0];
    default: break;
  }
  fail<ArgumentError>("kernel: this is no arithmetic");
}

Folded fold(const Instruction& instruction, const std::vector<DType>& types, const Literals& literals) {
  const Kind kind = instruction.kind;
  if (kind != Kind::Compute && kind != Kind::Select && kind != Kind::Cast && kind != Kind::Bits) return {};
  const std::vector<Id>& in = instruction.operands;
  const DType type = types[in[0]];

  std::vector<std::uint64_t> bits;
  for (const Id id : in)
    if (const auto known = literals.find(id); known != literals.end()) bits.push_back(known->second);
  if (bits.size() == in.size()) return {.literal = computed(instruction, type, bits.data())};

  if (kind == Kind::Select) {
    if (in[1] == in[2]) return {.same_as = in[1]};
    if (const auto known = literals.find(in[0]); known != literals.end())
      return {.same_as = known->second ? in[1] : in[2]};
    return {};
  }
  if (kind != Kind::Compute || in.size() < 2 || is_float(type) || type == DType::Bool) return {};
  const bool x0 = is_literal(literals, in[0], 0, type), y0 = is_literal(literals, in[1], 0, type);
  const bool x1 = is_literal(literals, in[0], 1, type), y1 = is_literal(literals, in[1], 1, type);
  switch (instruction.arithmetic) {
    case Arithmetic::Add:
    case Arithmetic::Or:
    case Arithmetic::Xor:
      if (x0) return {.same_as = in[1]};
      if (y0) return {.same_as = in[0]};
      break;
    case Arithmetic::Subtract:
    case Arithmetic::ShiftLeft:
    case Arithmetic::ShiftRight:
      if (y0) return {.same_as = in[0]};
      break;
    case Arithmetic::Multiply:
      if (x1) return {.same_as = in[1]};
      if (y1) return {.same_as = in[0]};
      if (x0 || y0) return {.literal = 0};
      break;
    case Arithmetic::Divide:
      if (y1) return {.same_as = in[0]};
      break;
    case Arithmetic::Remainder:
      if (y1) return {.literal = 0};
      break;
    default: break;
  }
  return {};
}

// ---- dead code -----------------------------------------------------------------------------------------------------

namespace {

struct Readers {
  std::vector<bool> values, locals;
};

bool does_something(const Instruction& instruction) {
  return instruction.kind == Kind::Update || instruction.kind == Kind::UpdateShared ||
         instruction.kind == Kind::Shuffle || instruction.kind == Kind::SharedSame;
}

bool any_read(const Statement& let, const Readers& read) {
  const std::size_t results =
      let.instruction.kind == Kind::Call ? let.instruction.function->results : let.instruction.width;
  for (std::size_t i = 0; i < results; ++i)
    if (read.values[let.first + i]) return true;
  return false;
}

/// Goes from the end to the beginning: notes which values the remaining statements read, and removes those that are not
/// read.
bool sweep(Statements& statements, Readers& read) {
  bool changed = false;
  for (std::size_t at = statements.size(); at-- > 0;) {
    Statement& statement = statements[at];
    bool stays = true;
    switch (statement.kind) {
      case Statement::Kind::Let: stays = does_something(statement.instruction) || any_read(statement, read); break;
      case Statement::Kind::StoreLocal: stays = read.locals[statement.place]; break;
      default: break;
    }
    if (stays) {
      for (const Id id : statement.operands) read.values[id] = true;
      for (const Id id : statement.instruction.operands) read.values[id] = true;
      for (Statements* const part : {&statement.otherwise, &statement.body, &statement.head})
        changed = sweep(*part, read) || changed;
      const bool empty = statement.kind == Statement::Kind::If || statement.kind == Statement::Kind::Loop;
      if (empty && statement.body.empty() && statement.otherwise.empty()) stays = false;
    }
    if (!stays) {
      statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(at));
      changed = true;
    }
  }
  return changed;
}

void note_locals(const Statements& statements, std::vector<bool>& locals) {
  for (const Statement& statement : statements) {
    if (statement.kind == Statement::Kind::Let && statement.instruction.kind == Kind::Local)
      locals[statement.instruction.place] = true;
    note_locals(statement.head, locals);
    note_locals(statement.body, locals);
    note_locals(statement.otherwise, locals);
  }
}

}  // namespace

void drop_unread(Kernel& kernel) {
  for (bool changed = true; changed;) {
    Readers read{std::vector<bool>(kernel.values.size()), std::vector<bool>(kernel.locals.size())};
    note_locals(kernel.body, read.locals);
    changed = sweep(kernel.body, read);
  }
}

}  // namespace kiln::gpu
