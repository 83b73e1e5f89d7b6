// Expressions, functions and conversions of 64-bit integers, written out as instructions.
#include <cstdlib>

#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

/// Writes trees and functions with numbers of one type as instructions of a builder.
class Writer {
 public:
  Writer(Builder& k, DType type) : k_(k), type_(type) {}

  Expr tree(const expr::Tree& tree, const std::vector<Expr>& scope) {
    return value(tree, [&](std::uint16_t i) { return scope.at(i); });
  }
  Expr call(const expr::Function& function, const std::vector<Expr>& operands);

 private:
  using Scope = FunctionRef<Expr(std::uint16_t)>;

  Expr value(const expr::Tree& tree, Scope scope) {
    std::vector<Expr> made;
    for (const expr::Node& node : tree.nodes) {
      std::vector<Expr> in;
      for (const std::uint16_t i : node.operands) in.push_back(made[i]);
      made.push_back(this->node(node, in, scope));
    }
    return made.back();
  }
  Expr node(const expr::Node& node, const std::vector<Expr>& in, Scope scope) {
    switch (node.kind) {
      case expr::Node::Kind::Variable: return scope(node.variable);
      case expr::Node::Kind::Literal: return literal(node);
      case expr::Node::Kind::Operation: return operation(node.op, in);
      case expr::Node::Kind::Call: return call(*node.function, in);
    }
    __builtin_unreachable();
  }
  Expr literal(const expr::Node& node) {
    if (node.type == expr::Type::Bool) return k_.boolean(node.text == "true");
    char* end = nullptr;
    const auto bits = static_cast<std::int64_t>(std::strtoull(node.text.c_str(), &end, 0));
    require<DeviceError>(*end == 0, "kernel: ", node.text, " is no ", type_);
    return k_.literal(node.type == expr::Type::Word ? DType::U32 : type_, bits);
  }

  DType type_of(expr::Type type) const {
    return type == expr::Type::Number ? type_ : type == expr::Type::Bool ? DType::Bool : DType::U32;
  }
  Expr operation(expr::Operator op, const std::vector<Expr>& in);
  Expr shifted(Arithmetic op, const Expr& x, const Expr& by);
  std::optional<Expr> provided(const expr::Function& function, const std::vector<Expr>& in);

  // ---- functions with a body ----
  struct Frame {
    const expr::Definition& definition;
    std::vector<Expr> values;                  // of parameters and of variables that are set once
    std::vector<std::optional<Local>> locals;  // of the others
    std::optional<Local> result, returned;     // of a function that returns in the middle
    Expr value{};                              // of one that returns at its end
  };
  Expr value(const expr::Tree& tree, Frame& frame) {
    return value(tree, [&](std::uint16_t i) { return frame.locals[i] ? frame.locals[i]->get() : frame.values[i]; });
  }
  void run(std::span<const expr::Statement> list, Frame& frame);
  void run_one(const expr::Statement& statement, Frame& frame);

  Builder& k_;
  const DType type_;
};

bool may_return(std::span<const expr::Statement> list) {
  for (const expr::Statement& each : list)
    if (each.kind == expr::Statement::Kind::Return || may_return(each.body) || may_return(each.otherwise)) return true;
  return false;
}

Expr Writer::shifted(Arithmetic op, const Expr& x, const Expr& by) {
  return compute(op, x, by & (x.type() == DType::U32 ? 31 : 63));
}

/// The meaning is that of operate.hpp: a quotient by 0 is 0, and shifts are modulo the width.
Expr Writer::operation(expr::Operator op, const std::vector<Expr>& in) {
  using enum expr::Operator;
  const Expr &x = in[0], &y = in.back();
  switch (op) {
    case Negate: return -x;
    case Complement:
    case Not: return !x;
    case Multiply: return x * y;
    case Divide: {
      const Expr nothing = y == 0;
      return select(nothing, like(x, 0), x / select(nothing, like(x, 1), y));
    }
    case Add: return x + y;
    case Subtract: return x - y;
    case ShiftLeft: return shifted(Arithmetic::ShiftLeft, x, y);
    case ShiftRight: return shifted(Arithmetic::ShiftRight, x, y);
    case Less: return x < y;
    case LessEqual: return x <= y;
    case Greater: return x > y;
    case GreaterEqual: return x >= y;
    case Equal: return x == y;
    case NotEqual: return x != y;
    case And: return x & y;
    case Xor: return x ^ y;
    case Or: return x | y;
    case Select: return select(x, in[1], in[2]);
  }
  __builtin_unreachable();
}

