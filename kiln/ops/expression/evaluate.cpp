#include "kiln/ops/expression/evaluate.hpp"

#include <bit>
#include <cstdlib>
#include <map>

#include "kiln/core/convert.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

namespace kiln::expr {
namespace {

template <class T>
using Compiled = Cell<T> (*)(const Cell<T>* in);

template <class T>
using Table = std::map<std::string_view, Compiled<T>>;

template <class T> Cell<T> number(T value) { return {.number = value}; }
template <class T> Cell<T> word(std::uint32_t value) { return {.word = value}; }

#define KILN_ONE(name) {#name, [](const Cell<T>* in) { return number<T>(scalar_math::name(in[0].number)); }}
#define KILN_TWO(name) \
  {#name, [](const Cell<T>* in) { return number<T>(scalar_math::name(in[0].number, in[1].number)); }}
#define KILN_ASK(name) {#name, [](const Cell<T>* in) { return word<T>(scalar_math::name(in[0].number)); }}

/// What every type has.
template <class T>
Table<T> common() {
  using Limits = std::numeric_limits<T>;
  return {
      KILN_ONE(abs),
      KILN_ONE(sign),
      KILN_ONE(floor),
      KILN_ONE(ceil),
      KILN_ONE(trunc),
      KILN_ONE(round),
      KILN_TWO(max),
      KILN_TWO(min),
      KILN_TWO(floor_divide),
      KILN_TWO(remainder),
      KILN_TWO(fmod),
      KILN_TWO(pow),
      KILN_ASK(sign_bit),
      {"lowest", [](const Cell<T>*) { return number(Limits::has_infinity ? -Limits::infinity() : Limits::min()); }},
      {"highest", [](const Cell<T>*) { return number(Limits::has_infinity ? Limits::infinity() : Limits::max()); }},
      {"to_number", [](const Cell<T>* in) { return number(static_cast<T>(in[0].word)); }},
      {"to_word", [](const Cell<T>* in) { return word<T>(static_cast<std::uint32_t>(in[0].number)); }},
      {"multiply_high",
       [](const Cell<T>* in) {
         return word<T>(static_cast<std::uint32_t>(std::uint64_t{in[0].word} * in[1].word >> 32));
       }},
  };
}

template <class T>
Table<T> table() {
  Table<T> result = common<T>();
  if constexpr (std::is_integral_v<T>) {
    result.insert({KILN_TWO(shift_left), KILN_TWO(shift_right), {"width", [](const Cell<T>*) {
                                                                   return number(static_cast<T>(sizeof(T) * 8));
                                                                 }}});
  } else {
    using Limits = std::numeric_limits<T>;
    result.insert({
        KILN_ONE(sqrt),
        KILN_ONE(exp),
        KILN_ONE(exp2),
        KILN_ONE(expm1),
        KILN_ONE(log),
        KILN_ONE(log2),
        KILN_ONE(log10),
        KILN_ONE(log1p),
        KILN_ONE(sin),
        KILN_ONE(cos),
        KILN_ONE(tan),
        KILN_ONE(asin),
        KILN_ONE(acos),
        KILN_ONE(atan),
        KILN_ONE(sinh),
        KILN_ONE(cosh),
        KILN_ONE(tanh),
        KILN_ONE(asinh),
        KILN_ONE(acosh),
        KILN_ONE(atanh),
        KILN_ONE(erf),
        KILN_ONE(erfc),
        KILN_ONE(erfinv),
        KILN_ONE(lgamma),
        KILN_ONE(digamma),
        KILN_ONE(i0),
        KILN_ONE(i1),
        KILN_ONE(sinc),
        KILN_TWO(atan2),
        KILN_TWO(hypot),
        KILN_TWO(copysign),
        KILN_TWO(polygamma),
        KILN_ASK(is_nan),
        KILN_ASK(is_inf),
        KILN_ASK(is_finite),
        {"infinity", [](const Cell<T>*) { return number(Limits::infinity()); }},
        {"nan", [](const Cell<T>*) { return number(Limits::quiet_NaN()); }},
    });
    if constexpr (sizeof(T) == 8) {
      result["bits_of_float"] = [](const Cell<T>* in) {
        return word<T>(std::bit_cast<std::uint32_t>(convert<float>(in[0].number)));
      };
      result["from_bits_of_float"] = [](const Cell<T>* in) {
        return number(static_cast<T>(std::bit_cast<float>(in[0].word)));
      };
    } else {
      result["bits"] = [](const Cell<T>* in) { return word<T>(std::bit_cast<std::uint32_t>(in[0].number)); };
      result["from_bits"] = [](const Cell<T>* in) { return number(std::bit_cast<T>(in[0].word)); };
    }
  }
  return result;
}
#undef KILN_ONE
#undef KILN_TWO
#undef KILN_ASK

template <class T>
Compiled<T> compiled(const Function& function) {
  static const std::map<const Function*, Compiled<T>> kTable = [] {
    std::map<const Function*, Compiled<T>> result;
    for (const auto& [name, pointer] : table<T>()) result[find_function(name)] = pointer;
    return result;
  }();
  const auto found = kTable.find(&function);
  return found == kTable.end() ? nullptr : found->second;
}

template <class T>
T literal(const std::string& digits) {
  if constexpr (sizeof(T) == 4 && std::is_floating_point_v<T>) return std::strtof(digits.c_str(), nullptr);
  else if constexpr (std::is_floating_point_v<T>) return std::strtod(digits.c_str(), nullptr);
  else {
    char* end = nullptr;
    const auto value = static_cast<T>(std::strtoull(digits.c_str(), &end, 0));
    require<DTypeError>(*end == 0, "expression: ", digits, " is no ", dtype_of<T>);
    return value;
  }
}

/// a op b of numbers, or of words.
template <class T>
Cell<T> operate(Operator op, Type type, T a, T b) {
  const auto give = [&](T value) -> Cell<T> { return {.number = value}; };
  switch (op) {
    case Operator::Add: return give(wrapping_add(a, b));
    case Operator::Subtract: return give(static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b)));
    case Operator::Multiply: return give(wrapping_multiply(a, b));
    case Operator::Less: return word<T>(a < b);
    case Operator::LessEqual: return word<T>(a <= b);
    case Operator::Greater: return word<T>(a > b);
    case Operator::GreaterEqual: return word<T>(a >= b);
    case Operator::Equal: return word<T>(a == b);
    case Operator::NotEqual: return word<T>(a != b);
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    require<DTypeError>(op == Operator::Divide, "expression: '", symbol(op), "' takes no floats");
    return give(a / b);
  } else {
    switch (op) {
      case Operator::Divide:
        if (b == 0) return give(0);
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return give(wrapping_negate(a));
        return give(static_cast<T>(a / b));
      case Operator::And: return give(a & b);
      case Operator::Or: return give(a | b);
      case Operator::Xor: return give(a ^ b);
      case Operator::ShiftLeft: return give(static_cast<T>(static_cast<Wrapping<T>>(a) << b));
      case Operator::ShiftRight: return give(static_cast<T>(a >> b));
      default: KILN_CHECK(type == Type::Number); return {};
    }
  }
}

template <class T>
class Run {
 public:
  explicit Run(const Dialect* dialect) : dialect_(dialect) {}

