#include "kiln/backend/gpu/kernel/builder.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace {

using Kind = Instruction::Kind;

}  // namespace

Builder::Builder(std::string_view name, int threads) {
  require<ArgumentError>(threads > 0 && threads <= 1024 && threads % kLanes == 0, "kernel ", name, ": ", threads,
                         " threads to a block");
  kernel_.name = name;
  kernel_.threads = threads;
  open_.push_back(&kernel_.body);
  known_.emplace_back();
}

std::uint16_t Builder::take(Parameter::Kind kind, DType dtype, int count) {
  kernel_.parameters.push_back({kind, dtype, static_cast<std::uint16_t>(count)});
  return static_cast<std::uint16_t>(kernel_.parameters.size() - 1);
}
Buffer Builder::input(DType dtype) { return {this, take(Parameter::Kind::Input, dtype), dtype}; }
Buffer Builder::output(DType dtype) { return {this, take(Parameter::Kind::Output, dtype), dtype}; }
Buffer Builder::both(DType dtype) { return {this, take(Parameter::Kind::Both, dtype), dtype}; }
Expr Builder::number(DType type) {
  type = expr::computed_in(type);
  return let({.kind = Kind::Number, .type = type, .place = take(Parameter::Kind::Number, type)});
}
Table Builder::inputs(DType dtype, int count) { return {this, take(Parameter::Kind::Input, dtype, count), dtype}; }
Table Builder::outputs(DType dtype, int count) { return {this, take(Parameter::Kind::Output, dtype, count), dtype}; }
Numbers Builder::numbers(int count) { return {this, take(Parameter::Kind::Number, DType::I64, count)}; }

Expr Builder::thread() { return let({.kind = Kind::Thread}); }
Expr Builder::block() { return let({.kind = Kind::Block}); }
Expr Builder::blocks() { return let({.kind = Kind::Blocks}); }

Expr Builder::literal(DType type, double number) {
  return let({.kind = Kind::Literal, .type = type, .bits = bits_of(type, number)});
}
Expr Builder::literal(DType type, std::int64_t number) {
  return let({.kind = Kind::Literal, .type = type, .bits = bits_of(type, number)});
}
Expr Builder::boolean(bool value) { return let({.kind = Kind::Literal, .type = DType::Bool, .bits = value}); }

Expr Builder::tree(const expr::Tree& tree, DType dtype, std::span<const Expr> operands) {
  Instruction instruction{.kind = Kind::Tree, .element = expr::computed_in(dtype), .tree = &tree};
  switch (tree.root().type) {
    case expr::Type::Number: instruction.type = instruction.element; break;
    case expr::Type::Bool: instruction.type = DType::Bool; break;
    case expr::Type::Word: instruction.type = DType::U32; break;
  }
  std::size_t variables = 0;
  for (const expr::Node& node : tree.nodes)
    if (node.kind == expr::Node::Kind::Variable) variables = std::max<std::size_t>(variables, node.variable + 1u);
  require<ArgumentError>(operands.size() >= variables, "kernel ", kernel_.name, ": an expression of ", variables,
                         " variables is given ", operands.size());
  for (const Expr& operand : operands) instruction.operands.push_back(operand.id());
  return let(std::move(instruction));
}

Expr Builder::call(std::string_view function, DType dtype, std::initializer_list<Expr> operands) {
  return call_all(function, dtype, operands)[0];
}

std::vector<Expr> Builder::call_all(std::string_view name, DType dtype, std::initializer_list<Expr> operands) {
  const expr::Function* const function = expr::find_function(name);
  require<ArgumentError>(function && function->takes.size() == operands.size(), "kernel: there is no function ", name,
                         " of ", operands.size(), " operands");
  Instruction instruction{.kind = Kind::Call, .element = expr::computed_in(dtype), .function = function};
  instruction.type = function->gives == expr::Type::Number ? instruction.element
                     : function->gives == expr::Type::Bool ? DType::Bool
                                                           : DType::U32;
  for (const Expr& operand : operands) instruction.operands.push_back(operand.id());
  return let_all(std::move(instruction), static_cast<int>(function->results));
}

Expr Builder::convert(const Expr& x, DType from, DType to) {
  if (from == to) return x;
  if (expr::computed_in(from) == expr::computed_in(to) && to != DType::Bool) return narrow(x, to);
  return let({.kind = Kind::Convert, .type = expr::computed_in(to), .element = from, .to = to, .operands = {x.id()}});
}

