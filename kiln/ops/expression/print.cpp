#include "kiln/ops/expression/print.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::expr {
namespace {

using Syntax = Dialect::Syntax;

bool is_binary(const Node& node) { return node.kind == Node::Kind::Operation && node.operands.size() == 2; }
bool is_product(Operator op) { return op == Operator::Multiply || op == Operator::Divide; }
bool is_sum(Operator op) { return op == Operator::Add || op == Operator::Subtract; }

/// `text` with $0, $1 and $f replaced.
std::string filled(std::string_view text, std::span<const std::string> operands, bool single) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
    } else if (text[++i] == 'f') {
      if (single) out += 'f';
    } else {
      out += operands[static_cast<std::size_t>(text[i] - '0')];
    }
  }
  return out;
}

/// `&`, `|` and `^` of truth values have symbols of their own.
std::string_view symbol_of(Operator op, Type type) {
  if (type != Type::Bool) return symbol(op);
  switch (op) {
    case Operator::And: return "&&";
    case Operator::Or: return "||";
    case Operator::Xor: return "!=";
    default: return symbol(op);
  }
}

}  // namespace

std::string Printer::literal(std::string_view digits, DType dtype) const {
  const DType in = computed_in(dtype);
  std::string out(digits);
  if (is_float(in) && digits.find_first_of(".e") == std::string_view::npos) out += ".0";
  switch (in) {
    case DType::F64: return dialect_.syntax == Syntax::Glsl ? out + "lf" : out;
    case DType::F32: return out + "f";
    case DType::I32: return dialect_.syntax == Syntax::Wgsl ? out + "i" : out;
    case DType::U32: return out + "u";
    case DType::I64: return out.append(dialect_.wide);
    default: return out.append("u").append(dialect_.wide);
  }
}

std::string Printer::choice(std::string_view condition, std::string_view yes, std::string_view no) const {
  if (dialect_.syntax == Syntax::Wgsl) return kiln::text("select(", no, ", ", yes, ", ", condition, ")");
  return kiln::text("(", condition, " ? ", yes, " : ", no, ")");
}

std::string Printer::declaration(std::string_view type, std::string_view name, std::string_view value,
                                 bool changes) const {
  if (dialect_.syntax == Syntax::Wgsl)
    return kiln::text(changes ? "var " : "let ", name, ": ", type, " = ", value, ";");
  const bool fixed = !changes && dialect_.syntax == Syntax::Cpp;
  return kiln::text(fixed ? "const " : "", type, " ", name, " = ", value, ";");
}

std::string Printer::type(Type type, DType dtype) const {
  return std::string(type == Type::Bool ? "bool" : type == Type::Word ? dialect_.word() : dialect_.type(dtype));
}

/// The type of a variable or a result, whose operations are rounded one by one.
std::string Printer::declared_type(Type of, DType dtype) const {
  const bool is_rounded = of == Type::Number && is_float(computed_in(dtype));
  return std::string(is_rounded ? dialect_.precise : "") + type(of, dtype);
}

std::string Printer::call(const Function& function, DType dtype, std::span<const std::string> operands) {
  require<DTypeError>(supports(dialect_, function, dtype), dialect_.name, " has no ", function.name, " of ",
                      computed_in(dtype));
  if (const Native* native = dialect_.native(function, dtype))
    return filled(native->text, operands, computed_in(dtype) == DType::F32);
  // A function that returns its operand or a constant needs no definition.
  const std::vector<Statement>& body = function.definition(dtype)->body;
  const Tree& value = body.back().values[0];
  const bool plain = value.root().kind == Node::Kind::Variable || value.root().kind == Node::Kind::Literal;
  if (body.size() == 1 && value.nodes.size() == 1 && plain) return expression(value, dtype, operands);
  std::string name = kiln::text("kiln_", function.name);
  if (function.typed) name += kiln::text("_", short_name(dtype));
  if (!defined_.contains(name)) {
    define(function, dtype, name);
    defined_.insert(name);
  }
  name += '(';
  for (std::size_t i = 0; i < operands.size(); ++i) name += kiln::text(i ? ", " : "", operands[i]);
  return name + ')';
}

void Printer::define(const Function& function, DType dtype, const std::string& name) {
  const Definition& definition = *function.definition(dtype);
  const bool wgsl = dialect_.syntax == Syntax::Wgsl;
  std::string result = declared_type(function.gives, dtype);
  if (function.results > 1) result = dialect_.syntax == Syntax::Cpp ? "KilnWords" : wgsl ? "vec4<u32>" : "uvec4";
  std::vector<std::string> names;
  for (const Variable& variable : definition.variables) names.push_back(variable.name);

  std::string out = wgsl ? kiln::text("fn ", name, "(")
                         : kiln::text(dialect_.syntax == Syntax::Cpp ? "KILN_DEVICE " : "", result, " ", name, "(");
  for (std::size_t i = 0; i < function.takes.size(); ++i) {
    const std::string of = type(function.takes[i], dtype);
    out += kiln::text(i ? ", " : "", wgsl ? names[i] : of, wgsl ? ": " : " ", wgsl ? of : names[i]);
  }
  out += wgsl ? kiln::text(") -> ", result, " {\n") : ") {\n";
  statements(definition.body, definition, function, dtype, names, "  ", out);
  library_ += out + "}\n";
}

