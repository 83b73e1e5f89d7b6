#include "kiln/ops/expression/parse.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "kiln/core/error/error.hpp"

namespace kiln::expr {
namespace {

struct Binding {
  std::string_view symbol;
  Operator op;
  int strength;
};
// Longer symbols first where one begins like another.
constexpr Binding kBindings[] = {
    {"<<", Operator::ShiftLeft, 6},    {">>", Operator::ShiftRight, 6}, {"<=", Operator::LessEqual, 5},
    {">=", Operator::GreaterEqual, 5}, {"==", Operator::Equal, 4},      {"!=", Operator::NotEqual, 4},
    {"<", Operator::Less, 5},          {">", Operator::Greater, 5},     {"*", Operator::Multiply, 8},
    {"/", Operator::Divide, 8},        {"+", Operator::Add, 7},         {"-", Operator::Subtract, 7},
    {"&", Operator::And, 3},           {"^", Operator::Xor, 2},         {"|", Operator::Or, 1},
};

bool compares(Operator op) { return op >= Operator::Less && op <= Operator::NotEqual; }
bool is_logic(Operator op) { return op >= Operator::And && op <= Operator::Or; }

std::string_view name(Type type) {
  return type == Type::Number ? "a number" : type == Type::Bool ? "a truth" : "a word";
}

struct Group {
  std::string_view name;
  Numbers numbers;
};
constexpr Group kGroups[] = {{"number", kAllNumbers}, {"float", kFloats},      {"integer", kIntegers},
                             {"signed", kSigned},     {"unsigned", kUnsigned}, {"f64", kF64},
                             {"f32", kF32},           {"i32", kI32},           {"u64", kU64}};

class Parser {
 public:
  Parser(std::string_view text, const std::deque<Function>* functions) : text_(text), functions_(functions) { skip(); }

  Tree whole_expression(std::span<const Variable> scope) {
    scope_.assign(scope.begin(), scope.end());
    Tree tree = expression();
    if (at_ < text_.size()) wrong("expected an operator");
    return tree;
  }

  void function_definitions(std::deque<Function>& functions) {
    while (at_ < text_.size()) function(functions);
  }

 private:
  // ---- letters ----
  void skip() {
    for (;;) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (text_.substr(at_, 2) != "//") return;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }
  bool take(std::string_view symbol) {
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    skip();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) wrong("expected '", symbol, "'");
  }
  std::string_view take_word() {
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    skip();
    return word;
  }
  std::string_view peek_word() {
    const std::size_t at = at_;
    const std::string_view word = take_word();
    at_ = at;
    return word;
  }
  bool take_keyword(std::string_view keyword) { return peek_word() == keyword && !take_word().empty(); }
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    // Of a library the line, of an expression all of it.
    const std::size_t begin = at_ == 0 ? 0 : text_.rfind('\n', at_ - 1) + 1;
    const std::string_view line = text_.substr(begin, text_.find('\n', begin) - begin);
    fail<ArgumentError>("expression '", line, "': ", text(parts...), " at character ", at_ - begin + 1);
  }

