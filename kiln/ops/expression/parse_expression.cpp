#include "kiln/ops/expression/parse_expression.hpp"

#include <algorithm>

namespace kiln::expr {
namespace {

struct Binding {
  std::string_view symbol;
  Operator op;
  int strength;
};
// Where one symbol begins like another, the longer one comes first.
constexpr Binding kBindings[] = {
    {"<<", Operator::ShiftLeft, 6},    {">>", Operator::ShiftRight, 6}, {"<=", Operator::LessEqual, 5},
    {">=", Operator::GreaterEqual, 5}, {"==", Operator::Equal, 4},      {"!=", Operator::NotEqual, 4},
    {"<", Operator::Less, 5},          {">", Operator::Greater, 5},     {"*", Operator::Multiply, 8},
    {"/", Operator::Divide, 8},        {"+", Operator::Add, 7},         {"-", Operator::Subtract, 7},
    {"&", Operator::And, 3},           {"^", Operator::Xor, 2},         {"|", Operator::Or, 1},
};

bool compares(Operator op) { return op >= Operator::Less && op <= Operator::NotEqual; }
bool is_logic(Operator op) { return op >= Operator::And && op <= Operator::Or; }

class ExpressionParser {
 public:
  ExpressionParser(Cursor& text, std::span<const Variable> scope, const std::deque<Function>* functions)
      : text_(text), scope_(scope), functions_(functions) {}

  Tree expression() {
    const std::uint16_t root = binary(0);
    settle(root, Type::Number);
    // The value is the last node; a variable in parentheses could be followed by nodes that nothing reads.
    KILN_CHECK(root + 1u == tree_.nodes.size());
    return std::move(tree_);
  }

 private:
  // While a tree grows, loose_ holds the literals that have no type yet.
  std::uint16_t add(Node node) {
    if (tree_.nodes.size() >= 60000) text_.wrong("the expression is too long");
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::uint16_t>(tree_.nodes.size() - 1);
  }
  Type type_of(std::uint16_t node) const { return tree_.nodes[node].type; }
  bool is_loose(std::uint16_t node) const { return std::find(loose_.begin(), loose_.end(), node) != loose_.end(); }
  /// Literals, and operations on literals alone, take the type of their neighbour.
  void settle(std::uint16_t node, Type type) {
    if (!is_loose(node)) return;
    std::erase(loose_, node);
    tree_.nodes[node].type = tree_.nodes[node].operand_type = type;
    for (const std::uint16_t operand : tree_.nodes[node].operands) settle(operand, type);
  }
  void agree(std::uint16_t a, std::uint16_t b) {
    if (is_loose(a) && !is_loose(b)) settle(a, type_of(b));
    if (is_loose(b) && !is_loose(a)) settle(b, type_of(a));
    if (type_of(a) != type_of(b)) text_.wrong(name(type_of(a)), " stands beside ", name(type_of(b)));
  }
  void expect_type(std::uint16_t node, Type type) {
    if (type != Type::Bool) settle(node, type);
    if (type_of(node) != type) text_.wrong("expected ", name(type), ", got ", name(type_of(node)));
  }
  std::uint16_t operation(Operator op, std::vector<std::uint16_t> operands) {
    Type type = type_of(operands[0]);
    bool loose = is_loose(operands[0]);
    if (op == Operator::Select) {
      expect_type(operands[0], Type::Bool);
      agree(operands[1], operands[2]);
      type = type_of(operands[1]);
      loose = is_loose(operands[1]);
    } else if (op == Operator::Not) {
      expect_type(operands[0], Type::Bool);
    } else if (operands.size() == 2) {
      agree(operands[0], operands[1]);
      type = type_of(operands[0]);
      loose = is_loose(operands[0]);
      if (type == Type::Bool && !is_logic(op) && op != Operator::Equal && op != Operator::NotEqual)
        text_.wrong("'", symbol(op), "' takes no truths");
    } else if (type == Type::Bool) {
      text_.wrong("'", symbol(op), "' takes no truths");
    }
    if (compares(op)) {
      for (const std::uint16_t operand : operands) settle(operand, Type::Number);
      loose = false;
      type = Type::Bool;
    }
    const Type operand_type = type_of(operands.back());
    const std::uint16_t node = add({.kind = Node::Kind::Operation,
                                    .type = type,
                                    .op = op,
                                    .operand_type = operand_type,
                                    .operands = std::move(operands)});
    if (loose) loose_.push_back(node);
    return node;
  }

