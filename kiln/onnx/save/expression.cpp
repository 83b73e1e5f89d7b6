#include "kiln/onnx/save/expression.hpp"

#include <algorithm>
#include <map>

#include "kiln/core/parse_number.hpp"
#include "kiln/onnx/table.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::onnx {
namespace {

using expr::Operator;
using expr::Tree;
using expr::Type;

struct Native {
  std::string_view name;
  int since;
};
// The operator of a function of expressions in a version of the operator set: that whose row names the function. Empty
// where there is none.
std::string_view native(std::string_view function, int opset) {
  static const auto operators = [] {
    std::map<std::string_view, Native> all = {{"max", {"Max", 1}}, {"min", {"Min", 1}}};
    const auto add = [&](std::string_view name, const OperatorRow& row) {
      Native& is = all.try_emplace(name, Native{row.name, row.since}).first->second;
      is.since = std::min(is.since, row.since);
    };
    for (const Family& family : families())
      for (const OperatorRow& row : family.rows) {
        const KilnFunction& is = row.traits.function;
        if (!family.domain.empty() || !is.attribute.empty()) continue;
        if (const auto* const unary = std::get_if<op::UnaryFn>(&is.fn)) add(op::name(*unary), row);
        if (const auto* const binary = std::get_if<op::BinaryFn>(&is.fn)) add(op::name(*binary), row);
      }
    return all;
  }();
  const auto found = operators.find(function);
  return found == operators.end() || found->second.since > opset ? std::string_view() : found->second.name;
}

// Others that a few operators make.
using Composed = std::string (*)(Writing&, const Strings&, DType);
struct ComposedRow {
  std::string_view function;
  Composed write;
};
constexpr ComposedRow kComposed[] = {
    {"exp2", [](Writing& w, const Strings& x, DType t) { return w.one("Pow", {w.number(2.0, t), x[0]}); }},
    {"log2", [](Writing& w, const Strings& x,
                DType t) { return w.one("Mul", {w.one("Log", x), w.number(1.4426950408889634, t)}); }},
    {"log10", [](Writing& w, const Strings& x,
                 DType t) { return w.one("Mul", {w.one("Log", x), w.number(0.43429448190325182, t)}); }},
    {"expm1", [](Writing& w, const Strings& x, DType t) { return w.one("Sub", {w.one("Exp", x), w.number(1.0, t)}); }},
    {"log1p",
     [](Writing& w, const Strings& x, DType t) { return w.one("Log", {w.one("Add", {x[0], w.number(1.0, t)})}); }},
    {"erfc", [](Writing& w, const Strings& x, DType t) { return w.one("Sub", {w.number(1.0, t), w.one("Erf", x)}); }},
    {"trunc", [](Writing& w, const Strings& x,
                 DType) { return w.one("Mul", {w.one("Sign", x), w.one("Floor", {w.one("Abs", x)})}); }},
    {"is_finite", [](Writing& w, const Strings& x,
                     DType) { return w.one("Not", {w.one("Or", {w.one("IsNaN", x), w.one("IsInf", x)})}); }},
    {"hypot",
     [](Writing& w, const Strings& x, DType) {
       return w.one("Sqrt", {w.one("Add", {w.one("Mul", {x[0], x[0]}), w.one("Mul", {x[1], x[1]})})});
     }},
    {"sinc",
     [](Writing& w, const Strings& x, DType t) {
       const std::string turn = w.one("Mul", {x[0], w.number(3.141592653589793, t)}), zero = w.number(0.0, t);
       return w.one("Where",
                    {w.one("Equal", {turn, zero}), w.number(1.0, t), w.one("Div", {w.one("Sin", {turn}), turn})});
     }},
    {"fmod", [](Writing& w, const Strings& x, DType) { return w.one("Mod", x, {attribute("fmod", 1)}); }},
    {"remainder",
     [](Writing& w, const Strings& x, DType t) {
       if (!is_float(t)) return w.one("Mod", x);
       return w.one("Sub", {x[0], w.one("Mul", {w.one("Floor", {w.one("Div", x)}), x[1]})});
     }},
    {"floor_divide",
     [](Writing& w, const Strings& x, DType t) {
       if (is_float(t)) return w.one("Floor", {w.one("Div", x)});
       return w.one("Div", {w.one("Sub", {x[0], w.one("Mod", x)}), x[1]});
     }},
};
Composed composed(std::string_view function) {
  const auto found = std::find_if(std::begin(kComposed), std::end(kComposed),
                                  [&](const ComposedRow& each) { return each.function == function; });
  return found == std::end(kComposed) ? nullptr : found->write;
}

// One that is written as its definition: lines without choices and loops.
const expr::Definition* straight(const expr::Function& function, DType dtype) {
  const expr::Definition* const definition = function.definition(dtype);
  if (!definition || definition->body.empty() || function.results != 1) return nullptr;
  for (const expr::Statement& line : definition->body)
    if (line.kind != expr::Statement::Kind::Let && line.kind != expr::Statement::Kind::Return) return nullptr;
  const expr::Statement& last = definition->body.back();
  return last.kind == expr::Statement::Kind::Return && last.values.size() == 1 ? definition : nullptr;
}

std::string why_not_function(const expr::Function& function, DType dtype, int opset, int depth) {
  if (!native(function.name, opset).empty() || composed(function.name)) return "";
  const expr::Definition* const definition = straight(function, dtype);
  if (!definition || depth > 8) return text("ONNX has no ", function.name);
  for (const expr::Statement& line : definition->body)
    for (const Tree& value : line.values)
      for (const expr::Node& node : value.nodes) {
        if (node.type == Type::Word) return text("ONNX has no ", function.name);
        if (node.kind != expr::Node::Kind::Call) continue;
        if (const std::string why = why_not_function(*node.function, dtype, opset, depth + 1); !why.empty()) return why;
      }
  return "";
}

class TreeWriter {
 public:
  TreeWriter(Writing& out, DType dtype) : out_(out), dtype_(dtype) {}

