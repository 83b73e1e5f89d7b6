#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"

namespace kiln::gpu::lower {

using Kind = Instruction::Kind;

Rewrite::Rewrite(const Kernel& from)
    : from_(from), k_(from.name, from.threads), known_(from.values.size()), read_(from.values.size()) {
  note_reads(from.body);
  origins_ = from.origins;
  for (std::size_t i = origins_.size(); i < from.words().back(); ++i)
    origins_.push_back({.kind = Origin::Kind::Argument, .of = static_cast<std::uint16_t>(i)});
}

Kernel Rewrite::run() {
  declare();
  body();
  return k_.finish();
}

void Rewrite::declare() {
  kernel().least_blocks = from_.least_blocks;
  kernel().together = from_.together;
  kernel().chosen = from_.chosen;
  kernel().shared = from_.shared;
  kernel().locals = from_.locals;
  kernel().matrices = from_.matrices;
  kernel().origins = origins_;
  kernel().uniform = from_.uniform;
  for (const Parameter& parameter : from_.parameters) places_.push_back(add(parameter));
}

std::uint16_t Rewrite::add(const Parameter& parameter) {
  kernel().parameters.push_back(parameter);
  return static_cast<std::uint16_t>(kernel().parameters.size() - 1);
}

Expr Rewrite::number(DType type, Origin origin) {
  kernel().origins.push_back(origin);
  return k_.number(type);
}

void Rewrite::note_reads(const Statements& list) {
  for (const Statement& statement : list) {
    for (const Id id : statement.operands) read_[id] = true;
    for (const Id id : statement.instruction.operands) read_[id] = true;
    for (const Statements* const part : {&statement.head, &statement.body, &statement.otherwise}) note_reads(*part);
  }
}

const Exprs& Rewrite::parts(Id id) const {
  require<ArgumentError>(!known_[id].empty(), "kernel ", from_.name, ": value ", id, " is used before it is made");
  return known_[id];
}

const Expr& Rewrite::at(Id id) const {
  const Exprs& all = parts(id);
  require<ArgumentError>(all.size() == 1, "kernel ", from_.name, ": value ", id, " has become several");
  return all[0];
}

Buffer Rewrite::buffer(std::uint16_t old) { return {&k_, place(old), kernel().parameter(place(old)).dtype}; }

void Rewrite::statements(const Statements& list) {
  for (const Statement& each : list) {
    if (each.kind != Statement::Kind::Let) {
      statement(each);
      continue;
    }
    defining_ = each.first;
    std::vector<Exprs> made = values(each.instruction);
    for (std::size_t i = 0; i < made.size(); ++i) known_[each.first + i] = std::move(made[i]);
  }
}

std::vector<Exprs> Rewrite::copied(const Instruction& in) {
  const int results = in.kind == Kind::Call ? static_cast<int>(in.function->results) : in.width;
  Instruction made = in;
  for (Id& id : made.operands) id = at(id).id();
  switch (in.kind) {
    case Kind::Number:
    case Kind::Entry:
    case Kind::Load:
    case Kind::Update: made.place = place(in.place); break;
    default: break;
  }
  std::vector<Exprs> all;
  for (const Expr& each : k_.let_all(std::move(made), results)) all.push_back({each});
  return all;
}

void Rewrite::copy(const Statement& statement) {
  const std::vector<Id>& in = statement.operands;
  switch (statement.kind) {
    case Statement::Kind::If:
      return k_.when(
          decider(statement, in[0]), [&] { statements(statement.body); }, [&] { statements(statement.otherwise); });
    case Statement::Kind::Loop: {
      const Expr begin = decider(statement, in[0]), end = decider(statement, in[1]), step = decider(statement, in[2]);
      k_.loop(begin, end, step, [&](const Expr& i) {
        known_[statement.first] = {i};
        statements(statement.body);
      });
      k_.open_.back()->back().unrolled = statement.unrolled;
      return;
    }
    case Statement::Kind::While:
      return k_.loop_while(
          [&] {
            statements(statement.head);
            return decider(statement, in[0]);
          },
          [&] { statements(statement.body); });
    default: break;
  }
  Statement made{.kind = statement.kind,
                 .place = statement.place,
                 .from = statement.from,
                 .by = statement.by,
                 .transposed = statement.transposed};
  using enum Statement::Kind;
  if (made.kind == Store || made.kind == Arrive || made.kind == Await) made.place = place(statement.place);
  for (const Id id : in) made.operands.push_back(at(id).id());
  k_.append(std::move(made));
}

}  // namespace kiln::gpu::lower