  std::uint16_t binary(int strength) {
    std::uint16_t left = unary();
    for (;;) {
      const auto* found = std::find_if(std::begin(kBindings), std::end(kBindings),
                                       [&](const Binding& b) { return text_.is_at(b.symbol); });
      if (found == std::end(kBindings) || found->strength < strength) return left;
      if (text_.is_at("&&") || text_.is_at("||")) text_.wrong("write '&' and '|' for booleans");
      text_.take(found->symbol);
      const std::uint16_t right = binary(found->strength + 1);
      left = operation(found->op, {left, right});
    }
  }
  std::uint16_t unary() {
    if (text_.take("-")) return operation(Operator::Negate, {unary()});
    if (text_.take("~")) return operation(Operator::Complement, {unary()});
    if (!text_.is_at("!=") && text_.take("!")) return operation(Operator::Not, {unary()});
    return primary();
  }
  std::uint16_t primary() {
    if (text_.take("(")) {
      const std::uint16_t inside = binary(0);
      text_.expect(")");
      return inside;
    }
    if (text_.is_at_digit()) return number();
    if (text_.is_at_letter()) return named();
    text_.wrong("expected a value");
  }
  std::uint16_t number() {
    const std::uint16_t node = add({.kind = Node::Kind::Literal, .text = std::string(text_.take_number())});
    loose_.push_back(node);
    return node;
  }
  std::vector<std::uint16_t> arguments() {
    std::vector<std::uint16_t> result;
    if (text_.take(")")) return result;
    do result.push_back(binary(0));
    while (text_.take(","));
    text_.expect(")");
    return result;
  }
  std::uint16_t named() {
    const std::string_view word = text_.take_word();
    if (word == "true" || word == "false")
      return add({.kind = Node::Kind::Literal, .type = Type::Bool, .text = std::string(word)});
    // The latest variable of a name hides earlier ones.
    for (std::size_t i = scope_.size(); i-- > 0;)
      if (scope_[i].name == word)
        return add({.kind = Node::Kind::Variable,
                    .type = scope_[i].type,
                    .variable = static_cast<std::uint16_t>(i),
                    .text = std::string(word)});
    const std::vector<std::uint16_t> given = text_.take("(") ? arguments() : std::vector<std::uint16_t>();
    if (word == "select") {
      if (given.size() != 3) text_.wrong("select takes 3 values, got ", given.size());
      return operation(Operator::Select, given);
    }
    if (word == "poly") return polynomial(given);
    const Function* function = nullptr;
    if (functions_) {
      for (const Function& known : *functions_)
        if (known.name == word) function = &known;
    } else {
      function = find_function(word);
    }
    if (!function) text_.wrong("'", word, "' is neither an operand nor a function");
    if (function->takes.size() != given.size())
      text_.wrong("'", word, "' takes ", function->takes.size(), " values, got ", given.size());
    for (std::size_t i = 0; i < given.size(); ++i) expect_type(given[i], function->takes[i]);
    return add({.kind = Node::Kind::Call, .type = function->gives, .function = function, .operands = given});
  }
  std::uint16_t polynomial(const std::vector<std::uint16_t>& given) {
    if (given.size() < 2) text_.wrong("poly takes a variable and coefficients");
    expect_type(given[0], Type::Number);
    std::uint16_t sum = given[1];
    for (std::size_t i = 2; i < given.size(); ++i)
      sum = operation(Operator::Add, {operation(Operator::Multiply, {sum, given[0]}), given[i]});
    return sum;
  }

  Cursor& text_;
  std::span<const Variable> scope_;
  const std::deque<Function>* functions_;
  Tree tree_;
  std::vector<std::uint16_t> loose_;
};

}  // namespace

Tree parse_expression(Cursor& text, std::span<const Variable> scope, const std::deque<Function>* functions) {
  return ExpressionParser(text, scope, functions).expression();
}

std::string_view name(Type type) {
  return type == Type::Number ? "a number" : type == Type::Bool ? "a truth" : "a word";
}

std::string_view symbol(Operator op) {
  switch (op) {
    case Operator::Negate: return "-";
    case Operator::Complement: return "~";
    case Operator::Not: return "!";
    case Operator::Select: return "select";
    default: break;
  }
  return std::find_if(std::begin(kBindings), std::end(kBindings), [&](const Binding& b) { return b.op == op; })->symbol;
}

}  // namespace kiln::expr