  std::string write(const Tree& tree, const Strings& variables) {
    Strings values;
    for (const expr::Node& node : tree.nodes) {
      Strings in;
      for (const std::uint16_t operand : node.operands) in.push_back(values[operand]);
      values.push_back(value_of(node, in, variables));
    }
    return values.back();
  }

 private:
  std::string value_of(const expr::Node& node, const Strings& in, const Strings& variables) {
    switch (node.kind) {
      case expr::Node::Kind::Variable: return variables.at(node.variable);
      case expr::Node::Kind::Literal: return literal(node);
      case expr::Node::Kind::Operation: return operation(node, in);
      case expr::Node::Kind::Call: return call(*node.function, in);
    }
    return {};
  }

  std::string literal(const expr::Node& node) {
    if (node.type == Type::Bool) return out_.number(Scalar(node.text == "true"), DType::Bool);
    double number = 0;
    parse_number(node.text.data(), node.text.data() + node.text.size(), number);
    if (node.text == "nan") number = std::numeric_limits<double>::quiet_NaN();
    if (node.text == "infinity") number = std::numeric_limits<double>::infinity();
    return out_.number(number, dtype_);
  }

  std::string operation(const expr::Node& node, const Strings& in) {
    const bool truths = node.operand_type == Type::Bool;
    switch (node.op) {
      case Operator::Negate: return out_.one("Neg", in);
      case Operator::Complement: return out_.one("BitwiseNot", in);
      case Operator::Not: return out_.one("Not", in);
      case Operator::Multiply: return out_.one("Mul", in);
      case Operator::Divide: return out_.one("Div", in);
      case Operator::Add: return out_.one("Add", in);
      case Operator::Subtract: return out_.one("Sub", in);
      case Operator::ShiftLeft: return out_.one("BitShift", in, {attribute("direction", "LEFT")});
      case Operator::ShiftRight: return out_.one("BitShift", in, {attribute("direction", "RIGHT")});
      case Operator::Less: return out_.one("Less", in);
      case Operator::LessEqual: return out_.one("LessOrEqual", in);
      case Operator::Greater: return out_.one("Greater", in);
      case Operator::GreaterEqual: return out_.one("GreaterOrEqual", in);
      case Operator::Equal: return out_.one("Equal", in);
      case Operator::NotEqual: return out_.one("Not", {out_.one("Equal", in)});
      case Operator::And: return out_.one(truths ? "And" : "BitwiseAnd", in);
      case Operator::Xor: return out_.one(truths ? "Xor" : "BitwiseXor", in);
      case Operator::Or: return out_.one(truths ? "Or" : "BitwiseOr", in);
      case Operator::Select: return out_.one("Where", in);
    }
    return {};
  }

  std::string call(const expr::Function& function, const Strings& in) {
    if (const std::string_view found = native(function.name, out_.opset()); !found.empty()) return out_.one(found, in);
    if (const Composed write = composed(function.name)) return write(out_, in, dtype_);
    const expr::Definition& definition = *straight(function, dtype_);
    Strings variables = in;
    variables.resize(std::max(in.size(), definition.variables.size()));
    for (const expr::Statement& line : definition.body) {
      const std::string value = write(line.values.front(), variables);
      if (line.kind == expr::Statement::Kind::Return) return value;
      variables[line.variable] = value;
    }
    return {};
  }

  Writing& out_;
  DType dtype_;
};

}  // namespace

std::string why_not(const Tree& tree, DType dtype, int opset) {
  for (const expr::Node& node : tree.nodes) {
    if (node.type == Type::Word) return "it is made of bits";
    if (node.kind != expr::Node::Kind::Call) continue;
    if (const std::string why = why_not_function(*node.function, dtype, opset, 0); !why.empty()) return why;
  }
  return "";
}

std::string write_tree(Writing& out, const Tree& tree, const Strings& operands, DType dtype) {
  return TreeWriter(out, dtype).write(tree, operands);
}

}  // namespace kiln::onnx