  std::vector<Cell<T>> call(const Function& function, std::span<const Cell<T>> in) const {
    const bool native = !dialect_ || dialect_->has(function, dtype_of<T>);
    if (const Compiled<T> pointer = native ? compiled<T>(function) : nullptr) return {pointer(in.data())};
    const Definition* definition = function.definition(dtype_of<T>);
    require<DTypeError>(definition && !definition->body.empty(), function.name, ": is not defined for ", dtype_of<T>,
                        dialect_ ? " in " : "", dialect_ ? dialect_->name : "");
    std::vector<Cell<T>> scope(in.begin(), in.end()), results;
    scope.resize(definition->variables.size());
    run(definition->body, scope, results);
    return results;
  }

  Cell<T> value(const Tree& tree, std::span<const Cell<T>> scope) const {
    std::vector<Cell<T>> cells;
    cells.reserve(tree.nodes.size());
    for (const Node& node : tree.nodes) cells.push_back(value(node, cells, scope));
    return cells.back();
  }

 private:
  Cell<T> value(const Node& node, const std::vector<Cell<T>>& cells, std::span<const Cell<T>> scope) const {
    switch (node.kind) {
      case Node::Kind::Variable: return scope[node.variable];
      case Node::Kind::Literal:
        if (node.type == Type::Bool) return word<T>(node.text == "true");
        if (node.type == Type::Word) return word<T>(literal<std::uint32_t>(node.text));
        return number(literal<T>(node.text));
      case Node::Kind::Call: {
        std::vector<Cell<T>> in;
        for (const std::uint16_t operand : node.operands) in.push_back(cells[operand]);
        return call(*node.function, in).front();
      }
      case Node::Kind::Operation: break;
    }
    const Cell<T>& a = cells[node.operands[0]];
    if (node.op == Operator::Select) return cells[node.operands[a.word ? 1 : 2]];
    if (node.op == Operator::Not) return word<T>(!a.word);
    if (node.op == Operator::Negate) {
      if (node.type == Type::Word) return word<T>(0 - a.word);
      if constexpr (std::is_floating_point_v<T>) return number(-a.number);
      else return number(wrapping_negate(a.number));
    }
    if (node.op == Operator::Complement) {
      if (node.type == Type::Word) return word<T>(~a.word);
      if constexpr (std::is_integral_v<T>) return number(static_cast<T>(~a.number));
      else fail<DTypeError>("expression: '~' takes no floats");
    }
    const Cell<T>& b = cells[node.operands[1]];
    if (node.operand_type == Type::Number) return operate<T>(node.op, node.type, a.number, b.number);
    const auto result = operate<std::uint32_t>(node.op, node.type, a.word, b.word);
    return word<T>(node.type == Type::Word || is_logic(node.op) ? result.number : result.word);
  }
  static bool is_logic(Operator op) { return op >= Operator::And && op <= Operator::Or; }

