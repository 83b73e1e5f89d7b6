// Scalar expressions as trees, and functions written with them: what a row of elementwise.def computes as data, that
// can be evaluated, and printed in the language of any device. One tree stands for all element types: a Number is of
// "the type at hand", which whoever reads the tree chooses.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/dtype.hpp"

namespace kiln::expr {

/// What a node's value is: a number of the type at hand, a truth, or 32 bits (of a number, or random ones).
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
  Or,      // of the bits, or of truths
  Select,  // select(condition, x, y): x where it holds
};
std::string_view symbol(Operator op);

/// The types that numbers are computed in, as sets: halves are computed in float32, and integers of fewer than 32 bits
/// and booleans in int32, which wraps to the same bits.
using Numbers = std::uint8_t;
inline constexpr Numbers kF64 = 1, kF32 = 2, kI64 = 4, kU64 = 8, kI32 = 16, kU32 = 32;
inline constexpr Numbers kFloats = kF64 | kF32, kSigned = kI64 | kI32, kUnsigned = kU64 | kU32;
inline constexpr Numbers kIntegers = kSigned | kUnsigned, kAllNumbers = kFloats | kIntegers;
/// What elements of a type are computed in: itself, or float32 or int32.
DType computed_in(DType dtype);
/// The set of what `dtype` is computed in alone.
Numbers numbers_of(DType dtype);
/// "f32": computed_in(dtype) as a part of names.
std::string_view short_name(DType dtype);

struct Function;

struct Node {
  enum class Kind : std::uint8_t { Variable, Literal, Operation, Call };
  Kind kind = Kind::Literal;
  Type type = Type::Number;
  Operator op{};                          // of an Operation
  Type operand_type = Type::Number;       // of an Operation: what its last operand is
  std::uint16_t variable = 0;             // of a Variable: its place in the scope
  const Function* function = nullptr;     // of a Call
  std::string text{};                     // of a Literal: its digits, "true" or "false"; of a Variable: its name
  std::vector<std::uint16_t> operands{};  // nodes that stand before this one
};

/// Operands stand before what reads them; the last node is the value.
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

/// What a function means for some types of numbers: a body in terms of others, or nothing where a device has to have
/// it.
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
  std::size_t results = 1;  // several words come as a vector of them
  bool typed = false;       // does it depend on the type at hand?
  std::vector<Definition> definitions{};

  /// Where it is defined for numbers of `dtype`, with or without a body; null where it is not.
  const Definition* definition(DType dtype) const;
};

/// All functions, each after those that it calls; parsed from library/ once.
const std::vector<const Function*>& functions();
/// Null if there is none of that name.
const Function* find_function(std::string_view name);

}  // namespace kiln::expr
