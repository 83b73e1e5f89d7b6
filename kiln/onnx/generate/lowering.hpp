// The step from nodes to statements while it goes on: what a form of an operator (forms/, layers.cpp) asks and adds.
#pragma once
#include "kiln/onnx/generate/program.hpp"
#include "kiln/onnx/generate/text.hpp"

namespace kiln::onnx::cpp {

/// What a node reads.
struct Operand {
  std::string text;  // C++, with references
  Type type;
  Element element = Element::Undefined;
  const Datum* constant = nullptr;
  std::optional<PartialShape> shape;
};

class Lowering;

/// A node of the main graph that looks for its C++.
struct Site {
  Lowering& lowering;
  const Node& node;

  std::size_t inputs() const { return node.inputs.size(); }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kAbsent; }
  /// Its text as a tensor, which `typed` has found it to be.
  std::string in(std::size_t i) const;
  Operand operand(std::size_t i) const;
  /// A tensor of known rank, whose type is not narrow, other than a small constant.
  bool typed(std::size_t i) const;
  bool typed(std::size_t i, kiln::Kind kind) const { return typed(i) && operand(i).type.kind == kind; }
  int rank(std::size_t i) const { return operand(i).type.rank; }
  /// A constant tensor; null for others.
  const Datum* constant(std::size_t i) const;
  /// Of a constant: the integers; the one number.
  std::optional<Ints> ints(std::size_t i) const;
  std::optional<double> number(std::size_t i) const;
  /// The result is a tensor of this kind.
  bool gives(kiln::Kind kind) const;
  int rank() const;
  bool one_result() const;

  bool given(std::string_view name) const { return node.attributes.count(std::string(name)) != 0; }
  std::int64_t i(std::string_view name, std::int64_t otherwise) const;
  double f(std::string_view name, double otherwise) const;
  std::string s(std::string_view name, std::string_view otherwise) const;
  Ints list(std::string_view name) const;
  /// An input of constants, or the attribute that it was in older versions; nothing where it is neither.
  std::optional<Ints> ints_either(std::size_t i, std::string_view name) const;
};

/// The parts of a name between letters `at` that are not empty.
Path split(std::string_view name, char at);

/// A short way to say a node; nothing where this one is not of that kind.
using Said = std::optional<Statement>;
Said form_of(const Site& site);
Said layer_of(const Site& site);

class Lowering {
 public:
  Lowering(const Graph& graph, const Observed& observed, std::string file);
  Program run();

  const Graph& graph() const { return graph_; }
  const Program& program() const { return program_; }
  const Observed& observed() const { return observed_; }
  Operand operand(int value, const Node& reader);
  /// Of a node: the scopes in its name.
  static Path scope_of(const Node& node);
  /// The number of a layer, which is the same for the same weights at the same place. Its path: the node's scope, or what
  /// the name of its first weight says, or `otherwise`.
  int add_layer(Layer layer, const Node& node, int weight, std::string_view otherwise);
  /// The elements of an integer tensor that is a shape, as far as they are known; null where they are not.
  const PartialShape* numbers(int value) const;
  /// Who reads a value of the main graph, if that is one node, once, and nobody else; null otherwise.
  const Node* only_reader(int value) const;
  bool is_read(int value) const { return counts_[static_cast<std::size_t>(value)] > 0; }
  /// The node that makes a value of the main graph; null of inputs and constants.
  const Node* maker(int value) const;
  /// A name for what a statement makes besides its node's results: an index into the program's values.
  int add_variable(const std::string& name);
  /// The node is part of another one's statement.
  void skip(const Node& node) { skipped_.insert(&node); }

 private:
  /// Where a constant stands: names of nodes, graphs and values need not be unique.
  struct Place {
    const void* owner;  // the graph that has it as a value, or the node that has it as an attribute
    std::string part;
    auto operator<=>(const Place&) const = default;
  };
  std::string operand_text(int value, const Graph& graph, const std::vector<int>& places, const Node& reader);
  std::string constant_text(const Datum& constant, const Place& place, const std::string& name, const Node& reader,
                            bool trained);
  std::string inner_constant(const Graph& graph, int value, const Node& reader);
  std::string attributes_text(const Node& node, const std::vector<int>& places);
  std::string body_text(const Graph& body, const std::vector<int>& outer);
  std::string lines_of(const Graph& body, const std::vector<int>& places, std::vector<std::string>& results);
  std::vector<int> places_of(const Graph& body, const std::vector<int>& outer);
  Statement generic(const Node& node, const Graph& graph, const std::vector<int>& places);
  Statement branch(const Node& node, const Graph& graph, const std::vector<int>& places);
  void check(const Graph& graph);
  void settle_paths();
  void drop_unread();

  const Graph& graph_;
  const Observed& observed_;
  std::string file_;
  Program program_;
  Shapes shapes_;
  std::vector<const Node*> readers_;  // of values of the main graph: the only one
  std::vector<int> counts_;           // of their readers
  std::set<const Node*> skipped_;
  std::map<Place, int> constant_layers_;
  std::map<int, std::pair<const Graph*, int>> inner_constants_;  // values of the program that bodies' constants are
  std::map<std::string, int> layers_;                            // by path, type and weights
  Strings wrong_;
};

}  // namespace kiln::onnx::cpp