  /// Runs statements until one returns.
  bool run(const std::vector<Statement>& statements, std::vector<Cell<T>>& scope, std::vector<Cell<T>>& results) const {
    for (const Statement& statement : statements) {
      switch (statement.kind) {
        case Statement::Kind::Let:
        case Statement::Kind::Var:
        case Statement::Kind::Assign: scope[statement.variable] = value(statement.values[0], scope); break;
        case Statement::Kind::If:
          if (run(value(statement.values[0], scope).word ? statement.body : statement.otherwise, scope, results))
            return true;
          break;
        case Statement::Kind::While:
          while (value(statement.values[0], scope).word)
            if (run(statement.body, scope, results)) return true;
          break;
        case Statement::Kind::Return:
          for (const Tree& tree : statement.values) results.push_back(value(tree, scope));
          return true;
      }
    }
    return false;
  }

  const Dialect* dialect_;
};

}  // namespace

template <class T>
Cell<T> evaluate(const Tree& tree, std::span<const Cell<T>> operands, const Dialect* dialect) {
  return Run<T>(dialect).value(tree, operands);
}
template <class T>
std::vector<Cell<T>> evaluate(const Function& function, std::span<const Cell<T>> operands, const Dialect* dialect) {
  return Run<T>(dialect).call(function, operands);
}

#define KILN_EVALUATE(T)                                                               \
  template Cell<T> evaluate<T>(const Tree&, std::span<const Cell<T>>, const Dialect*); \
  template std::vector<Cell<T>> evaluate<T>(const Function&, std::span<const Cell<T>>, const Dialect*);
KILN_EVALUATE(double)
KILN_EVALUATE(float)
KILN_EVALUATE(std::int64_t)
KILN_EVALUATE(std::uint64_t)
KILN_EVALUATE(std::int32_t)
KILN_EVALUATE(std::uint32_t)
#undef KILN_EVALUATE

}  // namespace kiln::expr
