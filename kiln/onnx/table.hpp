// The operator table: one row for each operator and range of versions, in the family files of kiln/onnx/operators.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "kiln/onnx/datum.hpp"

namespace kiln::onnx {

struct Call;
struct Node;

/// What a call gives: as many as the node names, or fewer where the rest are optional and not computed.
struct Results {
  std::vector<Datum> list;
  Results() = default;
  Results(const Value& value) : list{Datum(value)} {}
  Results(Datum datum) : list{std::move(datum)} {}
  Results(std::initializer_list<Datum> data) : list(data) {}
  explicit Results(std::vector<Datum> data) : list(std::move(data)) {}
};

inline constexpr int kNewestOpset = 28;  // of ai.onnx

struct Row {
  std::string_view name;
  int since;  // the first version of the operator set in which this row holds
  Results (*run)(Call&);
  int until = 1'000'000;  // the last one
  bool random = false;    // gives other numbers each time
  std::string (*lacks)(const Node&) =
      nullptr;  // what a node asks for that is not there: "do_rotary"; empty for nothing
};

struct Family {
  std::string_view domain;  // "" for ai.onnx
  std::string_view name;
  std::span<const Row> rows;
};
std::span<const Family> families();

/// Null where no row has the operator in that version.
const Row* find_row(std::string_view domain, std::string_view op, std::int64_t version);
/// The newest version of a domain's operator set that the table follows; 0 for a domain that it does not have.
int newest_version(std::string_view domain);

/// docs/onnx.md's table: a line for each operator.
std::string operator_table();

}  // namespace kiln::onnx