  // ---- expressions ----
  // While a tree grows, literals that nothing has given a type yet are in loose_.
  std::uint16_t add(Node node) {
    if (tree_.nodes.size() >= 60000) wrong("the expression is too long");
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::uint16_t>(tree_.nodes.size() - 1);
  }
  Type type_of(std::uint16_t node) const { return tree_.nodes[node].type; }
  bool is_loose(std::uint16_t node) const { return std::find(loose_.begin(), loose_.end(), node) != loose_.end(); }
  /// Literals, and what is made of them alone, become what stands beside them.
  void settle(std::uint16_t node, Type type) {
    if (!is_loose(node)) return;
    std::erase(loose_, node);
    tree_.nodes[node].type = tree_.nodes[node].operand_type = type;
    for (const std::uint16_t operand : tree_.nodes[node].operands) settle(operand, type);
  }
  void agree(std::uint16_t a, std::uint16_t b) {
    if (is_loose(a) && !is_loose(b)) settle(a, type_of(b));
    if (is_loose(b) && !is_loose(a)) settle(b, type_of(a));
    if (type_of(a) != type_of(b)) wrong(name(type_of(a)), " stands beside ", name(type_of(b)));
  }
  void expect_type(std::uint16_t node, Type type) {
    if (type != Type::Bool) settle(node, type);
    if (type_of(node) != type) wrong("expected ", name(type), ", got ", name(type_of(node)));
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
        wrong("'", symbol(op), "' takes no truths");
    } else if (type == Type::Bool) {
      wrong("'", symbol(op), "' takes no truths");
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
                                       [&](const Binding& b) { return text_.substr(at_).starts_with(b.symbol); });
      if (found == std::end(kBindings) || found->strength < strength) return left;
      if (text_.substr(at_, 2) == "&&" || text_.substr(at_, 2) == "||") wrong("write '&' and '|' for truths");
      take(found->symbol);
      const std::uint16_t right = binary(found->strength + 1);
      left = operation(found->op, {left, right});
    }
  }
  std::uint16_t unary() {
    if (take("-")) return operation(Operator::Negate, {unary()});
    if (take("~")) return operation(Operator::Complement, {unary()});
    if (text_.substr(at_, 2) != "!=" && take("!")) return operation(Operator::Not, {unary()});
    return primary();
  }
  std::uint16_t primary() {
    if (take("(")) {
      const std::uint16_t inside = binary(0);
      expect(")");
      return inside;
    }
    if (at_ == text_.size()) wrong("expected a value");
    const char first = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(first))) return number();
    if (std::isalpha(static_cast<unsigned char>(first))) return named();
    wrong("expected a value");
  }
  std::uint16_t number() {
    const std::size_t begin = at_;
    const bool hex = text_.substr(at_, 2) == "0x";
    if (hex) at_ += 2;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent = !hex && (c == 'e' || c == 'E');
      if (!std::isxdigit(static_cast<unsigned char>(c)) && c != '.') break;
      if (!hex && std::isalpha(static_cast<unsigned char>(c)) && !exponent) break;
      ++at_;
      if (exponent && at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    }
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) wrong("a constant has a suffix");
    const std::uint16_t node =
        add({.kind = Node::Kind::Literal, .text = std::string(text_.substr(begin, at_ - begin))});
    skip();
    loose_.push_back(node);
    return node;
  }
  std::vector<std::uint16_t> arguments() {
    std::vector<std::uint16_t> result;
    if (take(")")) return result;
    do result.push_back(binary(0));
    while (take(","));
    expect(")");
    return result;
  }
  std::uint16_t named() {
    const std::string_view word = take_word();
    if (word == "true" || word == "false")
      return add({.kind = Node::Kind::Literal, .type = Type::Bool, .text = std::string(word)});
    // The latest of a name is the one that is seen.
    for (std::size_t i = scope_.size(); i-- > 0;)
      if (scope_[i].name == word)
        return add({.kind = Node::Kind::Variable,
                    .type = scope_[i].type,
                    .variable = static_cast<std::uint16_t>(i),
                    .text = std::string(word)});
    const std::vector<std::uint16_t> given = take("(") ? arguments() : std::vector<std::uint16_t>();
    if (word == "select") {
      if (given.size() != 3) wrong("select takes 3 values, got ", given.size());
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
    if (!function) wrong("'", word, "' is neither an operand nor a function");
    if (function->takes.size() != given.size())
      wrong("'", word, "' takes ", function->takes.size(), " values, got ", given.size());
    for (std::size_t i = 0; i < given.size(); ++i) expect_type(given[i], function->takes[i]);
    return add({.kind = Node::Kind::Call, .type = function->gives, .function = function, .operands = given});
  }
  std::uint16_t polynomial(const std::vector<std::uint16_t>& given) {
    if (given.size() < 2) wrong("poly takes a variable and coefficients");
    expect_type(given[0], Type::Number);
    std::uint16_t sum = given[1];
    for (std::size_t i = 2; i < given.size(); ++i)
      sum = operation(Operator::Add, {operation(Operator::Multiply, {sum, given[0]}), given[i]});
    return sum;
  }

  Tree expression() {
    tree_ = {};
    loose_.clear();
    const std::uint16_t root = binary(0);
    settle(root, Type::Number);
    // The value is the last node: a variable in parentheses may stand before others that nothing reads.
    KILN_CHECK(root + 1u == tree_.nodes.size());
    return std::move(tree_);
  }

  // ---- functions ----
  Type type_name(Numbers& numbers) {
    const std::string_view word = take_word();
    if (word == "word") return Type::Word;
    if (word == "bool") return Type::Bool;
    for (const Group& group : kGroups)
      if (group.name == word) {
        numbers = group.numbers;
        return Type::Number;
      }
    wrong("'", word, "' is no type");
  }
  void function(std::deque<Function>& functions) {
    if (!take_keyword("fn")) wrong("expected 'fn'");
    const std::string name(take_word());
    Definition definition{.numbers = 0};
    Function signature{.name = name, .takes = {}};
    scope_.clear();
    expect("(");
    if (!take(")")) {
      do {
        Variable parameter{std::string(take_word())};
        if (take(":")) parameter.type = type_name(definition.numbers);
        signature.takes.push_back(parameter.type);
        scope_.push_back(parameter);
      } while (take(","));
      expect(")");
    }
    if (take("->")) {
      signature.gives = type_name(definition.numbers);
      while (take(",")) {
        if (type_name(definition.numbers) != signature.gives) wrong("results of several types");
        ++signature.results;
      }
    }
    signature.typed = definition.numbers != 0;
    if (!signature.typed) definition.numbers = kAllNumbers;
    // Its name is known from here on, but not to its own body: no device has recursion.
    definition.variables = scope_;
    result_ = &signature;
    if (take("=")) {
      definition.body.push_back({.kind = Statement::Kind::Return, .values = {expression_of(signature.gives)}});
      expect(";");
    } else if (!take(";")) {
      variables_ = &definition.variables;
      definition.body = block();
      if (definition.body.empty() || definition.body.back().kind != Statement::Kind::Return)
        wrong("the body of '", name, "' does not end with a return");
    }
    auto known = std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
    if (known == functions.end()) known = functions.insert(functions.end(), signature);
    if (known->takes != signature.takes || known->gives != signature.gives) wrong("'", name, "' has two signatures");
    known->definitions.push_back(std::move(definition));
  }
  Tree expression_of(Type type) {
    Tree tree = expression();
    if (tree.root().type == type) return tree;
    // A literal alone takes the type that is wanted.
    if (tree.root().kind != Node::Kind::Literal || type == Type::Bool || tree.root().type == Type::Bool)
      wrong("expected ", expr::name(type), ", got ", expr::name(tree.root().type));
    tree.nodes.back().type = type;
    return tree;
  }
  std::uint16_t declare(std::string_view name, Type type) {
    scope_.push_back({std::string(name), type});
    // Places in the scope are places among the variables: blocks that have ended leave theirs behind, without names.
    variables_->push_back(scope_.back());
    return static_cast<std::uint16_t>(scope_.size() - 1);
  }
  std::vector<Statement> block() {
    std::vector<Statement> statements;
    const std::size_t seen = scope_.size();
    expect("{");
    while (!take("}")) statements.push_back(statement());
    for (std::size_t i = seen; i < scope_.size(); ++i) scope_[i].name.clear();
    return statements;
  }
  Statement statement() {
    if (take_keyword("if")) {
      Statement result{.kind = Statement::Kind::If, .values = {condition()}};
      result.body = block();
      if (take_keyword("else")) {
        if (peek_word() == "if") result.otherwise.push_back(statement());
        else result.otherwise = block();
      }
      return result;
    }
    if (take_keyword("while")) {
      Statement result{.kind = Statement::Kind::While, .values = {condition()}};
      result.body = block();
      return result;
    }
    Statement result{.kind = Statement::Kind::Return};
    if (take_keyword("return")) {
      do result.values.push_back(expression_of(result_->gives));
      while (take(","));
      if (result.values.size() != result_->results) wrong("'", result_->name, "' gives ", result_->results, " values");
    } else {
      const bool let = take_keyword("let"), var = !let && take_keyword("var");
      const std::string_view name = take_word();
      Numbers ignored = 0;
      const std::optional<Type> stated = (let || var) && take(":") ? std::optional(type_name(ignored)) : std::nullopt;
      expect("=");
      if (let || var) {
        result.kind = let ? Statement::Kind::Let : Statement::Kind::Var;
        result.values.push_back(stated ? expression_of(*stated) : expression());
        result.variable = declare(name, result.values[0].root().type);
      } else {
        result.kind = Statement::Kind::Assign;
        std::size_t at = scope_.size();
        while (at-- > 0 && scope_[at].name != name) {}
        if (at >= scope_.size()) wrong("'", name, "' is no variable");
        result.values.push_back(expression_of(scope_[at].type));
        result.variable = static_cast<std::uint16_t>(at);
      }
    }
    expect(";");
    return result;
  }
  Tree condition() {
    expect("(");
    Tree tree = expression_of(Type::Bool);
    expect(")");
    return tree;
  }

  std::string_view text_;
  const std::deque<Function>* functions_;  // those of a library that is being read; null: all of them
  std::size_t at_ = 0;
  Tree tree_;
  std::vector<std::uint16_t> loose_;
  std::vector<Variable> scope_;
  std::vector<Variable>* variables_ = nullptr;
  const Function* result_ = nullptr;
};

}  // namespace

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

Tree parse(std::string_view text, std::span<const Variable> scope) {
  return Parser(text, nullptr).whole_expression(scope);
}
void parse_functions(std::string_view text, std::deque<Function>& functions) {
  Parser(text, &functions).function_definitions(functions);
}

}  // namespace kiln::expr