/// What the library leaves to the device.
std::optional<Expr> Writer::provided(const expr::Function& function, const std::vector<Expr>& in) {
  const std::int64_t least = type_ == DType::I64 ? INT64_MIN : 0, most = type_ == DType::I64 ? INT64_MAX : -1;
  if (function.name == "lowest") return k_.literal(type_, least);
  if (function.name == "highest") return k_.literal(type_, most);
  if (function.name == "width") return k_.literal(type_, 64);
  if (function.name == "to_number") return in[0].as(type_);
  if (function.name == "to_word") return in[0].as(DType::U32);
  return std::nullopt;
}

Expr Writer::call(const expr::Function& function, const std::vector<Expr>& operands) {
  if (const std::optional<Expr> made = provided(function, operands)) return *made;
  const expr::Definition* const definition = function.definition(type_);
  require<DeviceError>(definition && !definition->body.empty() && function.results == 1, "kernel: ", function.name,
                       " of ", type_, " is not written out");
  Frame frame{.definition = *definition, .values = operands, .locals = {}, .result = {}, .returned = {}};
  frame.values.resize(definition->variables.size());
  frame.locals.resize(definition->variables.size());
  const std::span<const expr::Statement> body = definition->body;
  const bool at_its_end = body.back().kind == expr::Statement::Kind::Return && !may_return(body.first(body.size() - 1));
  if (!at_its_end) {
    frame.returned = k_.variable(k_.boolean(false));
    const DType type = type_of(function.gives);
    frame.result = k_.variable(type == DType::Bool ? k_.boolean(false) : k_.literal(type, 0));
  }
  run(body, frame);
  return frame.result ? frame.result->get() : frame.value;
}

/// What follows a statement in which some threads return is done by the others.
void Writer::run(std::span<const expr::Statement> list, Frame& frame) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    run_one(list[i], frame);
    if (list[i].kind == expr::Statement::Kind::Return) return;
    if (i + 1 < list.size() && may_return(list.subspan(i, 1)))
      return k_.when(!frame.returned->get(), [&] { run(list.subspan(i + 1), frame); });
  }
}

void Writer::run_one(const expr::Statement& statement, Frame& frame) {
  using enum expr::Statement::Kind;
  switch (statement.kind) {
    case Let: frame.values[statement.variable] = value(statement.values[0], frame); break;
    case Var: frame.locals[statement.variable] = k_.variable(value(statement.values[0], frame)); break;
    case Assign: frame.locals[statement.variable]->set(value(statement.values[0], frame)); break;
    case If:
      k_.when(
          value(statement.values[0], frame), [&] { run(statement.body, frame); },
          [&] { run(statement.otherwise, frame); });
      break;
    case While:
      k_.loop_while(
          [&] {
            const Expr holds = value(statement.values[0], frame);
            return may_return(statement.body) ? holds & !frame.returned->get() : holds;
          },
          [&] { run(statement.body, frame); });
      break;
    case Return: {
      const Expr made = value(statement.values[0], frame);
      if (!frame.result) {
        frame.value = made;
        break;
      }
      frame.result->set(made);
      frame.returned->set(k_.boolean(true));
      break;
    }
  }
}

class Expand final : public Rewrite {
 public:
  explicit Expand(const Kernel& from) : Rewrite(from) {}

 private:
  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Kind::Convert && (is_wide(in.element) || is_wide(in.to))) return {{converted(in)}};
    if ((in.kind != Kind::Tree && in.kind != Kind::Call) || !is_wide(in.element)) return copied(in);
    if (in.kind == Kind::Call && !in.function->typed) {
      Instruction of_words = in;  // whose numbers are of no type
      of_words.element = DType::I32;
      return copied(of_words);
    }
    Exprs operands;
    for (const Id id : in.operands) operands.push_back(at(id));
    Writer writer(k_, in.element);
    return {{in.kind == Kind::Tree ? writer.tree(*in.tree, operands) : writer.call(*in.function, operands)}};
  }

  /// The rules are those of kiln/core/convert.hpp.
  Expr converted(const Instruction& in) {
    const Expr& x = at(in.operands[0]);
    const DType type = expr::computed_in(in.to);
    if (in.to == DType::Bool) return (x != 0).as(DType::I32);
    if (!is_wide(in.element) || type == in.to) return x.as(type);
    if (!is_float(in.to)) return k_.narrow(x.as(type), in.to);
    // Rounded once, by way of a float32 that tells whether bits were lost.
    const Expr odd = Writer(k_, x.type()).call(*expr::find_function("round_to_odd"), {x});
    return k_.narrow(odd.as(DType::F32), in.to);
  }
};

}  // namespace

Kernel with_expanded_trees(const Kernel& kernel) { return Expand(kernel).run(); }

}  // namespace kiln::gpu::lower
