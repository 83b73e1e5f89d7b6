// Queries and changes that passes over graphs share.
#pragma once
#include <optional>

#include "kiln/onnx/passes/passes.hpp"

namespace kiln::onnx {

/// A value that no caller can replace; null for others.
const Datum* constant_of(const Graph& graph, int value);
bool is_output(const Graph& graph, int value);
/// A sub-graph reads it.
bool is_captured(const Graph& graph, int value);
bool has_subgraphs(const Node& node);
void replace_reads(Graph& graph, int from, int to);

/// The node that makes each value of a graph, and the number of readers, for patterns of several nodes. It is valid as
/// long as no node is added.
class Patterns {
 public:
  explicit Patterns(Graph& graph);
  /// The node `op` that makes a value with a single reader, which reads it once; null otherwise.
  Node* inner(int value, std::string_view op);
  /// The node `op` that makes a value, with any number of readers; null otherwise.
  Node* maker(int value, std::string_view op);
  int readers(int value) const { return readers_[static_cast<std::size_t>(value)]; }
  /// The one number that a constant of one element is.
  std::optional<double> number(int value) const;
  bool is_number(int value, double expected) const;
  /// The operand of `node` besides `operand`, where it has these two; kAbsent otherwise.
  static int other(const Node& node, int operand);
  /// The reduction folds the last dimension alone, and keeps it with size 1.
  bool over_last(const Node& reduction) const;

  /// The node becomes `op` of ai.onnx as its newest version has it.
  void become(Node& node, std::string_view op, std::vector<int> inputs, Attributes attributes);

 private:
  Graph& graph_;
  std::vector<int> makers_, readers_;
};

}  // namespace kiln::onnx
