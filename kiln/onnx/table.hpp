// The operator table: one row for each operator and range of versions, in the family files of kiln/onnx/operators.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "kiln/onnx/datum.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::onnx {

struct Call;
struct Node;

/// The results of a call: as many as the node names, or fewer where the rest are optional and not computed.
struct Results {
  std::vector<Datum> list;
  Results() = default;
  Results(const Value& value) : list{Datum(value)} {}
  Results(Datum datum) : list{std::move(datum)} {}
  Results(std::initializer_list<Datum> data) : list(data) {}
  explicit Results(std::vector<Datum> data) : list(std::move(data)) {}
};

inline constexpr int kNewestOpset = 28;  // the newest operator set of ai.onnx

/// How the first result of an operator comes from its inputs: what shape inference and passes may assume.
enum class OperatorKind : std::uint8_t {
  Other,         // what only the row's own rules say
  Elementwise,   // an element is made of the first operand's in the same place; other inputs are options
  Broadcasting,  // an element is made of those of all operands in the same place; the operands broadcast
  SameShape,     // the shape of the first operand; an element may depend on all of them
  Reduction,     // the first operand folded along `axes`, an attribute or an input
  GivenShape,    // the last input says the result's shape
  Rearranged,    // elements of the first operand in other places
};

/// The data that the rank of the first result depends on, besides the operands' ranks and the attributes.
enum class ResultRank : std::uint8_t {
  Static,     // on nothing
  OfNumbers,  // on the elements of inputs behind the first
  OfData,     // on anything
};

/// The function of Kiln's that an operator is, where its attributes have their defaults.
struct KilnFunction {
  std::variant<std::monostate, op::UnaryFn, op::BinaryFn, op::ReduceFn> fn = {};
  std::string_view attribute = {};  // "alpha": holds the second operand of a binary function
  float otherwise = 0;              // the attribute's default
};

struct NodeShapes;
/// A shape, or the elements of a tensor that is a shape, as far as they follow from what is known of a node's inputs.
using ShapeRule = std::optional<std::vector<DimProto>> (*)(const NodeShapes&);

/// The properties of an operator, for code that does not run it.
struct OperatorTraits {
  OperatorKind kind = OperatorKind::Other;
  KilnFunction function = {};
  ShapeRule shape = nullptr;    // the shape of the first result, where the kind does not say it
  ShapeRule numbers = nullptr;  // the elements of the first result, where that may be a shape
  ResultRank rank = ResultRank::Static;
  bool folds = true;      // a node of constants becomes a constant; false for operators that make much of little
  bool random = false;    // gives other numbers each time
  int until = 1'000'000;  // the last version in which the row holds
  std::string (*lacks)(const Node&) =
      nullptr;  // what a node asks for that is not there: "do_rotary"; empty for nothing
};

/// An operator that is one function of Kiln's, element by element or over some dimensions.
constexpr OperatorTraits traits_of(op::UnaryFn fn) { return {.kind = OperatorKind::Elementwise, .function = {fn}}; }
constexpr OperatorTraits traits_of(op::BinaryFn fn) { return {.kind = OperatorKind::Broadcasting, .function = {fn}}; }
constexpr OperatorTraits traits_of(op::ReduceFn fn) { return {.kind = OperatorKind::Reduction, .function = {fn}}; }
constexpr OperatorTraits traits_of(op::BinaryFn fn, std::string_view attribute, float otherwise) {
  return {.kind = OperatorKind::Elementwise, .function = {fn, attribute, otherwise}};
}

/// An operator of a kind, where it needs be with rules of its own.
constexpr OperatorTraits traits_of(OperatorKind kind, ShapeRule shape = nullptr, ShapeRule numbers = nullptr,
                                   ResultRank rank = ResultRank::Static) {
  return {.kind = kind, .shape = shape, .numbers = numbers, .rank = rank};
}

struct OperatorRow {
  std::string_view name;
  int since;  // the first version of the operator set in which this row holds
  Results (*run)(Call&);
  OperatorTraits traits = {};
};
using Row [[deprecated("kiln::onnx::Row is now OperatorRow")]] = OperatorRow;

struct Family {
  std::string_view domain;  // "" for ai.onnx
  std::string_view name;
  std::span<const OperatorRow> rows;
};
std::span<const Family> families();

/// Null where no row has the operator in that version.
const OperatorRow* find_row(std::string_view domain, std::string_view op, std::int64_t version);
/// The row of ai.onnx that is this function in a version of the operator set; null where there is none.
const OperatorRow* find_row(const decltype(KilnFunction::fn)& function, std::int64_t version);
/// The newest version of a domain's operator set that the table follows; 0 for a domain that it does not have.
int newest_version(std::string_view domain);

/// docs/onnx.md's table: a line for each operator.
std::string operator_table();

}  // namespace kiln::onnx
