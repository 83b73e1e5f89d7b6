// Scalar expressions as trees, and functions written with them: the computation of a row of elementwise.def as data,
// which can be evaluated, and printed in the language of any device. One tree serves all element types: the reader of a
// tree chooses the type of a Number.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/dtype.hpp"

namespace kiln::expr {

/// The type of a node's value: a number of the chosen type, a truth value, or 32 bits (of a number, or random ones).
enum class Type : std::uint8_t { Number, Bool, Word };

enum class Operator : std::uint8_t {
  Negate,
  Complement,
  Not,  // - ~ !
  Multiply,
  Divide,
  Add,
  Subtract,
  ShiftLeft,
  ShiftRight,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Xor,
  Or,      // of bits, or of truth values
  Select,  // select(condition, x, y): x where the condition holds
};
std::string_view symbol(Operator op);

/// The types in which numbers are computed, as sets: halves are computed in float32, and integers of fewer than 32 bits
/// and booleans in int32, which wraps to the same bits.
using Numbers = std::uint8_t;
inline constexpr Numbers kF64 = 1, kF32 = 2, kI64 = 4, kU64 = 8, kI32 = 16, kU32 = 32;
inline constexpr Numbers kFloats = kF64 | kF32, kSigned = kI64 | kI32, kUnsigned = kU64 | kU32;
inline constexpr Numbers kIntegers = kSigned | kUnsigned, kAllNumbers = kFloats | kIntegers;
/// The type in which elements of a type are computed: the type itself, or float32 or int32.
DType computed_in(DType dtype);
/// The set that contains only computed_in(dtype).
Numbers numbers_of(DType dtype);
/// "f32": computed_in(dtype) as a part of names.
std::string_view short_name(DType dtype);

struct Function;

struct Node {
  enum class Kind : std::uint8_t { Variable, Literal, Operation, Call };
  Kind kind = Kind::Literal;
  Type type = Type::Number;
  Operator op{};                          // of an Operation
  Type operand_type = Type::Number;       // of an Operation: the type of its last operand
  std::uint16_t variable = 0;             // of a Variable: its index in the scope
  const Function* function = nullptr;     // of a Call
  std::string text{};                     // of a Literal: its digits, "true" or "false"; of a Variable: its name
  std::vector<std::uint16_t> operands{};  // nodes that stand before this one
};

/// Operands come before the nodes that read them; the last node is the value.
struct Tree {
  std::vector<Node> nodes;
  const Node& root() const { return nodes.back(); }
};

struct Variable {
  std::string name;
  Type type = Type::Number;
};

struct Statement {
  enum class Kind : std::uint8_t { Let, Var, Assign, If, While, Return };
  Kind kind;
  std::uint16_t variable = 0;  // of Let, Var and Assign
  std::vector<Tree> values{};  // one; Return may have several
  std::vector<Statement> body{}, otherwise{};
};

/// The definition of a function for some types of numbers: a body in terms of other functions, or no body where the
/// device must provide it.
struct Definition {
  Numbers numbers = kAllNumbers;
  std::vector<Variable> variables{};  // the parameters first
  std::vector<Statement> body{};
};

/// A function that rows and other functions may call.
struct Function {
  std::string name;
  std::vector<Type> takes;
  Type gives = Type::Number;
  std::size_t results = 1;  // several words are returned as a vector
  bool typed = false;       // whether it depends on the chosen type
  std::vector<Definition> definitions{};

  /// The definition for numbers of `dtype`, with or without a body; null where there is none.
  const Definition* definition(DType dtype) const;
};

/// All functions, each after those that it calls; library/ is parsed once.
const std::vector<const Function*>& functions();
/// Returns null where no function has that name.
const Function* find_function(std::string_view name);

}  // namespace kiln::expr