Expr Builder::narrow(const Expr& x, DType dtype) {
  if (expr::computed_in(dtype) == dtype) return x;
  return let({.kind = Kind::Narrow, .type = x.type(), .element = dtype, .operands = {x.id()}});
}

Shared Builder::shared(DType dtype, std::int64_t count) {
  kernel_.shared.push_back({dtype, count});
  return Shared(this, static_cast<std::uint16_t>(kernel_.shared.size() - 1), dtype);
}
Local Builder::local(DType type, std::int64_t count) {
  type = expr::computed_in(type);
  kernel_.locals.push_back({type, count});
  return Local(this, static_cast<std::uint16_t>(kernel_.locals.size() - 1), type);
}
Local Builder::variable(const Expr& first) {
  kernel_.locals.push_back({first.type(), 1});  // may be a Bool
  const Local made(this, static_cast<std::uint16_t>(kernel_.locals.size() - 1), first.type());
  made.set(first);
  return made;
}

// ---- flow ----

Statements Builder::scoped(Body body) {
  Statements statements;
  open_.push_back(&statements);
  known_.emplace_back();
  body();
  known_.pop_back();
  open_.pop_back();
  return statements;
}

void Builder::when(const Expr& condition, Body then) {
  when(condition, then, [] {});
}

void Builder::when(const Expr& condition, Body then, Body otherwise) {
  require<ArgumentError>(condition.type() == DType::Bool, "kernel: a condition of ", condition.type());
  if (const auto known = literals_.find(condition.id()); known != literals_.end())
    return known->second ? then() : otherwise();
  Statement statement{.kind = Statement::Kind::If, .operands = {condition.id()}};
  statement.body = scoped(then);
  statement.otherwise = scoped(otherwise);
  append(std::move(statement));
}

void Builder::loop(const Expr& begin, const Expr& end, const Expr& step, LoopBody body) {
  require<ArgumentError>(begin.type() == end.type() && begin.type() == step.type() && is_integer(begin.type()),
                         "kernel: a loop counts from ", begin.type(), " to ", end.type(), " by ", step.type());
  Statement statement{.kind = Statement::Kind::Loop, .operands = {begin.id(), end.id(), step.id()}};
  statement.first = static_cast<Id>(kernel_.values.size());
  kernel_.values.push_back(begin.type());
  const Expr counter(this, statement.first, begin.type());
  statement.body = scoped([&] { body(counter); });
  append(std::move(statement));
}

void Builder::unrolled(int count, LoopBody body) {
  if (count == 1) return body(literal(DType::I32, 0));
  loop(literal(DType::I32, 0), literal(DType::I32, count), literal(DType::I32, 1), body);
  open_.back()->back().unrolled = true;
}

void Builder::loop_while(FunctionRef<Expr()> head, Body body) {
  Statement statement{.kind = Statement::Kind::While};
  Expr condition;
  // Values that the head computes can be reused in the body.
  statement.head = scoped([&] {
    condition = head();
    statement.body = scoped(body);
  });
  require<ArgumentError>(condition.type() == DType::Bool, "kernel: a condition of ", condition.type());
  statement.operands = {condition.id()};
  append(std::move(statement));
}

void Builder::barrier() { append({.kind = Statement::Kind::Barrier}); }
void Builder::fence() { append({.kind = Statement::Kind::Fence}); }
void Builder::arrive(const Buffer& cells, const Expr& which) {
  require<ArgumentError>(cells.dtype() == DType::I32 && is_integer(which.type()),
                         "kernel: blocks that meet are counted in int32, not in ", cells.dtype());
  kernel_.together = true;
  append({.kind = Statement::Kind::Arrive, .place = cells.place(), .operands = {which.id()}});
}
void Builder::await(const Buffer& cells, const Expr& which, const Expr& count) {
  require<ArgumentError>(cells.dtype() == DType::I32 && count.type() == DType::I32 && is_integer(which.type()),
                         "kernel: blocks that meet are counted in int32, not in ", cells.dtype(), " by ", count.type());
  kernel_.together = true;
  append({.kind = Statement::Kind::Await, .place = cells.place(), .operands = {which.id(), count.id()}});
}