void Printer::statements(const std::vector<Statement>& list, const Definition& definition, const Function& function,
                         DType dtype, std::span<const std::string> names, std::string indent, std::string& out) {
  for (const Statement& statement : list) {
    std::vector<std::string> values;
    for (const Tree& tree : statement.values) values.push_back(expression(tree, dtype, names));
    out += indent;
    const bool changes = statement.kind == Statement::Kind::Var;
    switch (statement.kind) {
      case Statement::Kind::Let:
      case Statement::Kind::Var: {
        const Variable& variable = definition.variables[statement.variable];
        out += declaration(declared_type(variable.type, dtype), variable.name, values[0], changes) + "\n";
        break;
      }
      case Statement::Kind::Assign: out += kiln::text(names[statement.variable], " = ", values[0], ";\n"); break;
      case Statement::Kind::If:
      case Statement::Kind::While:
        out += kiln::text(statement.kind == Statement::Kind::If ? "if (" : "while (", values[0], ") {\n");
        statements(statement.body, definition, function, dtype, names, indent + "  ", out);
        if (!statement.otherwise.empty()) {
          out += indent + "} else {\n";
          statements(statement.otherwise, definition, function, dtype, names, indent + "  ", out);
        }
        out += indent + "}\n";
        break;
      case Statement::Kind::Return: {
        if (values.size() == 1) {
          out += kiln::text("return ", values[0], ";\n");
          break;
        }
        const bool braces = dialect_.syntax == Syntax::Cpp;
        out += kiln::text("return ", braces ? "KilnWords{" : dialect_.syntax == Syntax::Glsl ? "uvec4(" : "vec4<u32>(");
        for (std::size_t i = 0; i < values.size(); ++i) out += kiln::text(i ? ", " : "", values[i]);
        out += braces ? "};\n" : ");\n";
        break;
      }
    }
  }
}

std::string Printer::expression(const Tree& tree, DType dtype, std::span<const std::string> names) {
  return text(tree, tree.root(), dtype, names, false);
}

/// Encloses a part of a larger expression (`inside`) in parentheses where it needs them.
std::string Printer::text(const Tree& tree, const Node& node, DType dtype, std::span<const std::string> names,
                          bool inside) {
  switch (node.kind) {
    case Node::Kind::Variable: return names[node.variable];
    case Node::Kind::Literal:
      if (node.type == Type::Bool) return node.text;
      require<DTypeError>(
          node.type == Type::Word || is_float(computed_in(dtype)) || node.text.find('.') == std::string::npos,
          "expression: ", node.text, " is no ", computed_in(dtype));
      return literal(node.text, node.type == Type::Word ? DType::U32 : dtype);
    case Node::Kind::Call: {
      std::vector<std::string> operands;
      for (const std::uint16_t operand : node.operands)
        operands.push_back(text(tree, tree.nodes[operand], dtype, names, false));
      return call(*node.function, dtype, operands);
    }
    case Node::Kind::Operation: break;
  }
  return operation(tree, node, dtype, names, inside);
}

std::string Printer::operation(const Tree& tree, const Node& node, DType dtype, std::span<const std::string> names,
                               bool inside) {
  const auto alone = [&](std::size_t i) { return text(tree, tree.nodes[node.operands[i]], dtype, names, false); };
  const auto part = [&](std::size_t i) { return text(tree, tree.nodes[node.operands[i]], dtype, names, true); };
  const auto operand = [&](std::size_t i) {
    const Node& child = tree.nodes[node.operands[i]];
    // Products inside sums need no parentheses.
    const bool bare = is_binary(node) && is_sum(node.op) && is_binary(child) && is_product(child.op);
    return text(tree, child, dtype, names, !bare);
  };
  const auto open = [&](const auto&... parts) { return kiln::text(inside ? "(" : "", parts..., inside ? ")" : ""); };
  if (node.op == Operator::Select) return choice(alone(0), alone(1), alone(2));

  const bool number = node.operand_type != Type::Bool;
  const DType in = node.operand_type == Type::Word ? DType::U32 : computed_in(dtype);
  const bool is_signed = number && (numbers_of(in) & kSigned) != 0, cpp = dialect_.syntax == Syntax::Cpp;
  const std::string_view plain = dialect_.type(in),
                         without_sign = dialect_.type(in == DType::I64 ? DType::U64 : DType::U32);
  if (node.operands.size() == 1) {
    if (node.op != Operator::Negate || is_float(in)) return open(symbol(node.op), operand(0));
    const bool literal_operand = tree.nodes[node.operands[0]].kind == Node::Kind::Literal;
    if (is_signed && (literal_operand || !cpp)) return open("-", operand(0));
    // Overflow of signed integers is undefined in C++, and WGSL has no -x for unsigned ones.
    if (is_signed) return kiln::text("(", plain, ")(0 - (", without_sign, ")", operand(0), ")");
    return open(literal("0", in), " - ", operand(0));
  }
  const bool shifts = node.op == Operator::ShiftLeft || node.op == Operator::ShiftRight;
  if (is_signed && cpp && (is_sum(node.op) || node.op == Operator::Multiply || node.op == Operator::ShiftLeft)) {
    const std::string right = shifts ? operand(1) : kiln::text("(", without_sign, ")", part(1));
    return kiln::text("(", plain, ")((", without_sign, ")", part(0), " ", symbol(node.op), " ", right, ")");
  }
  const bool counts = shifts && in != DType::U32 && dialect_.syntax == Syntax::Wgsl;
  const std::string right = counts ? kiln::text("u32(", alone(1), ")") : operand(1);
  return open(operand(0), " ", symbol_of(node.op, node.operand_type), " ", right);
}

}  // namespace kiln::expr
