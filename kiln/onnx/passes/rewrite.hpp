// What passes over graphs ask and do.
#pragma once
#include <optional>

#include "kiln/onnx/passes/passes.hpp"

namespace kiln::onnx {

/// A value that no caller can replace; null for others.
const Datum* constant_of(const Graph& graph, int value);
bool is_output(const Graph& graph, int value);
/// Do sub-graphs read it?
bool is_captured(const Graph& graph, int value);
bool has_subgraphs(const Node& node);
void replace_reads(Graph& graph, int from, int to);
const Attribute* find_attribute(const Node& node, std::string_view name);
std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t otherwise);

/// Who makes and who reads each value of a graph, for patterns of several nodes. Holds as long as no node is added.
class Patterns {
 public:
  explicit Patterns(Graph& graph);
  /// The node `op` that makes a value which nobody else reads than one node, once; null otherwise.
  Node* inner(int value, std::string_view op);
  /// The same, whoever else reads it.
  Node* maker(int value, std::string_view op);
  int readers(int value) const { return readers_[static_cast<std::size_t>(value)]; }
  /// The one number that a constant of one element is.
  std::optional<double> number(int value) const;
  bool is_number(int value, double expected) const;
  /// Of two operands of `node` the one that is not `operand`; kAbsent where it is neither.
  static int other(const Node& node, int operand);
  /// The axes of a reduction that are the last dimension alone, which stays?
  bool over_last(const Node& reduction) const;

  /// The node becomes `op` of ai.onnx as its newest version has it.
  void become(Node& node, std::string_view op, std::vector<int> inputs,
              std::map<std::string, Attribute, std::less<>> attributes);

 private:
  Graph& graph_;
  std::vector<int> makers_, readers_;
};

}  // namespace kiln::onnx
