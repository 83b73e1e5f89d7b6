#include "kiln/ops/expression/parse.hpp"

#include <algorithm>
#include <optional>

#include "kiln/ops/expression/parse_expression.hpp"

namespace kiln::expr {
namespace {

struct Group {
  std::string_view name;
  Numbers numbers;
};
constexpr Group kGroups[] = {{"number", kAllNumbers}, {"float", kFloats},      {"integer", kIntegers},
                             {"signed", kSigned},     {"unsigned", kUnsigned}, {"f64", kF64},
                             {"f32", kF32},           {"i32", kI32},           {"u64", kU64}};

/// Parses definitions of functions, and the statements in them.
class Parser {
 public:
  Parser(std::string_view text, std::deque<Function>& functions) : text_(text), functions_(functions) {}

  void functions() {
    while (!text_.at_end()) function();
  }

 private:
  Type type_name(Numbers& numbers) {
    const std::string_view word = text_.take_word();
    if (word == "word") return Type::Word;
    if (word == "bool") return Type::Bool;
    for (const Group& group : kGroups)
      if (group.name == word) {
        numbers = group.numbers;
        return Type::Number;
      }
    text_.wrong("'", word, "' is no type");
  }
  void function() {
    if (!text_.take_keyword("fn")) text_.wrong("expected 'fn'");
    const std::string name(text_.take_word());
    Definition definition{.numbers = 0};
    Function signature{.name = name, .takes = {}};
    scope_.clear();
    text_.expect("(");
    if (!text_.take(")")) {
      do {
        Variable parameter{std::string(text_.take_word())};
        if (text_.take(":")) parameter.type = type_name(definition.numbers);
        signature.takes.push_back(parameter.type);
        scope_.push_back(parameter);
      } while (text_.take(","));
      text_.expect(")");
    }
    if (text_.take("->")) {
      signature.gives = type_name(definition.numbers);
      while (text_.take(",")) {
        if (type_name(definition.numbers) != signature.gives) text_.wrong("results of several types");
        ++signature.results;
      }
    }
    signature.typed = definition.numbers != 0;
    if (!signature.typed) definition.numbers = kAllNumbers;
    // The name is known from here on, but not inside its own body: no device has recursion.
    definition.variables = scope_;
    result_ = &signature;
    if (text_.take("=")) {
      definition.body.push_back({.kind = Statement::Kind::Return, .values = {expression_of(signature.gives)}});
      text_.expect(";");
    } else if (!text_.take(";")) {
      variables_ = &definition.variables;
      definition.body = block();
      if (definition.body.empty() || definition.body.back().kind != Statement::Kind::Return)
        text_.wrong("the body of '", name, "' does not end with a return");
    }
    auto known = std::find_if(functions_.begin(), functions_.end(), [&](const Function& f) { return f.name == name; });
    if (known == functions_.end()) known = functions_.insert(functions_.end(), signature);
    if (known->takes != signature.takes || known->gives != signature.gives)
      text_.wrong("'", name, "' has two signatures");
    known->definitions.push_back(std::move(definition));
  }
  Tree expression_of(Type type) {
    Tree tree = expression();
    if (tree.root().type == type) return tree;
    // A literal alone takes the expected type.
    if (tree.root().kind != Node::Kind::Literal || type == Type::Bool || tree.root().type == Type::Bool)
      text_.wrong("expected ", expr::name(type), ", got ", expr::name(tree.root().type));
    tree.nodes.back().type = type;
    return tree;
  }
  std::uint16_t declare(std::string_view name, Type type) {
    scope_.push_back({std::string(name), type});
    // Indices in the scope are indices of variables: variables of blocks that have ended keep theirs, without names.
    variables_->push_back(scope_.back());
    return static_cast<std::uint16_t>(scope_.size() - 1);
  }
  std::vector<Statement> block() {
    std::vector<Statement> statements;
    const std::size_t seen = scope_.size();
    text_.expect("{");
    while (!text_.take("}")) statements.push_back(statement());
    for (std::size_t i = seen; i < scope_.size(); ++i) scope_[i].name.clear();
    return statements;
  }
  Statement statement() {
    if (text_.take_keyword("if")) {
      Statement result{.kind = Statement::Kind::If, .values = {condition()}};
      result.body = block();
      if (text_.take_keyword("else")) {
        if (text_.peek_word() == "if") result.otherwise.push_back(statement());
        else result.otherwise = block();
      }
      return result;
    }
    if (text_.take_keyword("while")) {
      Statement result{.kind = Statement::Kind::While, .values = {condition()}};
      result.body = block();
      return result;
    }
    Statement result{.kind = Statement::Kind::Return};
    if (text_.take_keyword("return")) {
      do result.values.push_back(expression_of(result_->gives));
      while (text_.take(","));
      if (result.values.size() != result_->results)
        text_.wrong("'", result_->name, "' gives ", result_->results, " values");
    } else {
      const bool let = text_.take_keyword("let"), var = !let && text_.take_keyword("var");
      const std::string_view name = text_.take_word();
      Numbers ignored = 0;
      const std::optional<Type> stated =
          (let || var) && text_.take(":") ? std::optional(type_name(ignored)) : std::nullopt;
      text_.expect("=");
      if (let || var) {
        result.kind = let ? Statement::Kind::Let : Statement::Kind::Var;
        result.values.push_back(stated ? expression_of(*stated) : expression());
        result.variable = declare(name, result.values[0].root().type);
      } else {
        result.kind = Statement::Kind::Assign;
        std::size_t at = scope_.size();
        while (at-- > 0 && scope_[at].name != name) {}
        if (at >= scope_.size()) text_.wrong("'", name, "' is no variable");
        result.values.push_back(expression_of(scope_[at].type));
        result.variable = static_cast<std::uint16_t>(at);
      }
    }
    text_.expect(";");
    return result;
  }
  Tree condition() {
    text_.expect("(");
    Tree tree = expression_of(Type::Bool);
    text_.expect(")");
    return tree;
  }
  Tree expression() { return parse_expression(text_, scope_, &functions_); }

  Cursor text_;
  std::deque<Function>& functions_;
  std::vector<Variable> scope_;
  std::vector<Variable>* variables_ = nullptr;
  const Function* result_ = nullptr;
};

}  // namespace

Tree parse(std::string_view text, std::span<const Variable> scope) {
  Cursor cursor(text);
  Tree tree = parse_expression(cursor, scope, nullptr);
  if (!cursor.at_end()) cursor.wrong("expected an operator");
  return tree;
}
void parse_functions(std::string_view text, std::deque<Function>& functions) { Parser(text, functions).functions(); }

}  // namespace kiln::expr