Expr Builder::shuffle(const Expr& x, const Expr& lane) {
  require<ArgumentError>(lane.type() == DType::I32, "kernel: a lane is int32");
  return let({.kind = Kind::Shuffle, .type = x.type(), .operands = {x.id(), lane.id()}});
}
std::vector<Expr> Builder::multiply_fragments(DType dtype, std::span<const Expr> a, std::span<const Expr> b,
                                              std::span<const Expr> c) {
  require<ArgumentError>(
      (dtype == DType::F16 || dtype == DType::BF16) && a.size() == 4 && b.size() == 2 && c.size() == 4,
      "kernel: fragments are of halves, 4 and 2 words of them and 4 sums");
  Instruction instruction{.kind = Kind::Fragments, .type = DType::F32, .element = dtype, .width = 4};
  for (const auto& list : {a, b, c})
    for (const Expr& each : list) {
      const DType type = instruction.operands.size() < 6 ? DType::U32 : DType::F32;
      require<ArgumentError>(each.type() == type, "kernel: a fragment of ", each.type(), " where ", type, " belongs");
      instruction.operands.push_back(each.id());
    }
  return let_all(std::move(instruction), 4);
}
Matrix Builder::matrix(Matrix::Use use, const Fragment& fragment) {
  const bool sums = use == Matrix::Use::Sums;
  kernel_.matrices.push_back({.use = use,
                              .rows = static_cast<std::uint16_t>(use == Matrix::Use::Right ? fragment.k : fragment.m),
                              .columns = static_cast<std::uint16_t>(use == Matrix::Use::Left ? fragment.k : fragment.n),
                              .dtype = sums ? fragment.sums : fragment.factors});
  return {this, static_cast<std::uint16_t>(kernel_.matrices.size() - 1)};
}
Expr Builder::shuffle_xor(const Expr& x, int mask) { return shuffle(x, lane() ^ mask); }

// ---- new values ----

Expr Builder::let(Instruction instruction) { return let_all(std::move(instruction), 1)[0]; }

std::vector<Expr> Builder::let_all(Instruction instruction, int results) {
  const DType type = instruction.type;
  require<ArgumentError>(type == DType::Bool || expr::computed_in(type) == type, "kernel ", kernel_.name,
                         ": nothing is computed in ", type);
  std::vector<Expr> made;
  const auto known_as = [&](Id first) {
    for (int i = 0; i < results; ++i) made.emplace_back(this, first + static_cast<Id>(i), type);
    return made;
  };
  if (instruction.is_pure() && results == 1) {
    const Folded folded = fold(instruction, kernel_.values, literals_);
    if (folded.same_as) return known_as(*folded.same_as);
    if (folded.literal) instruction = {.kind = Kind::Literal, .type = type, .bits = *folded.literal};
  }
  if (instruction.is_pure())
    for (const auto& scope : known_)
      for (const auto& [known, id] : scope)
        if (known == instruction) return known_as(id);
  const auto first = static_cast<Id>(kernel_.values.size());
  kernel_.values.insert(kernel_.values.end(), static_cast<std::size_t>(results), type);
  if (instruction.is_pure()) known_.back().emplace_back(instruction, first);
  if (instruction.kind == Kind::Literal) literals_.emplace(first, instruction.bits);
  append({.kind = Statement::Kind::Let, .first = first, .instruction = std::move(instruction)});
  return known_as(first);
}

void Builder::append(Statement statement) {
  require<ArgumentError>(!open_.empty(), "kernel: its builder has finished it");
  open_.back()->push_back(std::move(statement));
}

Kernel Builder::finish() {
  require<ArgumentError>(open_.size() == 1, "kernel ", kernel_.name, ": is finished once, after all of its statements");
  open_.clear();
  drop_unread(kernel_);
  return std::move(kernel_);
}

// ---- folds ---------------------------------------------------------------------------------------------------------

Expr fold_warp(Builder& k, const Expr& x, Combine combine) {
  Expr all = x;
  for (int mask = kLanes / 2; mask > 0; mask /= 2) all = combine(all, k.shuffle_xor(all, mask));
  return all;
}

Expr fold_block(Builder& k, const Expr& x, Combine combine) {
  const int warps = k.threads() / kLanes;
  const Expr of_warp = fold_warp(k, x, combine);
  if (warps == 1) return of_warp;
  const Shared parts = k.shared(x.type(), warps);
  k.barrier();  // threads that fold a second time may still read the parts of the first
  k.when(k.lane() == 0, [&] { parts.store(k.warp(), of_warp); });
  k.barrier();
  Expr all = parts[k.literal(DType::I32, 0)];
  for (int i = 1; i < warps; ++i) all = combine(all, parts[k.literal(DType::I32, i)]);
  return all;
}

}  // namespace kiln::gpu
