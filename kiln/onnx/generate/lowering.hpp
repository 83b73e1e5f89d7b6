// The step from nodes to statements while it goes on, as forms of operators (forms/, layers.cpp) see it.
#pragma once
#include "kiln/onnx/generate/program.hpp"
#include "kiln/onnx/generate/text.hpp"

namespace kiln::onnx::cpp {

/// An input of a node.
struct NodeInput {
  Code code = Code::verbatim("{}");
  Type type = {};
  Element element = Element::Undefined;
  const Datum* constant = nullptr;
  std::optional<PartialShape> shape = {};
};

class Lowering;

/// A node of the main graph whose C++ is wanted.
struct Site {
  Lowering& lowering;
  const Node& node;

  std::size_t inputs() const { return node.inputs.size(); }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kAbsent; }
  /// An input as a tensor, which `typed` has found it to be.
  Code in(std::size_t i) const;
  NodeInput operand(std::size_t i) const;
  /// A tensor of known rank, whose type is not narrow, other than a small constant.
  bool typed(std::size_t i) const;
  bool typed(std::size_t i, kiln::Kind kind) const { return typed(i) && operand(i).type.kind == kind; }
  int rank(std::size_t i) const { return operand(i).type.rank; }
  /// A constant tensor; null for others.
  const Datum* constant(std::size_t i) const;
  /// The integers of a constant; its only number. Nothing for inputs that are no such constants.
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

/// The statement of a form; nothing where the form does not hold for the node.
using MaybeStatement = std::optional<Statement>;
MaybeStatement form_of(const Site& site);
MaybeStatement layer_of(const Site& site);

class Lowering {
 public:
  Lowering(const Graph& graph, const Observed& observed, std::string file);
  Program run();

  const Graph& graph() const { return graph_; }
  const Program& program() const { return program_; }
  const Observed& observed() const { return observed_; }
  NodeInput operand(int value, const Node& reader);
  /// The scopes in the name of a node.
  static Path scope_of(const Node& node);
  /// The number of a layer; the same weights in the same scope are one layer. Its path is the node's scope, or that in the
  /// name of its first weight, or `otherwise`.
  int add_layer(Layer layer, const Node& node, int weight, std::string_view otherwise);
  /// The elements of an integer tensor that is a shape, as far as they are known; null where they are not.
  const PartialShape* numbers(int value) const;
  /// The node that reads a value of the main graph, if it is the only reader and reads it once; null otherwise.
  const Node* only_reader(int value) const;
  bool is_read(int value) const { return counts_[static_cast<std::size_t>(value)] > 0; }
  /// The node that makes a value of the main graph; null of inputs and constants.
  const Node* maker(int value) const;
  /// Adds a value to the program that is no value of the main graph, and returns its number.
  int add_variable(const std::string& name);
  /// The node is part of another one's statement.
  void skip(const Node& node) { skipped_.insert(&node); }

 private:
  /// The identity of a constant: names of nodes, graphs and values need not be unique.
  struct ConstantKey {
    const void* owner;  // the graph that has it as a value, or the node that has it as an attribute
    std::string part;
    auto operator<=>(const ConstantKey&) const = default;
  };
  /// A graph whose nodes are written, and the number in the program of each of its values.
  struct Body {
    const Graph& graph;
    std::vector<int> values;
    int operator[](int value) const { return values[static_cast<std::size_t>(value)]; }
    int& operator[](int value) { return values[static_cast<std::size_t>(value)]; }
  };
  Code operand_code(int value, const Body& body, const Node& reader);
  Code constant_code(const Datum& constant, const ConstantKey& key, const std::string& name, const Node& reader,
                     bool trained);
  Code sequence_code(const Datum& sequence, const ConstantKey& key, const std::string& name, const Node& reader);
  int constant_layer(const Value& value, const ConstantKey& key, const std::string& name, const Node& reader,
                     bool trained);
  Code inner_constant(const Graph& graph, int value, const Node& reader);
  Code::List attributes_of(const Node& node, const Body& body);
  Code body_code(const Graph& inner, const Body& outer);
  std::vector<Line> lines_of(const Body& body, Code::List& results);
  Body body_of(const Graph& inner, const Body& outer);
  Statement generic(const Node& node, const Body& body);
  Statement branch(const Node& node, const Body& body);
  std::vector<Line> branch_lines(const Node& node, const Body& body, const char* name);
  void check(const Graph& graph);
  void settle_paths();
  void drop_unread();
  void drop_layers(const std::vector<bool>& used);

  const Graph& graph_;
  const Observed& observed_;
  std::string file_;
  Program program_;
  Shapes shapes_;
  std::vector<const Node*> readers_;  // the only reader of each value of the main graph, or null
  std::vector<int> counts_;           // the number of readers of each value
  std::set<const Node*> skipped_;
  std::map<ConstantKey, int> constant_layers_;
  std::map<int, std::pair<const Graph*, int>> inner_constants_;  // constants of bodies, by their numbers in the program
  std::map<std::string, int> layers_;                            // by path, type and weights
  Strings wrong_;
};

}  // namespace kiln::onnx::cpp
